"""Tries a model file in a process of its own, because llama.cpp ends the process on some that are damaged.

A file is tried once: its size and time of change are kept in the user's cache folder, for each version of llama.cpp.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import llama_cpp

from livetrans.config import LanguageModelSettings
from livetrans.errors import ModelError
from livetrans.installation import start_python
from livetrans.lm.llama.model import LlamaModel, check_file

_FIRST_SECONDS = 60.0
_BYTES_PER_SECOND = 20e6
"""Of a slow disk."""
_REFUSED = 3
"""Exit code of the child after it has written a sentence."""


def check_model(path: Path) -> None:
    """Make sure that loading the file and evaluating a prompt does not end the process.

    Raises:
        ModelError: it does, takes minutes, or the file cannot be used for another reason.
    """
    check_file(path)
    known = _known_files()
    name, status = str(path.resolve()), path.stat()
    # What changes with the file, or with what loads it.
    mark = [status.st_size, status.st_mtime_ns, llama_cpp.__version__]
    if known.get(name) == mark:
        return
    process = start_python("livetrans.lm.llama.probe", str(path), stdout=subprocess.PIPE)
    try:
        answer, _ = process.communicate(timeout=_FIRST_SECONDS + status.st_size / _BYTES_PER_SECOND)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise ModelError(f"{path} does not load within minutes: it is damaged or too large; choose another") from None
    if process.returncode == _REFUSED:
        raise ModelError(answer.decode("utf-8", "replace"))
    if process.returncode:
        raise ModelError(f"{path} is damaged: llama.cpp crashes on it; download or convert it again")
    known[name] = mark
    _remember(known)


def _cache_file() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("livetrans", appauthor=False) / "checked-models.json"


def _known_files() -> dict[str, Any]:
    """Return the files that passed; none where the cache is absent or damaged."""
    with suppress(OSError, ValueError):
        known = json.loads(_cache_file().read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _remember(known: dict[str, Any]) -> None:
    file = _cache_file()
    part = file.with_suffix(f".{os.getpid()}")
    # Without a cache every run tries the file.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(known), encoding="utf-8")
        part.replace(file)


class _AnyModel(LlamaModel):
    """A model of any kind, which its own class may find unfit later."""

    def _check_kind(self) -> None: ...


def _main() -> int:
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
