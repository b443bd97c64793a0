"""Serialises events to the sinks: the one place where a record gets its instant."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from livetrans.clock import Clock
from livetrans.events import Event, Record
from livetrans.session.sink import Sink


class Publisher:
    """Serialises events to the sinks and stamps them; a sink that fails is dropped and reported, the others go on."""

    def __init__(self, clock: Clock, sinks: Sequence[Sink], on_failure: Callable[[BaseException], None]) -> None:
        self._clock = clock
        self._sinks = list(sinks)
        self._on_failure = on_failure
        self._lock = threading.RLock()
        self._pending: deque[Event] = deque()

    def add(self, sink: Sink) -> None:
        with self._lock:
            self._sinks.append(sink)

    def __call__(self, event: Event) -> None:
        failures: list[BaseException] = []
        with self._lock:
            self._pending.append(event)
            # A sink may publish while it is written to: what it says comes after the record in hand, for every sink.
            if len(self._pending) > 1:
                return
            while self._pending:
                failures += self._write(Record(self._clock.now(), self._pending[0]))
                self._pending.popleft()
        for failure in failures:
            self._on_failure(failure)

    def _write(self, record: Record) -> list[BaseException]:
        failures: list[BaseException] = []
        for sink in tuple(self._sinks):
            try:
                sink.write(record)
            except Exception as error:
                self._sinks.remove(sink)
                failures.append(error)
        return failures

    def close(self) -> None:
        """Close every sink, also after one that fails to close."""
        with self._lock:
            sinks, self._sinks = self._sinks, []
            failures: list[BaseException] = []
            for sink in sinks:
                try:
                    sink.close()
                except Exception as error:
                    failures.append(error)
        for failure in failures:
            self._on_failure(failure)
