"""Hands every event to every sink: one order for all, and no sink that fails or is slow disturbs another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue

from livetrans.clock import Clock
from livetrans.errors import SessionError
from livetrans.events import AudioChunk, Event, Record, RunEnded
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import Sink

Publish = Callable[[Event], None]

MANY_RECORDS = 10_000
"""Waiting records and audio chunks from which a sink is reported as too slow: ten minutes with sound, half an hour
without. A record takes some 300 bytes, so that all of them can wait."""


class SinkTooSlow(SessionError):
    """Many records wait for a sink."""


OnFailure = Callable[[Sink, BaseException], None]


class Publisher:
    """Gives each event its instant and hands it to the sinks.

    Each sink has a queue and a thread of its own, so that publishing never waits for a disk, a pipe or a terminal. A
    sink may publish while it is written to. A sink that fails is reported to `on_failure` and receives nothing more
    until it is closed; one that is too slow is reported once.
    """

    def __init__(self, clock: Clock, on_failure: OnFailure) -> None:
        self._clock = clock
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._queues: list[_SinkQueue] = []
        self._has_ended = False

    def add(self, sink: Sink) -> None:
        with self._lock:
            self._queues.append(_SinkQueue(sink, self._on_failure))

    def __call__(self, event: Event) -> None:
        with self._lock:
            if self._has_ended:
                return  # From a call that hung beyond the end of the run: nothing follows `RunEnded`.
            self._has_ended = isinstance(event, RunEnded)
            record = Record(self._clock.now(), event)
            slow = [queue.sink for queue in self._queues if queue.put(record)]
        self._report(slow)

    def record_sound(self, chunk: AudioChunk) -> None:
        """Hand sound to the session recorder, if there is one."""
        with self._lock:
            slow = [queue.sink for queue in self._queues if _records_sound(queue.sink) and queue.put(chunk)]
        self._report(slow)

    def flush(self) -> None:
        """Wait until everything published so far is written; failures have been reported then."""
        with self._lock:
            queues = tuple(self._queues)
        for queue in queues:
            queue.flush()

    def close(self) -> None:
        """Write what waits and close every sink, also after one that fails to close; later events go nowhere."""
        with self._lock:
            queues, self._queues = self._queues, []
        for queue in queues:
            queue.close()

    def _report(self, slow: list[Sink]) -> None:
        for sink in slow:
            self._on_failure(sink, SinkTooSlow("An output takes what is written to it too slowly"))


class _SinkQueue:
    """Records and sound that wait for one sink, and the thread that writes them."""

    def __init__(self, sink: Sink, on_failure: OnFailure) -> None:
        self.sink = sink
        self._on_failure = on_failure
        self._waiting: Queue[Record | AudioChunk | None] = Queue()
        self._is_slow = False
        self._has_failed = False
        self._thread = threading.Thread(target=self._serve, name=f"sink {type(sink).__name__}", daemon=True)
        self._thread.start()
        self.flush = self._waiting.join

    def put(self, item: Record | AudioChunk) -> bool:
        """Add an item; return True the first time that many wait."""
        self._waiting.put(item)
        is_first = not self._is_slow and self._waiting.qsize() > MANY_RECORDS
        self._is_slow = self._is_slow or is_first
        return is_first

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()
        try:
            self.sink.close()
        except BaseException as error:
            if not self._has_failed:
                self._on_failure(self.sink, error)

    def _serve(self) -> None:
        while (item := self._waiting.get()) is not None:
            if not self._has_failed:
                self._write(item)
            self._waiting.task_done()

    def _write(self, item: Record | AudioChunk) -> None:
        try:
            if isinstance(item, Record):
                self.sink.write(item)
            elif isinstance(self.sink, SessionRecorder):
                self.sink.write_audio(item)
        except BaseException as error:
            # Events are still recorded if only the sound cannot be.
            self._has_failed = isinstance(item, Record)
            self._on_failure(self.sink, error)


def _records_sound(sink: Sink) -> bool:
    return isinstance(sink, SessionRecorder) and sink.records_sound
