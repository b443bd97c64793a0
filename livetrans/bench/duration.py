"""How long a run will take, measured from its first units.

The time of an update grows with the text that is written, so time is taken as proportional to the characters of the
sources. A small part of a run gives an estimate, since sentences and machines differ.
"""

from __future__ import annotations

from collections.abc import Iterable

from livetrans.bench.corpora import CorpusSegment
from livetrans.clock import Clock

ENOUGH_SECONDS = 20.0
"""With a large model one segment by every method takes minutes: what is known by then is said."""


def work_of(segments: Iterable[CorpusSegment]) -> int:
    """Characters that one method translates, every update anew."""
    return sum(len(update.source) for segment in segments for update in segment.updates)


class Expectation:
    """The time that units of a known amount of work will take."""

    def __init__(self, clock: Clock, total: int, sample: int) -> None:
        """`total` work is to be done; after `sample` of it, or `ENOUGH_SECONDS`, its time can be estimated."""
        self._clock = clock
        self._began = clock.now()
        self._total = total
        self._sample = sample
        self._done = 0
        self._told = False

    def add(self, work: int) -> float | None:
        """Seconds that the whole will take, given once; None before enough is done and after."""
        self._done += work
        elapsed = self._clock.now() - self._began
        if self._told or (self._done < self._sample and elapsed < ENOUGH_SECONDS):
            return None
        self._told = True
        return elapsed * self._total / max(self._done, 1)


def in_words(seconds: float) -> str:
    """`40 s`, `13 min`, `2.5 h`: no more digits than an estimate has."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    if seconds < 95 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
