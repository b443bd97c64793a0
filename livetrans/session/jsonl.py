"""Every event as one line of JSON, for programs. The lines are described in docs/events.md."""

from __future__ import annotations

from typing import TextIO

from livetrans.events import Record
from livetrans.session.codec import to_line
from livetrans.session.plain import put


class JsonLinesOutput:
    """A sink that writes each event as a line, flushed at once, so that a reader follows the run live."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, record: Record) -> None:
        """Write the record's line.

        Raises:
            OutputClosed: the stream's reader has gone.
            SessionError: the stream cannot be written.
        """
        put(self._stream, f"{to_line(record)}\n", lambda _: f"{to_line(record, ascii_only=True)}\n")

    def close(self) -> None:
        """Nothing to do: every line was flushed, and the stream belongs to the caller."""
