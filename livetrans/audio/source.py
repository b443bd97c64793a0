"""The audio-source port, and what its implementations share: the pause, and the pace of a replay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Protocol

from livetrans.clock import Clock
from livetrans.events import AudioChunk


class AudioSource(Protocol):
    """Audio, in order, without gaps in `start_sample` unless audio was lost (then a Notice reports it).

    Iterating blocks until audio is available, and may return everything that has arrived meanwhile as one larger chunk:
    a listener that was busy catches up in one step. The iterator ends when the source does or after `close`.
    """

    @property
    def duration(self) -> float | None:
        """Length in seconds where it is known."""

    @property
    def skipped(self) -> float:
        """Seconds of audio lost so far because the listener could not keep up; pauses do not count."""

    def __iter__(self) -> Iterator[AudioChunk]: ...

    def pause(self, paused: bool) -> None:
        """Stop or resume listening; called from another thread."""

    def close(self) -> None:
        """End the iteration soon; from any thread, from a signal handler, any number of times."""


class Pause:
    """Holds the iterating thread while the source is paused, until it is resumed or closed.

    The wake-up is a SimpleQueue, whose `put` is reentrant: an Event's lock is not, and a signal handler that runs in
    the thread that waits would wait for itself.
    """

    def __init__(self) -> None:
        self.closed = False
        self._paused = False
        self._changed: SimpleQueue[None] = SimpleQueue()

    def set(self, paused: bool) -> None:
        self._paused = paused
        self._changed.put(None)

    def close(self) -> None:
        self.closed = True
        self._changed.put(None)

    def wait(self) -> None:
        while self._paused and not self.closed:
            self._changed.get()


class Pace:
    """Seconds since `start` on the injected clock, standing still while paused; another thread may pause."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._origin = 0.0
        self._paused_at: float | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            self._origin = self._clock.now()
            if self._paused_at is not None:
                self._paused_at = self._origin

    def elapsed(self) -> float:
        with self._lock:
            now = self._clock.now() if self._paused_at is None else self._paused_at
            return now - self._origin

    def instant(self, elapsed: float) -> float:
        """The clock's time at which `elapsed` seconds have been played."""
        with self._lock:
            return self._origin + elapsed

    def wait_until(self, elapsed: float) -> None:
        """Sleep until then; returns early where a pause begins meanwhile, and the caller checks again."""
        self._clock.sleep(elapsed - self.elapsed())

    def pause(self, paused: bool) -> None:
        with self._lock:
            if paused and self._paused_at is None:
                self._paused_at = self._clock.now()
            elif not paused and self._paused_at is not None:
                self._origin += self._clock.now() - self._paused_at
                self._paused_at = None
