"""Serialises events to the sinks: the one place where a record gets its instant."""

from __future__ import annotations

import threading
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

    def add(self, sink: Sink) -> None:
        with self._lock:
            self._sinks.append(sink)

    def __call__(self, event: Event) -> None:
        failures: list[BaseException] = []
        with self._lock:
            record = Record(self._clock.now(), event)
            for sink in tuple(self._sinks):
                try:
                    sink.write(record)
                except Exception as error:
                    self._sinks.remove(sink)
                    failures.append(error)
        for failure in failures:
            self._on_failure(failure)

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
