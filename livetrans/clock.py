"""Injected time: the only module, with the audio callback, that asks the system what time it is."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds since an arbitrary start, and a way to wait."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """Real time, counted from construction."""

    def __init__(self) -> None:
        self._origin = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self._origin

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class ProcessorClock:
    """Seconds that the calling thread has computed: on a busy machine, what it would have taken on a quiet one.

    llama.cpp computes in the calling thread when it has one thread; the turns of others on the same core do not count.
    """

    def now(self) -> float:
        return time.thread_time()

    def sleep(self, seconds: float) -> None:
        """Waiting takes no processor time."""


class ManualClock:
    """Time that moves only when told to: for tests, and for runs whose result must not depend on the machine's
    speed.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(max(seconds, 0.0))

    def advance(self, seconds: float) -> None:
        self._now += seconds
