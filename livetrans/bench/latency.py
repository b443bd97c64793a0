"""How late recorded streams are translated: source time alone, and with what every update really cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

from livetrans.bench.records import Segment, Update
from livetrans.metrics.latency import average_lagging, length_adaptive_average_lagging, stable_delays


@dataclass(frozen=True, slots=True)
class Latency:
    """Of one method over all streams; None where the corpus has no times."""

    average_lagging: float | None = None
    """AL in seconds, mean over segments, as if translating took no time."""
    average_lagging_aware: float | None = None
    laal: float | None = None
    laal_aware: float | None = None
    lags: tuple[float, ...] = ()
    """Seconds from hearing an update's newest word to the end of its translation, one an update."""


def measure_latency(
    units: Sequence[tuple[Segment, Sequence[Update]]],
    output: Callable[[Update], Sequence[Hashable]],
    reference_length: Callable[[Segment], int | None],
) -> Latency:
    """Latencies of one method; `output` gives an update's text in the unit of the table.

    A segment without a reference of its own takes the length of its final, which makes its AL its LAAL. Aware of
    computation, each update is translated as soon as it came and the one before it in its stream was done, and takes
    what it took in the run; nothing is coalesced.
    """
    unaware: list[tuple[float, float]] = []
    aware: list[tuple[float, float]] = []
    lags: list[float] = []
    stream, free = None, 0.0
    for segment, updates in units:
        if segment.stream != stream:
            stream, free = segment.stream, 0.0
        finished = []
        for update in updates:
            if update.due is None or update.captured is None or update.end is None:
                break
            free = max(free, update.due) + update.update_seconds
            # On the axis of source time: what was heard at `end` was heard at `captured` of the run.
            finished.append(free - (update.captured - update.end))
            lags.append(free - update.captured)
        if len(finished) < len(updates) or segment.start is None or not output(updates[-1]):
            continue
        ends = [update.end or 0.0 for update in updates]
        outputs = [output(update) for update in updates]
        length = ends[-1] - segment.start
        if length > 0:
            for figures, times in ((unaware, ends), (aware, finished)):
                delays = stable_delays([time - segment.start for time in times], outputs)
                reference = reference_length(segment) or len(delays)
                al = average_lagging(delays, length, reference)
                figures.append((al, length_adaptive_average_lagging(delays, length, reference)))
    if not unaware:
        return Latency(lags=tuple(lags))
    return Latency(
        average_lagging=fmean(al for al, _ in unaware),
        average_lagging_aware=fmean(al for al, _ in aware),
        laal=fmean(laal for _, laal in unaware),
        laal_aware=fmean(laal for _, laal in aware),
        lags=tuple(lags),
    )
