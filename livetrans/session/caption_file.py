"""A caption as a line of text, and a file that holds the newest one for other programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from hashlib import sha256
from io import FileIO
from pathlib import Path

from livetrans.errors import SessionError, UsageError
from livetrans.events import Caption, Record
from livetrans.files import lock
from livetrans.text import track_label, visible

_LARGEST = 1_000_000
"""Bytes that are read of a file that is there: captions are shorter."""


def text_of(caption: Caption) -> str:
    """Return the line of a caption: `> ` stands before text that is not translated; empty where nothing is shown."""
    text = visible(caption.text).strip()
    if not text:
        return ""
    return ("> " if caption.untranslated else "") + track_label(caption.track) + text


class CaptionFile:
    """A sink that keeps the newest caption of each track and language in a file, a line each.

    It is whole at any moment, and programs such as OBS read it again when it changes. It is empty before the first
    caption and after the run. A hidden file beside it has the digests of the last two texts, so that the next run knows
    what a killed one has left.
    """

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            UsageError: it holds something that livetrans did not write, or another run writes it.
            SessionError: it cannot be written.
        """
        self._path = Path(os.path.realpath(path.expanduser()))  # A link stays one.
        self._new = self._path.with_name(f".{self._path.name}.new")
        self._mark = self._path.with_name(f".{self._path.name}.livetrans")
        self._lines: dict[tuple[str | None, str | None], str] = {}
        """By track and language, in the order in which they began."""
        foreign = f"{path} exists already and is not an empty file; remove it, or name another --caption-file"
        if self._path.exists() and not self._path.is_file():
            raise UsageError(foreign)
        with self._writing():
            self._mark.touch()
            self._digests = FileIO(self._mark, "r+")
            if not lock(self._digests):
                self._digests.close()
                raise UsageError(f"another run writes captions to {path}; name another --caption-file")
            there = b""
            if self._path.exists():
                with self._path.open("rb") as file:
                    there = file.read(_LARGEST)
            self._digest = sha256(there).hexdigest()
            if there and self._digest.encode() not in self._digests.read().split():
                self._forget()
                raise UsageError(foreign)
        self._replace()

    def write(self, record: Record) -> None:
        """Replace the file if a caption has come.

        Raises:
            SessionError: it cannot be written.
        """
        if isinstance(record.event, Caption):
            self._lines[record.event.track, record.event.language] = text_of(record.event)
            self._replace()

    def close(self) -> None:
        self._lines.clear()
        with contextlib.suppress(SessionError):
            self._replace()
            self._forget()

    def _forget(self) -> None:
        self._mark.unlink(missing_ok=True)
        self._digests.close()

    def _replace(self) -> None:
        text = "".join(f"{line}\n" for line in self._lines.values() if line).encode()
        digest = sha256(text).hexdigest()
        with self._writing():
            # Before the text, and in one call: whenever the run is killed, the file's digest is one of the two.
            self._digests.seek(0)
            self._digests.write(f"{self._digest}\n{digest}\n".encode())
            self._new.write_bytes(text)
            self._new.replace(self._path)
        self._digest = digest

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            reason = fault.strerror or str(fault)
            raise SessionError(f"{self._path} cannot be written ({reason}): name another --caption-file.") from fault
