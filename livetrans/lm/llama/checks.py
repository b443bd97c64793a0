"""Checks before a model file is used: it does not end the process, and a second model fits the first.

llama.cpp ends the process on some damaged files, so each is tried in a process of its own, once: its size and time of
change are kept in the user's cache folder, for each version of llama.cpp. A draft model, which proposes tokens, needs
another file, room in memory beside the translator, and the same vocabulary.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import llama_cpp

from livetrans.base.clock import Clock
from livetrans.base.errors import ModelError, UsageError
from livetrans.base.files import replacing
from livetrans.base.installation import build_command, start_python, user_folder
from livetrans.config import LanguageModelSettings
from livetrans.lm.llama import ENGINE
from livetrans.lm.llama.cells import runs_on_cpu
from livetrans.lm.llama.model import LlamaModel, check_file

_FIRST_SECONDS = 60.0
_BYTES_PER_SECOND = 20e6
"""Speed of a slow disk."""
_REFUSED = 3
"""Exit code of the child after it has written a sentence."""


def check_engine() -> None:
    """Make sure that llama.cpp starts on this processor."""
    process = start_python("livetrans.lm.llama.checks", stdout=subprocess.DEVNULL)
    _check_processor(process.wait())


def _check_processor(exit_code: int) -> None:
    if exit_code == -signal.SIGILL:
        raise ModelError(
            f"{ENGINE} was compiled for a newer processor than this one (illegal instruction); "
            f"compile it on this machine: {build_command(ENGINE)}"
        )


def check_model(path: Path) -> None:
    """Make sure that loading the file and evaluating a prompt does not end the process.

    Raises:
        ModelError: it does, takes minutes, or the file cannot be used for another reason.
    """
    check_file(path)
    known = _known_files()
    name, status = str(path.resolve()), path.stat()
    # What changes with the file, or with what loads it: an installed version can be compiled anew.
    installed = Path(llama_cpp.__file__).stat().st_mtime_ns
    mark = [status.st_size, status.st_mtime_ns, llama_cpp.__version__, installed]
    if known.get(name) == mark:
        return
    process = start_python("livetrans.lm.llama.checks", str(path), stdout=subprocess.PIPE)
    try:
        answer, _ = process.communicate(timeout=_FIRST_SECONDS + status.st_size / _BYTES_PER_SECOND)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise ModelError(f"{path} does not load within minutes: it is damaged or too large; choose another") from None
    if process.returncode == _REFUSED:
        raise ModelError(answer.decode("utf-8", "replace"))
    _check_processor(process.returncode)
    if process.returncode:
        raise ModelError(f"{path} is damaged: llama.cpp crashes on it; download or convert it again")
    known[name] = mark
    _remember(known)


def _cache_file() -> Path:
    return user_folder("cache") / "checked-models.json"


def _known_files() -> dict[str, Any]:
    """Return the files that passed; none if the cache is absent or damaged."""
    with suppress(OSError, ValueError):
        known = json.loads(_cache_file().read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _remember(known: dict[str, Any]) -> None:
    file = _cache_file()
    with suppress(OSError):  # Without a cache every run tries the file.
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as cache:
            cache.write(json.dumps(known))


def load_draft_model(path: Path, target: LanguageModelSettings, clock: Clock) -> LlamaModel:
    """Load a model that proposes tokens to the target.

    Raises:
        UsageError: it is the target's own file.
        ModelError: it cannot be used, or does not fit in the memory that is free.
    """
    import psutil  # type: ignore[import-untyped]

    check_model(path)
    if path.samefile(target.model):
        raise UsageError(
            f"{path.name} is the translator itself, which would propose what it has to verify; "
            "name a smaller model of the same vocabulary with --draft-model"
        )
    needed, free = path.stat().st_size, psutil.virtual_memory().available
    if runs_on_cpu() and needed > free:
        raise ModelError(
            f"the draft model {path.name} needs {needed / 1e9:.1f} GB of memory beside the translator, and "
            f"{free / 1e9:.1f} GB are free; name a smaller one with --draft-model, or go without"
        )
    return LlamaModel(replace(target, model=path), maximum_rows=1, clock=clock)


def shared_vocabulary(target: LlamaModel, draft: LlamaModel) -> int:
    """Return the number of leading tokens that both have, compared piece by piece; one may end with unused pieces.

    Raises:
        ModelError: their vocabularies differ.
    """
    sizes = target.vocabulary_size, draft.vocabulary_size
    shared = min(sizes)
    different = next((token for token in range(shared) if _piece(target, token) != _piece(draft, token)), None)
    longer = target if sizes[0] > sizes[1] else draft
    if different is None:
        used = (token for token in range(shared, max(sizes)) if not _is_unused(longer, token))
        different = next(used, None)
    if different is not None:
        raise ModelError(
            f"the draft model {draft.name} has another vocabulary than {target.name} (they differ at token {different} "
            f"of {sizes[0]} and {sizes[1]}); name a model of the same family with --draft-model"
        )
    return shared


def _piece(model: LlamaModel, token: int) -> tuple[bytes, bool]:
    text: bytes = llama_cpp.llama_vocab_get_text(model.vocabulary, token)
    return text, model.is_end_of_generation(token)


def _is_unused(model: LlamaModel, token: int) -> bool:
    """Return whether it is padding, which converters add so that sizes are round."""
    return bool(llama_cpp.llama_vocab_get_attr(model.vocabulary, token) & llama_cpp.LLAMA_TOKEN_ATTR_UNUSED)


class _AnyModel(LlamaModel):
    """A model of any kind, which its own class may find unfit later."""

    def _check_kind(self) -> None: ...


def _main() -> int:
    if not sys.argv[1:]:
        runs_on_cpu()  # looks for the processor's and the GPU's engines
        return 0
    path = Path(sys.argv[1])
    try:
        model = _AnyModel(LanguageModelSettings(path))
        model.evaluate(model.tokenize("Good morning.", special=True) or [0])
        model.detokenize(range(min(model.vocabulary_size, 1000)))
        model.close()
    except ModelError as fault:
        sys.stdout.write(str(fault))
        return _REFUSED
    return 0


if __name__ == "__main__":
    code = _main()
    sys.stdout.flush()
    # Without the teardown of the process, in which ggml's Metal backend can abort: the file is good all the same.
    os._exit(code)
