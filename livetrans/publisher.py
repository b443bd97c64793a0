"""Serialises events to the sinks, the one place where a record gets its instant; and what every run tells them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

from livetrans.clock import Clock
from livetrans.errors import sentence
from livetrans.events import Event, Notice, Record, RunEnded, SourceProgress
from livetrans.session.plain import OutputClosed
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


class Run(ABC):
    """What the threaded run and the plain loop share: how much was heard, why the run ends, and how that is told."""

    def __init__(self, clock: Clock, sinks: Sequence[Sink]) -> None:
        self._publish = Publisher(clock, sinks, self._fail)
        self._stopping = False
        self._heard = 0.0
        self._failing = threading.Lock()
        self._failure: BaseException | None = None

    @abstractmethod
    def stop(self) -> None:
        """Stop listening, finish what was heard, then end: returns at once."""

    def _watch(self, event: Event) -> None:
        if isinstance(event, SourceProgress):
            self._heard = event.heard
        self._publish(event)

    def _fail(self, error: BaseException) -> None:
        """End the run; the first failure is told and kept."""
        if isinstance(error, OutputClosed):
            # Nobody reads any more: the run ends well, and the session still gets what was heard.
            self.stop()
            return
        with self._failing:
            first = self._failure is None
            if first:
                self._failure = error
        self.stop()
        if first:
            self._publish(Notice("error", sentence(error)))

    def _end(self) -> None:
        """Tell that all is done, and close the sinks."""
        reason = "failed" if self._failure else "stopped" if self._stopping else "end of source"
        self._publish(RunEnded(self._heard, reason))
        self._publish.close()
