"""What a viewer sees of one method: how late its translations come, and how calm the screen is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from livetrans.bench.runfile import Segment, Update
from livetrans.config import MaskSettings
from livetrans.events import Caption, Transcript, Translation
from livetrans.metrics.latency import (
    Spread,
    TimeToStability,
    average_lagging,
    length_adaptive_average_lagging,
    spread_of,
    stable_delays,
)
from livetrans.metrics.rates import NormalizedErasure, ScreenErasure
from livetrans.translation.presenter import Presenter

Units = Sequence[tuple[Segment, Sequence[Update]]]
"""Of one method in one repeat, in the order of the corpus."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Of one method over all recorded streams in one repeat; None where the corpus has no times."""

    average_lagging: float | None = None
    """AL in seconds, mean over segments, as if translating took no time."""
    average_lagging_aware: float | None = None
    laal: float | None = None
    laal_aware: float | None = None
    lags: tuple[float, ...] = ()
    """Seconds from hearing an update's newest word to the end of its translation, one an update; only of streams that
    were recorded in real time, since others lack the recogniser's time."""


def measure_latency(
    units: Units,
    output: Callable[[Update], Sequence[Hashable]],
    reference_length: Callable[[Segment], int | None],
) -> Latency:
    """Latencies of one method in one repeat; `output` gives an update's text in the unit of the table.

    A segment without a reference of its own takes the length of its final, which makes its AL its LAAL. Aware of
    computation, each update is translated as soon as it came and the one before it in its stream was done, and takes
    what it took in the run; nothing is coalesced. It came when its transcript was published, so the recogniser's time
    is in it, but for streams that were recorded at full speed.
    """
    unaware: list[tuple[float, float]] = []
    aware: list[tuple[float, float]] = []
    lags: list[float] = []
    for segment, updates, instants in _timed(units):
        finished = []
        for update, done in zip(updates, instants, strict=False):
            heard, end = _heard(update), update.end or 0.0
            # On the axis of source time: what was heard at `end` was heard at `heard` of the run.
            finished.append(done - (heard - end))
            if update.captured is not None:
                lags.append(done - heard)
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


def _timed(
    units: Units,
) -> Iterator[tuple[Segment, Sequence[Update], list[float]]]:
    """Each unit, and when its updates were translated, one after another; no instants where a stream has no times."""
    stream, free = None, 0.0
    for segment, updates in units:
        if segment.stream != stream:
            stream, free = segment.stream, 0.0
        instants: list[float] = []
        for update in updates:
            if segment.start is None or update.due is None or update.end is None:
                break
            free = max(free, update.due) + update.update_seconds
            instants.append(free)
        yield segment, updates, instants


def _heard(update: Update) -> float:
    """When an update's newest word was heard in the recorded run; at full speed, when it was spoken."""
    return update.captured if update.captured is not None else update.end or 0.0


@dataclass(frozen=True, slots=True)
class Screen:
    """Calm of one method as the viewer sees it; None where nothing was shown or the corpus has no times."""

    erasure: float | None = None
    """NE of the screen (`livetrans.metrics.rates`), under the mask."""
    raw_erasure: float | None = None
    """The same without a mask."""
    segment_erasure: float | None = None
    """NE per segment in the model's tokens that are wholly shown, as sums."""
    hidden_tokens: float | None = None
    """Held back by mask and cut, an update."""
    stability: Spread | None = None
    """Median seconds from the end of a unit's source word to the last time that the shown unit changed, a repeat."""


def measure_screen(repeats: Sequence[Units], mask_k: int, *, spaced: bool) -> Screen:
    """What a viewer sees of one method: captions as the presenter makes them; a stream's segments are one screen.

    The captions are the first repeat's, the instants at which they came those of each.
    """
    screens: dict[str | int, tuple[ScreenErasure, ScreenErasure]] = {}
    erased = NormalizedErasure()
    captions: dict[int, list[Caption]] = {}
    for segment, updates in repeats[0]:
        shown, raw = screens.setdefault(segment.stream or segment.segment_id, (ScreenErasure(), ScreenErasure()))
        own = captions[segment.segment_id] = [_caption(segment, update, mask_k, spaced) for update in updates]
        for caption, update in zip(own, updates, strict=True):
            shown.add(caption)
            raw.add(_caption(segment, update, 0, spaced))
            erased.add(segment.segment_id, caption.tokens, final=update.final)

    def erasure(kind: int) -> float | None:
        taken_back = sum(pair[kind].erased_units for pair in screens.values())
        units = sum(pair[kind].units for pair in screens.values())
        return taken_back / units if units else None

    hidden = [caption.masked_tokens for own in captions.values() for caption in own]
    return Screen(
        erasure=erasure(0),
        raw_erasure=erasure(1),
        segment_erasure=erased.ratio_of_sums,
        hidden_tokens=fmean(hidden) if hidden else None,
        stability=spread_of(_stability(units, captions) for units in repeats),
    )


def _stability(units: Units, captions: Mapping[int, Sequence[Caption]]) -> float | None:
    """Median time to stability of captions, by segment, that came when the units of a repeat say."""
    stability, times = TimeToStability(), list[float]()
    for segment, updates, instants in _timed(units):
        if len(instants) == len(updates):
            for caption, instant in zip(captions[segment.segment_id], instants, strict=True):
                times += stability.add(caption, instant)
    return statistics.median(times) if times else None


def _caption(segment: Segment, update: Update, mask_k: int, spaced: bool) -> Caption:
    def text_of(tokens: Sequence[int]) -> str:
        """Of the output's first tokens: the run file says where each ends."""
        return update.without_last(len(update.tokens) - len(tokens))

    times = segment.start or 0.0, update.end or 0.0, _heard(update)
    transcript = Transcript(segment.segment_id, update.update, update.source, "", update.final, *times)
    mask = MaskSettings("display" if mask_k else "none", mask_k)
    translation = Translation(transcript, update.text, update.tokens, update.stats)
    return Presenter(text_of, mask, spaced=spaced).present(translation)
