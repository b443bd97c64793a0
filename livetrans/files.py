"""Files that a user names: an input is never an address, and an output never overwrites by accident."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TextIO

from livetrans.errors import SessionError, UsageError
from livetrans.text import nearest


def input_path(name: str) -> Path:
    """The path of an input that a user named.

    Raises:
        UsageError: it is an address such as https://...: livetrans reads nothing from the network.
    """
    if re.match(r"[a-z][a-z0-9+.-]+:/", name, re.IGNORECASE):
        raise UsageError(f"{name} is an address; livetrans opens files only: download it first, and name the file")
    return Path(name)


def missing(path: Path) -> str:
    """The sentence for a file that is not there, with the nearest name in its folder."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir()) if path.name else []
    except OSError:
        names = []
    close = nearest(path.name, names)
    return f"There is no file {path}: " + (f"did you mean {path.parent / close}?" if close else "check the name.")


def create(path: Path, option: str, *, force: bool | None = None) -> TextIO:
    """Open a new UTF-8 file for writing, with "\\n" as line end; `option` is the option that named it.

    `force`: whether --force was given, which overwrites; None for a command without that option.

    Raises:
        UsageError: the file exists already.
        SessionError: it cannot be written.
    """
    try:
        return path.open("w" if force else "x", encoding="utf-8", newline="\n")
    except FileExistsError:
        otherwise = "" if force is None else ", or --force to overwrite it"
        raise UsageError(f"{path} exists already; choose another name for {option}{otherwise}") from None
    except OSError as fault:
        raise _cannot_write(path, option, fault) from None


def write_new(path: Path, text: str, option: str, *, force: bool) -> None:
    """Write a whole new file.

    Raises:
        UsageError: the file exists already.
        SessionError: it cannot be written.
    """
    try:
        with create(path, option, force=force) as file:
            file.write(text)
    except OSError as fault:
        raise _cannot_write(path, option, fault) from None


def _cannot_write(path: Path, option: str, fault: OSError) -> SessionError:
    return SessionError(f"{path} cannot be written ({fault.strerror}); choose another place for {option}")
