"""Hands every event to every sink: one order for all, and no sink that fails or is slow disturbs another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Queue

from livetrans.base.clock import Clock
from livetrans.base.errors import SessionError
from livetrans.events import SAMPLE_RATE, AudioChunk, Event, Notice, Record, RunEnded
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import Sink

Publish = Callable[[Event], None]

MANY_RECORDS = 10_000
"""Waiting records and audio chunks from which a sink is reported as too slow: ten minutes with sound, half an hour
without. Records take 16 MB an hour, so that all of them can wait."""
MOST_SOUND_SECONDS = 2 * 3600.0
"""Sound that waits at most for a sink; later sound is left out. It takes 115 MB an hour."""
STALLED_SECONDS = 10.0
"""At the end of a run, a sink that has taken nothing for this long may never take anything."""


def warning_once(notify: Callable[[Notice], object], warned: set[str] | None = None) -> Callable[[Notice], None]:
    """Return a function that passes each warning on once, although several lanes or files may give it.

    `warned`: the texts that were given before; others are added.
    """
    given: set[str] = set() if warned is None else warned

    def notify_once(notice: Notice) -> None:
        if notice.level != "warning" or notice.text not in given:
            given.add(notice.text)
            notify(notice)

    return notify_once


class SinkTooSlow(SessionError):
    """Many records wait for a sink; `loses` says that it does not get all."""

    def __init__(self, text: str, *, loses: bool = False) -> None:
        super().__init__(text)
        self.loses = loses


OnFailure = Callable[[Sink, BaseException], None]


class Publisher:
    """Gives each event its instant and hands it to the sinks.

    Each sink has a queue and a thread of its own, so that publishing never waits for a disk, a pipe or a terminal. A
    sink may publish while it is written to. A sink that fails is reported to `on_failure` and receives nothing more
    until it is closed; one that is too slow is reported too.
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
            slow = [(queue.sink, queue.put(record)) for queue in self._queues]
        self._report(slow)

    @property
    def records_sound(self) -> bool:
        """Whether a sink is a session that has its sound."""
        with self._lock:
            return any(queue.records_sound for queue in self._queues)

    def record_sound(self, chunk: AudioChunk) -> None:
        """Hand sound to the session recorder, if there is one."""
        with self._lock:
            slow = [(queue.sink, queue.put(chunk)) for queue in self._queues if queue.records_sound]
        self._report(slow)

    def flush(self) -> None:
        """Wait until sinks have written everything published so far, but for those that are stalled.

        Failures have been reported then.
        """
        with self._lock:
            queues = tuple(self._queues)
        for queue in queues:
            queue.flush()

    def close(self, gives_up: Callable[[], bool] = lambda: False) -> None:
        """Write what waits and close every sink, also after one that fails to close; later events go nowhere.

        Stalled sinks come last. They are waited for until `gives_up`, and then reported and left open.
        """
        with self._lock:
            queues, self._queues = self._queues, []
        stalled = [queue for queue in queues if not queue.close()]
        for queue in stalled:
            while not gives_up():
                if queue.close():
                    break
            else:
                text = f"An output has taken nothing for {STALLED_SECONDS:.0f} s, and lacks the end of this run."
                self._on_failure(queue.sink, SessionError(text))

    def _report(self, slow: Sequence[tuple[Sink, SinkTooSlow | None]]) -> None:
        for sink, fault in slow:
            if fault:
                self._on_failure(sink, fault)


class _SinkQueue:
    """Records and sound that wait for one sink, and the thread that writes them."""

    def __init__(self, sink: Sink, on_failure: OnFailure) -> None:
        self.sink = sink
        self._on_failure = on_failure
        self._waiting: Queue[Record | AudioChunk | None] = Queue()
        self._is_slow = False
        self._sound_put = self._sound_written = 0
        """Samples, each counted by one thread alone: their difference waits."""
        self._has_left_out = False
        self._has_failed = False
        self._thread = threading.Thread(target=self._serve, name=f"sink {type(sink).__name__}", daemon=True)
        self._thread.start()

    @property
    def records_sound(self) -> bool:
        return isinstance(self.sink, SessionRecorder) and self.sink.records_sound

    def put(self, item: Record | AudioChunk) -> SinkTooSlow | None:
        """Add an item; return what there is to report, the first time that many wait, or that sound is left out."""
        if isinstance(item, AudioChunk):
            if self._sound_put - self._sound_written > MOST_SOUND_SECONDS * SAMPLE_RATE:
                is_first, self._has_left_out = not self._has_left_out, True
                text = f"{MOST_SOUND_SECONDS / 3600:.0f} hours of sound wait to be recorded; what follows is left out"
                return SinkTooSlow(text, loses=True) if is_first else None
            self._sound_put += len(item.samples)
        self._waiting.put(item)
        if self._is_slow or self._waiting.qsize() <= MANY_RECORDS:
            return None
        self._is_slow = True
        return SinkTooSlow(
            "An output takes what is written to it too slowly; what it has not written yet is kept in memory"
        )

    def flush(self) -> bool:
        """Wait until everything is written; return False if the sink takes nothing for some time."""
        with self._waiting.all_tasks_done:
            while before := self._waiting.unfinished_tasks:
                is_done = self._waiting.all_tasks_done.wait(STALLED_SECONDS)
                if not is_done and self._waiting.unfinished_tasks == before:
                    return False
        return True

    def close(self) -> bool:
        """Write what waits and close the sink; return False, and leave it open, if it takes nothing for some time."""
        if not self.flush():
            return False
        self._waiting.put(None)
        self._thread.join()
        try:
            self.sink.close()
        except BaseException as error:
            if not self._has_failed:
                self._on_failure(self.sink, error)
        return True

    def _serve(self) -> None:
        while (item := self._waiting.get()) is not None:
            if not self._has_failed:
                self._write(item)
            if isinstance(item, AudioChunk):
                self._sound_written += len(item.samples)
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
