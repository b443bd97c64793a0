"""What a run can do without: its record. Captions go on where the disk is full."""

from __future__ import annotations

from collections.abc import Callable

from livetrans.errors import SessionError
from livetrans.events import AudioChunk, Notice, Record
from livetrans.session.sink import Sink


class Expendable:
    """A sink around one that may fail: the first fault is told once, kept for the end, and the run goes on."""

    def __init__(self, sink: Sink, tell: Callable[[Notice], None]) -> None:
        """`tell` publishes a notice, and may be called while a record is being published."""
        self._sink = sink
        self._tell = tell
        self._given_up = False
        self.failure: SessionError | None = None

    def write(self, record: Record) -> None:
        if self._given_up:
            return
        try:
            self._sink.write(record)
        except SessionError as error:
            self._given_up = True
            self._fail(error)

    def guarded(self, keep: Callable[[AudioChunk], None]) -> Callable[[AudioChunk], None]:
        """`keep`, which goes silent by itself after a fault, with that fault told as one of the sink."""

        def keep_or_tell(chunk: AudioChunk) -> None:
            try:
                keep(chunk)
            except SessionError as error:
                self._fail(error)

        return keep_or_tell

    def close(self) -> None:
        self._sink.close()

    def _fail(self, error: SessionError) -> None:
        if self.failure is None:
            self.failure = error
            self._tell(Notice("warning", f"{str(error).rstrip('.')}; captions go on, and are not kept from here on."))
