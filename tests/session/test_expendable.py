"""Captions go on without their record: one fault, told once, kept for the end."""

from __future__ import annotations

import numpy as np

from livetrans.errors import SessionError
from livetrans.events import AudioChunk, Notice, Record
from livetrans.session.expendable import Expendable


class FullDisk:
    """A sink that takes so many records, then fails at each."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tried = 0
        self.closed = False

    def write(self, record: Record) -> None:
        self.tried += 1
        if self.tried > self.room:
            raise SessionError("The disk is full: free space.")

    def close(self) -> None:
        self.closed = True


def test_a_fault_is_told_once_and_the_sink_left_alone() -> None:
    told: list[Notice] = []
    disk = FullDisk(room=1)
    sink = Expendable(disk, told.append)
    for _ in range(4):
        sink.write(Record(0.0, Notice("info", "x")))
    sink.close()
    assert disk.tried == 2
    assert disk.closed
    assert [notice.level for notice in told] == ["warning"]
    assert told[0].text.startswith("The disk is full: free space; captions go on")
    assert isinstance(sink.failure, SessionError)


def test_sound_that_cannot_be_kept_is_a_fault_of_the_same_sink() -> None:
    def keep(chunk: AudioChunk) -> None:
        raise SessionError("The disk is full.")

    told: list[Notice] = []
    sink = Expendable(FullDisk(room=0), told.append)
    sink.guarded(keep)(AudioChunk(np.zeros(960, dtype=np.int16), 0, None))
    sink.write(Record(0.0, Notice("info", "x")))
    assert len(told) == 1
    assert sink.failure is not None


def test_no_fault_no_word() -> None:
    told: list[Notice] = []
    sink = Expendable(FullDisk(room=9), told.append)
    sink.write(Record(0.0, Notice("info", "x")))
    assert (told, sink.failure) == ([], None)
