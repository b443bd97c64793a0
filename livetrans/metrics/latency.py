"""Latency: percentiles, and AL and LAAL of target units against the source.

AL and LAAL take delays as plain numbers. Source times (or counts of source words) make the figure
computation-unaware, instants on the wall clock make it computation-aware: the formulas are the same.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from livetrans.base.sequences import common_prefix_length

MAXIMUM_VALUES = 10_000
"""Values remembered: about an hour of speech, a lag a word."""


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile of sorted values: the least that `share` (0..1) of them do not exceed."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


class Spread(NamedTuple):
    """The spread of repeated measurements."""

    median: float
    least: float
    most: float


def spread_of(values: Iterable[float | None]) -> Spread | None:
    """Return the median, least and greatest of the values that are not None; None without any."""
    known = [value for value in values if value is not None]
    return Spread(statistics.median(known), min(known), max(known)) if known else None


class Distribution:
    """The last `MAXIMUM_VALUES` values, with their median and percentiles."""

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=MAXIMUM_VALUES)
        self._ordered: list[float] | None = []

    def add(self, value: float) -> None:
        self._values.append(value)
        self._ordered = None

    def percentile(self, share: float) -> float | None:
        """Nearest-rank percentile, `share` in 0..1; None before the first value."""
        if self._ordered is None:
            self._ordered = sorted(self._values)
        return percentile(self._ordered, share)

    @property
    def median(self) -> float | None:
        return self.percentile(0.5)


def stable_delays(times: Sequence[float], outputs: Sequence[Sequence[Hashable]]) -> list[float]:
    """Return the delay of every unit of the last output: the time of the first update since which it has stayed.

    A unit is retracted when it, or one before it, changes, as in equation (3). So delays never fall along the output,
    which AL and LAAL need. `outputs[i]` is the whole output of the update at `times[i]`.
    """
    delays: list[float] = []
    previous: Sequence[Hashable] = ()
    for time, output in zip(times, outputs, strict=True):
        kept = common_prefix_length(previous, output)
        delays[kept:] = [time] * (len(output) - kept)
        previous = output
    return delays


def average_lagging(delays: Sequence[float], source_length: float, reference_length: int) -> float:
    """Return AL: 1/tau * sum of d(i) - (i - 1) |X| / |Y*| for i up to tau, the first unit whose delay reaches |X|.

    A term is a unit's lag behind an ideal translator, who writes at an even pace from the beginning of the source to
    its end. Ma et al. 2019 (STACL, arXiv 1810.08398), equations 8 and 9, with the reference's length for |Y*|, as
    SimulEval computes it. Without such a unit tau is the last one; an output that starts after the source ended has its
    first delay for AL. Delays and `source_length` share one unit; a corpus's AL is the mean over its sentences.

    Raises:
        ValueError: an output without units, a source or a reference without length.
    """
    if not delays or source_length <= 0 or reference_length <= 0:
        raise ValueError("lagging needs an output, a source and a reference that are not empty")
    tau = 1 + next((index for index, delay in enumerate(delays) if delay >= source_length), len(delays) - 1)
    pace = source_length / reference_length
    return math.fsum(delay - index * pace for index, delay in enumerate(delays[:tau])) / tau


def length_adaptive_average_lagging(delays: Sequence[float], source_length: float, reference_length: int) -> float:
    """Return LAAL: AL against the longer of output and reference, so that writing too much is not rewarded.

    Papi et al. 2022 (Over-Generation Cannot Be Rewarded, arXiv 2206.05807): |Y*| becomes max(|Y|, |Y*|).
    """
    return average_lagging(delays, source_length, max(len(delays), reference_length))
