"""A row of a table, all figures of one method on one corpus by one model; its speed and its latency."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from livetrans.bench.runfile import Segment, Update
from livetrans.events import DecodingStats
from livetrans.metrics.latency import average_lagging, length_adaptive_average_lagging, stable_delays


@dataclass(frozen=True, slots=True)
class TableRow:
    """Figures of one method; None where a figure has no meaning or was not measured."""

    model: str
    pair: str
    """Languages: `en-de`."""
    corpus: str
    method: str
    """Label: `rt`, `ssbd@0.2`, `ssbd@0.2+mask3` (output mask), `ssbd@0.2+display3` (display-only mask), `cd`."""
    decoder: str
    bias: float | None
    mask: str
    """`none`, `output` or `display`."""
    mask_k: int
    updates: int
    """Of one repeat."""
    output_tokens: int
    """Of one repeat, in the model's own tokens."""
    bleu: float | None
    chrf: float | None
    comet: float | None
    """Of finals that have a reference."""
    ne_mean: float | None
    """Mean of the utterances' normalized erasure, as the authors score."""
    ne_ratio: float | None
    """All erased tokens / all final tokens."""
    ne_unit: str
    accepted_per_draft: float | None
    """A/D, 0..1."""
    accepted_per_output: float | None
    """A/O, 0..1."""
    speed: Speed
    """Medians over the repeats."""
    equal_finals: int
    """Finals with the very text that `rt` wrote."""
    finals: int
    latency: Latency


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one method in one repeat, or the medians of several; None where nothing was measured."""

    update_seconds: float | None = None
    """Seconds per update: prompt, verification, decoding, arithmetic and tokenisation."""
    speedup: float | None = None
    """Update seconds of `rt` / of this method, in the same repeat."""
    tokens_per_second: float | None = None
    """TPS: output tokens / seconds of verification and decoding, as the paper counts."""
    tps_ratio: float | None = None
    """TPS / TPS of `rt` in the same repeat: what the paper calls speedup."""
    tps_ratio_shared: float | None = None
    """The same, but of a verifying pass only the draft's share of its tokens counts: the paper evaluates the prompt in
    a pass of its own, which it does not count; here prompt and draft are in one pass."""


def measure_speed(repeats: Sequence[tuple[Sequence[Update], Sequence[Update]]]) -> Speed:
    """Medians over repeats, each the updates of a method and those of the baseline.

    Ratios are taken within a repeat, because the machine drifts between them.
    """
    own = [_rates(updates) for updates, _ in repeats]
    base = [_rates(updates) for _, updates in repeats]
    pairs = list(zip(own, base, strict=True))
    return Speed(
        update_seconds=_median(seconds for seconds, _, _ in own),
        speedup=_median(_ratio(theirs[0], mine[0]) for mine, theirs in pairs),
        tokens_per_second=_median(rate for _, rate, _ in own),
        tps_ratio=_median(_ratio(mine[1], theirs[1]) for mine, theirs in pairs),
        tps_ratio_shared=_median(_ratio(mine[2], theirs[2]) for mine, theirs in pairs),
    )


def _rates(updates: Sequence[Update]) -> tuple[float | None, float | None, float | None]:
    """Seconds per update, tokens per second, and those with the draft's share of the verifying passes alone."""
    generation = sum(update.stats.verification_seconds + update.stats.decoding_seconds for update in updates)
    prompt = sum(update.stats.verification_seconds * _prompt_share(update.stats) for update in updates)
    output_tokens = sum(update.stats.output_tokens for update in updates)
    seconds = sum(update.update_seconds for update in updates)
    return _ratio(seconds, len(updates)), _ratio(output_tokens, generation), _ratio(output_tokens, generation - prompt)


def _prompt_share(stats: DecodingStats) -> float:
    """The prompt's part of the tokens in a verifying pass, 0..1."""
    rest = max(stats.prompt_tokens - stats.reused_tokens, 0)
    return rest / (rest + stats.draft_tokens) if stats.draft_tokens else 0.0


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


@dataclass(frozen=True, slots=True)
class Latency:
    """Of one method over all recorded streams; None where the corpus has no times."""

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
