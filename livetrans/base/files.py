"""Files that a user names: an input is never an address, and an output never overwrites by accident."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from stat import S_ISREG
from typing import IO, TextIO

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.text import file_size, nearest

LARGEST_TEXT = 64_000_000
"""Bytes of a text file that is read whole; a device such as /dev/zero has no end."""


def input_path(name: str) -> Path:
    """Return the path of an input that a user named.

    Raises:
        UsageError: it is an address such as https://...: livetrans reads nothing from the network.
    """
    if re.match(r"[a-z][a-z0-9+.-]+:/", name, re.IGNORECASE):
        raise UsageError(f"{name} is an address; livetrans opens files only: download it first, and name the file")
    return Path(name)


def missing(path: Path) -> str:
    """Return the message for a missing file, with the nearest name in its folder."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir()) if path.name else []
    except OSError:
        names = []
    close = nearest(path.name, names)
    return f"There is no file {path}: " + (f"did you mean {path.parent / close}?" if close else "check the name.")


def read_text(path: Path) -> str:
    """Return the whole of a text file in UTF-8, with or without a byte order mark.

    Raises:
        UsageError: it is too large, or not UTF-8.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise UsageError(f"{path} is larger than {file_size(LARGEST_TEXT)}; name a text file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def create(path: Path, option: str) -> TextIO:
    """Open a new UTF-8 file for writing, with "\n" as line end; `option` is the option that named it.

    Raises:
        UsageError: the file exists already.
        SessionError: it cannot be written.
    """
    try:
        return path.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name for {option}") from None
    except OSError as fault:
        raise _cannot_write(path, option, fault) from None


def write_new(path: Path, pieces: Iterable[str], option: str, *, force: bool) -> None:
    """Write a whole new file, or overwrite one with `force`; after a fault the place is as it was.

    Raises:
        UsageError: the file exists already.
        SessionError: it cannot be written.
    """
    require_new_files([path], option, force=force)
    try:
        with replacing(path) as file:
            file.writelines(pieces)
    except OSError as fault:
        raise _cannot_write(path, option, fault) from None


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """Open a new UTF-8 file that takes the place of `path` once it is whole; after a fault `path` is as it was.

    It lies beside `path`, and links stay links. A device or a pipe is written directly. A `private` file is its
    owner's alone.

    Raises:
        OSError: it cannot be written.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as device:
            yield device
        return
    new = path.with_name(f".{path.name[:50]}.{os.getpid()}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if private else 0o666)
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            if path.exists() and not private:
                shutil.copymode(path, new)
            yield file
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def require_new_files(paths: Iterable[Path], option: str, *, force: bool) -> None:
    """Raise UsageError where one of several files exists, before the first is written."""
    for path in paths:
        if path.exists() and not force:
            raise UsageError(f"{path} exists already; choose another name for {option}, or --force to overwrite it")


def require_apart(outputs: Iterable[tuple[str, Path]], inputs: Iterable[Path]) -> None:
    """Refuse outputs that would be written over each other or over an input; each has the option that names it.

    Of a folder that is read, what it holds may not be overwritten. Devices take any number of outputs.

    Raises:
        UsageError: it says which.
    """
    taken: dict[str, str] = {}
    read = {os.path.realpath(path.expanduser()) for path in inputs if "\0" not in str(path)}  # No file has such a name.
    for option, path in outputs:
        place = os.path.realpath(path.expanduser())
        if os.path.exists(place) and not os.path.isfile(place):
            continue
        if place in read or (os.path.exists(place) and read & {str(folder) for folder in Path(place).parents}):
            raise UsageError(f"{option} {path} would be written over what is read; name another file")
        if place in taken:
            if taken[place] == option:
                raise UsageError(f"{option} {path} would hold two of what is read; rename one, or use two commands")
            raise UsageError(f"{taken[place]} and {option} would both be {path}; name different files")
        taken[place] = option


def _cannot_write(path: Path, option: str, fault: OSError) -> SessionError:
    return SessionError(f"{path} cannot be written ({fault.strerror}); choose another place for {option}")


def private_folder(path: Path) -> None:
    """Create a folder that only its owner can open; restrict one that exists."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # Of another user, or on a file system without permissions.
        path.chmod(0o700)


def private_file(path: Path, mode: str) -> FileIO:
    """Open a file, unbuffered, that only its owner can read; restrict one that exists."""
    file = FileIO(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))
    with suppress(OSError):
        if S_ISREG(os.fstat(file.fileno()).st_mode):  # A device belongs to others too.
            os.fchmod(file.fileno(), 0o600)
    return file


def may_be_json_lines(path: Path) -> bool:
    """Return whether a file begins like a line of JSON, or is empty or unreadable, which its reader reports."""
    try:
        with path.open("rb") as file:
            # Zeros are what a power cut leaves of lines.
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n\0")[:1] in (b"", b"{")
    except OSError:
        return True


def read_all(file: IO[bytes], count: int) -> bytes:
    """Return as many bytes as there are, up to `count`: an unbuffered file may give fewer at once."""
    data = b""
    while len(data) < count and (part := file.read(count - len(data))):
        data += part
    return data


def beginning_of(path: Path, count: int) -> bytes:
    """Return the first bytes of a file; none of what is no file, or cannot be read."""
    with suppress(OSError):
        if path.is_file():  # To open a pipe would wait for its writer.
            with path.open("rb") as file:
                return file.read(count)
    return b""


def begins_with(path: Path, beginning: bytes) -> bool:
    """Return whether the first bytes of a file are these."""
    return beginning_of(path, len(beginning)) == beginning


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write every byte: an unbuffered file may take fewer than it was given."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def lock(file: FileIO) -> bool:
    """Lock the file until it is closed; return False where another process has locked it.

    The system ends the lock with the process, however that ends.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
