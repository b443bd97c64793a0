"""Processor time as a clock: on a busy machine it measures what one thread would have taken on a quiet one."""

from __future__ import annotations

import time

from livetrans.clock import Clock, SystemClock
from livetrans.errors import UsageError

TIMES = ("wall", "cpu")
"""How durations are measured: as they were lived, or the processor's time of this process."""


class ProcessorClock:
    """Seconds that this process has computed; others' turns on the same core do not count."""

    def now(self) -> float:
        return time.process_time()

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
