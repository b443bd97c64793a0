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


class SystemClock:
    """Real time; `start` is its reading at construction, for a run that goes on where another one ended."""

    def __init__(self, start: float = 0.0) -> None:
        self._origin = time.perf_counter() - start

    def now(self) -> float:
        return time.perf_counter() - self._origin

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


def seconds_asleep() -> float:
    """Return for how long this machine has slept since its start, which `SystemClock` does not count.

    0 on Windows, whose clock counts it.
    """
    for counts_sleep, stands_still in (("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"), ("CLOCK_MONOTONIC", "CLOCK_UPTIME_RAW")):
        if hasattr(time, counts_sleep) and hasattr(time, stands_still):
            return time.clock_gettime(getattr(time, counts_sleep)) - time.clock_gettime(getattr(time, stands_still))
    return 0.0


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
