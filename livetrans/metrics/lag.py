"""Lag and its percentiles, in memory that does not grow with the run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from livetrans.events import Caption, Record

MAXIMUM_VALUES = 10_000
"""Values kept exactly; past it every second one is dropped, so that hours of captions need no more memory than one."""


def caption_lag(record: Record) -> float | None:
    """Seconds from hearing the end of a caption's last word to publishing it; None where lag has no meaning."""
    if not isinstance(record.event, Caption) or record.event.captured_at is None:
        return None
    return record.at - record.event.captured_at


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Nearest-rank percentile of sorted values: the smallest that at least `share` (0..1) of them do not exceed."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


class Distribution:
    """Values over time, with their last, median and percentiles.

    Exact up to `maximum` values. Past that an evenly spaced sample is kept (every 2nd value, then every 4th...): no
    random choice, so that the same run gives the same figures.
    """

    def __init__(self, maximum: int = MAXIMUM_VALUES) -> None:
        self.last: float | None = None
        self.count = 0
        self._maximum = max(maximum, 2)
        self._stride = 1
        self._values: list[float] = []
        self._ordered: list[float] | None = []

    def add(self, value: float) -> None:
        if self.count % self._stride == 0:
            if len(self._values) >= self._maximum:
                self._values = self._values[::2]
                self._stride *= 2
            if self.count % self._stride == 0:
                self._values.append(value)
            self._ordered = None
        self.count += 1
        self.last = value

    def percentile(self, share: float) -> float | None:
        """Nearest-rank percentile, `share` in 0..1; None before the first value."""
        if self._ordered is None:
            self._ordered = sorted(self._values)
        return percentile(self._ordered, share)

    @property
    def median(self) -> float | None:
        return self.percentile(0.5)

    @property
    def kept(self) -> int:
        """How many values are in memory."""
        return len(self._values)
