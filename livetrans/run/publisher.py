"""Hands every event to every sink: one order for all, and no sink that fails or is slow disturbs another."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from livetrans.clock import Clock
from livetrans.errors import SessionError
from livetrans.events import (
    AudioChunk,
    BackPressure,
    Caption,
    Coalesced,
    Event,
    Record,
    RunEnded,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import Sink

Publish = Callable[[Event], None]

QUEUE_LENGTH = 10_000
"""Records and audio chunks that may wait for one sink: ten minutes with sound, half an hour without."""


class SinkTooSlow(SessionError):
    """A sink's queue was full: what a later record replaces was left out of it."""


OnFailure = Callable[[Sink, BaseException], None]


class Publisher:
    """What gives each event its instant and hands it to the sinks.

    With `threaded`, each sink has a queue and a thread of its own, so that publishing never waits for a disk, a pipe or
    a terminal; otherwise publishing writes to each sink before it returns. A sink may publish while it is written to.
    A sink that fails is reported to `on_failure` and receives nothing more until it is closed.
    """

    def __init__(self, clock: Clock, on_failure: OnFailure, *, threaded: bool) -> None:
        self._clock = clock
        self._on_failure = on_failure
        self._threaded = threaded
        self._lock = threading.Lock()
        self._queues: list[_SinkQueue] = []
        self._has_ended = False

    def add(self, sink: Sink) -> None:
        with self._lock:
            self._queues.append(_SinkQueue(sink, self._on_failure, threaded=self._threaded))

    def __call__(self, event: Event) -> None:
        with self._lock:
            if self._has_ended:
                return  # From a call that hung beyond the end of the run: nothing follows `RunEnded`.
            self._has_ended = isinstance(event, RunEnded)
            record = Record(self._clock.now(), event)
            queues = tuple(self._queues)
            overfull = [queue for queue in queues if queue.put(record)]
        self._after_put(queues, overfull)

    def record_sound(self, chunk: AudioChunk) -> None:
        """Hand sound to the session recorder, where there is one."""
        with self._lock:
            queues = tuple(queue for queue in self._queues if _records_sound(queue.sink))
            overfull = [queue for queue in queues if queue.put(chunk)]
        self._after_put(queues, overfull)

    def flush(self) -> None:
        """Wait until everything published so far is written; what fails has been reported then."""
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

    def _after_put(self, queues: tuple[_SinkQueue, ...], overfull: list[_SinkQueue]) -> None:
        if not self._threaded:
            for queue in queues:
                queue.drain()
        for queue in overfull:
            self._on_failure(queue.sink, SinkTooSlow("An output takes what is written to it too slowly"))


class _SinkQueue:
    """What waits for one sink.

    It is bounded: where it is full, everything that a later record replaces leaves it (progress, unfinished hypotheses
    and captions, sound). Finals, notices and settings are never dropped: they are text of what was really spoken.
    """

    def __init__(self, sink: Sink, on_failure: OnFailure, *, threaded: bool) -> None:
        self.sink = sink
        self._on_failure = on_failure
        self._waiting: deque[Record | AudioChunk] = deque()
        self._limit = QUEUE_LENGTH
        self._has_dropped = False
        self._has_failed = False
        self._is_writing = False
        self._is_closing = False
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._serve, name=f"sink {type(sink).__name__}", daemon=True)
            self._thread.start()

    def put(self, item: Record | AudioChunk) -> bool:
        """Add an item; True the first time that something had to be dropped for it."""
        with self._change:
            if self._has_failed:
                return False
            self._waiting.append(item)
            self._change.notify_all()
            if len(self._waiting) <= self._limit:
                return False
            lasting = deque(item for item in self._waiting if not is_replaceable(item))
            is_first = not self._has_dropped and len(lasting) < len(self._waiting)
            self._has_dropped = self._has_dropped or is_first
            self._waiting = lasting
            # Where finals alone fill the queue, looking through them at each record would take ever longer.
            self._limit = max(QUEUE_LENGTH, 2 * len(lasting))
            return is_first

    def drain(self) -> None:
        """Write what waits, in order; nothing where this queue is being written further up the stack."""
        if self._is_writing:
            return
        self._is_writing = True
        try:
            while self._waiting:
                self._write(self._waiting.popleft())
        finally:
            self._is_writing = False

    def flush(self) -> None:
        if self._thread is None:
            self.drain()
        else:
            with self._change:
                self._change.wait_for(lambda: not self._waiting and not self._is_writing)

    def close(self) -> None:
        self.flush()
        if self._thread is not None:
            with self._change:
                self._is_closing = True
                self._change.notify_all()
            self._thread.join()
        try:
            self.sink.close()
        except BaseException as error:
            if not self._has_failed:
                self._on_failure(self.sink, error)

    def _serve(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._is_closing)
                if not self._waiting:
                    return
                item = self._waiting.popleft()
                self._is_writing = True
            self._write(item)
            with self._change:
                self._is_writing = False
                self._change.notify_all()

    def _write(self, item: Record | AudioChunk) -> None:
        try:
            if isinstance(item, Record):
                self.sink.write(item)
            elif isinstance(self.sink, SessionRecorder):
                self.sink.write_audio(item)
        except BaseException as error:
            if isinstance(item, Record):  # Events are still recorded where only the sound cannot be.
                with self._change:
                    self._has_failed = True
                    self._waiting.clear()
            self._on_failure(self.sink, error)


def _records_sound(sink: Sink) -> bool:
    return isinstance(sink, SessionRecorder) and sink.records_sound


def is_replaceable(item: Record | AudioChunk) -> bool:
    """Return whether a later record, or silence in place of the sound, makes up for this one."""
    match item:
        case Record(event=Transcript() | Translation() | Caption() as event):
            return not event.final
        case Record(event=event):
            return isinstance(event, SourceProgress | Coalesced | BackPressure)
        case _:
            return True
