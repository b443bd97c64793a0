"""How a measurement's durations are measured."""

from __future__ import annotations

from livetrans.clock import Clock, ProcessorClock, SystemClock
from livetrans.errors import UsageError

TIMES = ("wall", "cpu")
"""As they were lived, or the processor's time of the measuring thread."""


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
