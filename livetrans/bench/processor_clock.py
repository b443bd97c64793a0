"""Processor time as a clock: on a busy machine it measures what one thread would have taken on a quiet one."""

from __future__ import annotations

import time

from livetrans.clock import Clock, SystemClock
from livetrans.errors import UsageError

TIMES = ("wall", "cpu")
"""How durations are measured: as they were lived, or the processor's time of the measuring thread."""


class ProcessorClock:
    """Seconds that the calling thread has computed; others' turns on the same core do not count.

    llama.cpp computes in the calling thread when it has one thread.
    """

    def now(self) -> float:
        return time.thread_time()

    def sleep(self, seconds: float) -> None:
        """Waiting takes no processor time."""


def clock_for(measured: str, threads: int) -> Clock:
    """The clock of a measurement.

    Raises:
        UsageError: processor time with several threads, whose times would be added up.
    """
    if measured == "wall":
        return SystemClock()
    if threads != 1:
        raise UsageError(f"--time cpu would add up the times of {threads} threads; measure with --threads 1")
    return ProcessorClock()
