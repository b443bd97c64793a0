"""What a viewer sees of one method: how late its translations come, and how calm the screen is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

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
from livetrans.metrics.rates import Meanwhile, NormalizedErasure, Reflow, ScreenErasure
from livetrans.translation.presenter import Presenter

MethodUnits = Sequence[tuple[Segment, Sequence[Update]]]
"""The units of one method in one repeat, in the order of the corpus."""


Seconds = Mapping[int, Sequence[float]]
"""What each update took in one repeat, by segment."""


class Latency(NamedTuple):
    """Of one method over all recorded streams in one repeat; None where the corpus has no times."""

    average_lagging: float | None = None
    """AL in seconds, mean over segments, as if translating took no time."""
    average_lagging_aware: float | None = None
    laal: float | None = None
    laal_aware: float | None = None
    lags: tuple[float, ...] = ()
    """Seconds from hearing an update's newest word to the end of its translation, one an update; only of streams that
    were recorded in real time, since others lack the recogniser's time."""


class Screen(NamedTuple):
    """Calm of one method as the viewer sees it; None where nothing was shown or the corpus has no times."""

    erasure: float | None
    """NE of the screen (`livetrans.metrics.rates`), under the mask."""
    raw_erasure: float | None
    """The same without a mask."""
    segment_erasure: float | None
    """NE per segment in the model's tokens that are wholly shown, as sums."""
    hidden_tokens: float
    """Held back by mask and cut, an update."""
    stability: Spread | None
    """Median seconds from the end of a unit's source word to the last time that the shown unit changed, a repeat."""
    meanwhile: Meanwhile
    """The captions before the finals, of segments that have a reference."""
    reflow: float | None
    """Words that stay and move to another row / words, under the mask."""


def measure_latency(
    units: MethodUnits,
    seconds: Seconds,
    output: Callable[[Update], Sequence[Hashable]],
    reference_length: Callable[[Segment], int | None],
) -> Latency:
    """Return the latency of a method in one repeat, whose updates took `seconds`; `output` is in the table's unit.

    A segment without a reference of its own takes the length of its final, which makes its AL its LAAL. Aware of
    computation, each update is translated as soon as it came and the one before it in its stream was done, and takes
    what it took in the run; nothing is coalesced. It came when its transcript was published, so the recogniser's time
    is in it, but for streams that were recorded at full speed.
    """
    figures: list[tuple[float, ...]] = []
    lags: list[float] = []
    for segment, updates, instants in _timed(units, seconds):
        if not instants or segment.start is None:
            continue
        lags += (
            instant - update.captured
            for update, instant in zip(updates, instants, strict=True)
            if update.captured is not None
        )
        ends = [update.end or 0.0 for update in updates]
        # On the axis of source time: what was heard at `end` was heard at `_heard` of the run.
        finished = [
            instant - (_heard(update) - end) for update, instant, end in zip(updates, instants, ends, strict=True)
        ]
        outputs = [output(update) for update in updates]
        length = ends[-1] - segment.start
        if outputs[-1] and length > 0:
            lagging = []
            for moments in (ends, finished):
                delays = stable_delays([moment - segment.start for moment in moments], outputs)
                reference = reference_length(segment) or len(delays)
                lagging += [
                    average_lagging(delays, length, reference),
                    length_adaptive_average_lagging(delays, length, reference),
                ]
            figures.append(tuple(lagging))
    if not figures:
        return Latency(lags=tuple(lags))
    al, laal, al_aware, laal_aware = map(fmean, zip(*figures, strict=True))
    return Latency(al, al_aware, laal, laal_aware, tuple(lags))


def _timed(units: MethodUnits, seconds: Seconds) -> Iterator[tuple[Segment, Sequence[Update], list[float]]]:
    """Yield each unit and when its updates were translated, one after another; no instants where it has no times."""
    stream, free = None, 0.0
    for segment, updates in units:
        if segment.stream != stream:
            stream, free = segment.stream, 0.0
        instants: list[float] = []
        for update, taken in zip(updates, seconds.get(segment.segment_id, ()), strict=False):
            if segment.start is None or update.due is None or update.end is None:
                break
            free = max(free, update.due) + taken
            instants.append(free)
        yield segment, updates, instants if len(instants) == len(updates) else []


