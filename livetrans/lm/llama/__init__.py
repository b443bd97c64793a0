"""llama.cpp behind the language-model port: the only place that imports it.

Raises:
    ModelError: at the import, if its library does not load.
"""

from livetrans.base.errors import ModelError
from livetrans.base.installation import build_command

ENGINE = "llama-cpp-python"

try:
    import llama_cpp as _llama_cpp  # noqa: F401
except (OSError, RuntimeError) as fault:
    raise ModelError(
        f"{ENGINE} does not load here ({fault}); install the missing library, "
        f"or compile it on this machine: {build_command(ENGINE)}"
    ) from fault
