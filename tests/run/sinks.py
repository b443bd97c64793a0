"""Sinks that the tests of a run share."""

from __future__ import annotations

import threading

from livetrans.events import Record


class Collected:
    """A sink that collects records, and may fail at an event of some kind."""

    def __init__(self, fail_at: type | None = None, error: BaseException | None = None) -> None:
        self.records: list[Record] = []
        self.closed = 0
        self._fail_at = fail_at
        self._error = error
        self.changed = threading.Condition()

    def write(self, record: Record) -> None:
        if self._error and self._fail_at and isinstance(record.event, self._fail_at):
            raise self._error
        with self.changed:
            self.records.append(record)
            self.changed.notify_all()

    def close(self) -> None:
        self.closed += 1

    def of(self, kind: type | tuple[type, ...]) -> list:  # type: ignore[type-arg]
        return [record.event for record in self.records if isinstance(record.event, kind)]

    def wait_for(self, kind: type) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.of(kind), 20), f"no {kind.__name__} came"


class Stalled(Collected):
    """A sink on a disk that stalls at the first record until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.stalls, self.released = threading.Event(), threading.Event()

    def write(self, record: Record) -> None:
        self.stalls.set()
        assert self.released.wait(20)
        super().write(record)