def _heard(update: Update) -> float:
    """Return when the newest word was heard in the recorded run; at full speed, when it was spoken."""
    return update.captured if update.captured is not None else update.end or 0.0


class _Viewer:
    """The captions of one method's updates as a live run's presenter makes them."""

    def __init__(self, mask_k: int, *, spaced: bool) -> None:
        mask = MaskSettings("display" if mask_k else "none", mask_k)
        self._presenter = Presenter(self._render, mask, spaced=spaced)
        self._update: Update | None = None

    def caption(self, segment: Segment, update: Update) -> Caption:
        self._update = update
        moments = segment.start or 0.0, update.end or 0.0, _heard(update)
        identity = segment.segment_id, update.update
        transcript = Transcript(*identity, update.source, "", update.final, *moments, ended=update.ended)
        return self._presenter.present(Translation(transcript, update.text, update.tokens, update.stats))

    def _render(self, tokens: Sequence[int]) -> str:
        """Return the text of the output's first tokens: the run file says where each ends."""
        assert self._update is not None
        return self._update.without_last(len(self._update.tokens) - len(tokens))


def measure_screen(units: MethodUnits, seconds: Sequence[Seconds], mask_k: int, *, spaced: bool) -> Screen:
    """Return what a viewer sees of one method; a stream's segments are one screen.

    `seconds` has what each update took in each repeat; the captions are the same in all.
    """
    screens: dict[str | int, tuple[ScreenErasure, ScreenErasure]] = {}
    erased = NormalizedErasure()
    viewer, unmasked = _Viewer(mask_k, spaced=spaced), _Viewer(0, spaced=spaced)
    captions: dict[int, list[Caption]] = {}
    meanwhile, reflow = Meanwhile(), Reflow()
    for segment, updates in units:
        shown, raw = screens.setdefault(segment.stream or segment.segment_id, (ScreenErasure(), ScreenErasure()))
        captions[segment.segment_id] = [viewer.caption(segment, update) for update in updates]
        for caption, update in zip(captions[segment.segment_id], updates, strict=True):
            shown.add(caption)
            reflow.add(caption)
            raw.add(unmasked.caption(segment, update))
            erased.add(segment.segment_id, caption.tokens, final=update.final)
        for caption, update, after in zip(captions[segment.segment_id], updates, updates[1:], strict=False):
            # Texts are revealed in equal steps, streams have times.
            stood = 1.0 if update.end is None or after.end is None else max(after.end - update.end, 0.0)
            heard = len(update.source) / len(updates[-1].source) if updates[-1].source else 1.0
            meanwhile.add(caption.text, segment.reference or "", heard, stood if segment.reference else 0.0)

    def stability(taken: Seconds) -> float | None:
        stable = TimeToStability()
        waits = [
            wait
            for segment, _, instants in _timed(units, taken)
            for caption, instant in zip(captions[segment.segment_id] if instants else (), instants, strict=True)
            for wait in stable.add(caption, instant)
        ]
        return statistics.median(waits) if waits else None

    return Screen(
        erasure=_of_screens(shown for shown, _ in screens.values()),
        raw_erasure=_of_screens(raw for _, raw in screens.values()),
        segment_erasure=erased.ratio_of_sums,
        hidden_tokens=fmean(caption.masked_tokens for shown in captions.values() for caption in shown),
        stability=spread_of(map(stability, seconds)),
        meanwhile=meanwhile,
        reflow=reflow.ratio,
    )


def _of_screens(screens: Iterable[ScreenErasure]) -> float | None:
    erased, units = map(sum, zip(*((screen.erased_units, screen.units) for screen in screens), strict=True))
    return erased / units if units else None
