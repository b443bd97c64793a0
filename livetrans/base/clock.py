"""Injected time: with the audio callback, the only code that reads the system's clock."""

from __future__ import annotations

import time
from typing import Protocol

STANDSTILL_SECONDS = 5.0
"""After a longer time between two looks at the clock, of which a run takes several a second, it was suspended."""


class Clock(Protocol):
    """Monotonic seconds since an arbitrary start, and a way to wait."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


_COUNTS_SLEEP = getattr(time, "CLOCK_BOOTTIME", None) or (
    time.CLOCK_MONOTONIC if hasattr(time, "CLOCK_UPTIME_RAW") else None
)
"""The system's clock that goes on while the machine sleeps: on Linux, or on macOS; None on Windows, where
`time.perf_counter` does."""


def system_seconds() -> float:
    """Return monotonic seconds since an arbitrary start, the same for all processes. Sleep of the machine counts."""
    return time.perf_counter() if _COUNTS_SLEEP is None else time.clock_gettime(_COUNTS_SLEEP)


class SystemClock:
    """Real time; `start` is its reading at construction, for a run that continues an earlier one."""

    def __init__(self, start: float = 0.0) -> None:
        self._origin = system_seconds() - start

    def now(self) -> float:
        return system_seconds() - self._origin

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class ProcessorClock:
    """Processor seconds of the calling thread: about the time that an idle machine would have taken.

    llama.cpp computes in the calling thread when it has one thread; other programs on the same core do not count.
    """

    def now(self) -> float:
        return time.thread_time()

    def sleep(self, seconds: float) -> None:
        """Do nothing: waiting takes no processor time."""


class ManualClock:
    """Time that passes only by `sleep` and `advance`: for tests, and for results independent of the machine's speed."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(max(seconds, 0.0))

    def advance(self, seconds: float) -> None:
        self._now += seconds


class Pace:
    """Seconds since `start` on a clock, without pauses. Another thread may pause."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._state: tuple[float, float | None] = 0.0, None
        """The clock's time at which 0 seconds had passed, and at which the pause began. Replaced whole: no lock."""

    def start(self) -> None:
        now = self._clock.now()
        self._state = now, now if self.is_paused else None

    @property
    def is_paused(self) -> bool:
        return self._state[1] is not None

    def elapsed(self) -> float:
        origin, paused_at = self._state
        return (self._clock.now() if paused_at is None else paused_at) - origin

    def instant(self, elapsed: float) -> float:
        """Return the clock's time at which `elapsed` seconds have passed."""
        return self._state[0] + elapsed

    def pause(self, paused: bool) -> None:
        origin, paused_at = self._state
        if paused and paused_at is None:
            self._state = origin, self._clock.now()
        elif not paused and paused_at is not None:
            self._state = origin + self._clock.now() - paused_at, None
