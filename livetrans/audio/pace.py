"""Playing time: the clock's time since the start, without the pauses."""

from __future__ import annotations

import threading

from livetrans.clock import Clock


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
        """The measured time at which so much has been played."""
        with self._lock:
            return self._origin + elapsed

    def wait_until(self, elapsed: float) -> None:
        remaining = elapsed - self.elapsed()
        # A pause that begins meanwhile makes this end early; the caller looks again.
        self._clock.sleep(remaining)

    def pause(self, paused: bool) -> None:
        with self._lock:
            if paused and self._paused_at is None:
                self._paused_at = self._clock.now()
            elif not paused and self._paused_at is not None:
                self._origin += self._clock.now() - self._paused_at
                self._paused_at = None
