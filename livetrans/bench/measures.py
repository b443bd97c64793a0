"""What figures are computed from: the units of a run by method, their sums, and the captions that a viewer saw.

Nothing is translated again, and the same file gives the same figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from livetrans.base.errors import UsageError
from livetrans.base.languages import parse_language
from livetrans.base.text import join_text, unknown
from livetrans.bench.run import BASELINE, Method, parse_method
from livetrans.bench.runfile import RunFile, Segment, Update
from livetrans.events import Caption, DecodingStats, Transcript, Translation
from livetrans.metrics import quality
from livetrans.metrics.captions import CaptionMeasures, DecodingRates, NormalizedErasure, ratio
from livetrans.metrics.latency import Spread, average_lagging, length_adaptive_average_lagging, spread_of, stable_delays
from livetrans.metrics.quality import Interval, Score
from livetrans.translation.presenter import Presenter

MethodUnits = Sequence[tuple[Segment, Sequence[Update]]]
"""The units of one method in one repeat, in the order of the corpus."""
Seconds = Mapping[int, Sequence[float]]
"""Duration of each update in one repeat, by segment."""

MODEL_UNIT = "model"
"""Erasure in the translator's own tokens."""


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    unit: str | None = None
    """A name in `livetrans.metrics.quality.UNITS`, or `model`; None takes the language's own."""
    display_masks: tuple[int, ...] = ()
    """k of the display-only masks whose rows are added."""
    comet: Path | None = None
    shown_mask_k: int | None = None
    """k of the mask under which the screen is measured; None takes the run's."""


class MeasuredRun:
    """A run, the segments that all methods did, and a row for each method."""

    def __init__(self, file: RunFile, settings: MeasureSettings, among: Collection[int] | None = None) -> None:
        """Find what can be measured; `among` are the segments to choose from, all without it.

        Raises:
            UsageError: no such unit, or not one segment was done by all methods.
            ModelError: the unit is not on this machine.
        """
        header = file.header
        if settings.unit not in (None, MODEL_UNIT, *quality.UNITS):
            raise UsageError(unknown("unit", settings.unit, (MODEL_UNIT, *quality.UNITS)))
        self.file = file
        self.settings = settings
        own_mask_k = 0 if header.mask.mode == "none" else header.mask.k
        self.shown_mask_k = own_mask_k if settings.shown_mask_k is None else settings.shown_mask_k
        self.has_own_mask = self.shown_mask_k == own_mask_k
        self.language = parse_language(header.corpus.target_language)
        self.unit = settings.unit or quality.default_unit(header.corpus.target_language)
        self.tokenize = lru_cache(1000)(quality.tokenizer(self.unit)) if self.unit != MODEL_UNIT else None
        labels = header.methods
        done = [
            [
                one
                for one in file.segments
                if (among is None or one.segment_id in among)
                and all((repeat, one.segment_id, label) in file.units for label in labels)
            ]
            for repeat in range(header.repeats)
        ]
        self.repeats = [segments for segments in done if segments]
        """The segments that every method did, a list for each repeat that has any."""
        if not self.repeats:
            raise UsageError(
                f"{file.path} has no segment that all methods have translated; continue it with `livetrans bench run`"
            )
        self.segments = self.repeats[0]
        self.scores = lru_cache(maxsize=None)(self._scores)
        self.methods = {label: MeasuredMethod(self, label) for label in labels}
        self.rows = [
            row
            for method in self.methods.values()
            for row in (Row(method), *(Row(method, k) for k in method.display_masks))
        ]

    @property
    def baseline(self) -> MeasuredMethod:
        return self.methods[BASELINE]

    def row(self, label: str) -> Row | None:
        return next((row for row in self.rows if row.label == label), None)

    def units(self, label: str, repeat: int) -> MethodUnits:
        return [(one, self.file.units[repeat, one.segment_id, label]) for one in self.repeats[repeat]]

    def _scores(self, finals: tuple[str, ...]) -> dict[str, Score]:
        """Return BLEU, chrF and COMET of a set of finals, by name; methods often write the same."""
        scored = list(self.with_references(finals))
        if not scored:
            return {}
        sources, hypotheses, references = (list(column) for column in zip(*scored, strict=True))
        scores = {
            "BLEU": quality.bleu(hypotheses, references, self.file.header.corpus.target_language),
            "chrF": quality.chrf(hypotheses, references),
        }
        if self.settings.comet is not None:
            scores["COMET"] = quality.comet(sources, hypotheses, references, self.settings.comet)
        return scores

    def with_references(self, finals: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Yield source, final and reference of each segment that has one, and of each whole stream that has one."""
        missing = Counter(segment.stream for segment in self.file.segments)
        source = hypothesis = ""
        stream = None
        for segment, final in zip(self.segments, finals, strict=True):
            missing[segment.stream] -= 1
            if segment.reference is not None:
                yield segment.source, final, segment.reference
            if segment.stream != stream:
                stream, source, hypothesis = segment.stream, "", ""
            source, hypothesis = join_text(source, segment.source), join_text(hypothesis, final)
            if segment.stream_reference is not None and not missing[segment.stream]:
                yield source, hypothesis, segment.stream_reference

    def shown(self, update: Update, hidden: int = 0) -> Sequence[Hashable]:
        """Return the output of an update in the run's unit, without the last `hidden` tokens of a partial."""
        hidden = 0 if update.final else hidden
        if self.tokenize is None:
            return update.tokens[: max(len(update.tokens) - hidden, 0)]
        return self.tokenize(update.without_last(hidden))


class Repeat:
    """Sums over the updates of a method in one repeat, and the time of each."""

    def __init__(self, units: MethodUnits, first: MethodUnits) -> None:
        """`first` are the units of the first repeat."""
        stats = [update.stats for _, updates in units for update in updates]
        self.stats = sum(stats, DecodingStats())
        self.rates = DecodingRates()
        self.rates.add(self.stats)
        self.updates = len(stats)
        self.seconds = {segment.segment_id: [update.update_seconds for update in updates] for segment, updates in units}
        """Duration of each update, by segment."""
        self.ends = sum(bool(one.forward_passes) and not (one.truncated or one.stopped) for one in stats)
        """Outputs that the model ended."""
        outputs = {segment.segment_id: [update.tokens for update in updates] for segment, updates in first}
        self.changed = sum(
            update.tokens != tokens
            for segment, updates in units
            for update, tokens in zip(updates, outputs.get(segment.segment_id, ()), strict=False)
        )
        """Outputs that differ from those of the first repeat."""
        # The paper evaluates the prompt in a pass of its own and does not count it. Here, prompt and draft share one.
        prompt_seconds = sum(one.verification_seconds * _prompt_share(one) for one in stats)
        self.tokens_per_second_of_drafts = ratio(
            self.stats.output_tokens, self.stats.generation_seconds - prompt_seconds
        )
        """TPS without the prompts' share of the verification passes, by tokens."""

    @property
    def update_seconds(self) -> float:
        return sum(map(sum, self.seconds.values())) / self.updates


class MeasuredMethod:
    """One method of a run: counts are of the first repeat, times of all."""

    def __init__(self, run: MeasuredRun, label: str) -> None:
        self.run = run
        self.label = label
        self.method: Method = parse_method(label)
        self.decoder, self.bias = self.method.decoder, self.method.bias
        self.output_mask_k = self.method.mask_k
        self.stops_early = self.method.stops_early(run.file.header)

    @property
    def display_masks(self) -> tuple[int, ...]:
        """k of the display-only masks that hide more of what it wrote: of whole outputs that another mask leaves."""
        return () if self.output_mask_k or self.stops_early else self.run.settings.display_masks

    @property
    def units(self) -> MethodUnits:
        """The units of the first repeat."""
        return self.run.units(self.label, 0)

    @cached_property
    def finals(self) -> tuple[str, ...]:
        return tuple(updates[-1].text for _, updates in self.units)

    @cached_property
    def repeats(self) -> list[Repeat]:
        return [Repeat(self.run.units(self.label, repeat), self.units) for repeat in range(len(self.run.repeats))]

    @property
    def counts(self) -> Repeat:
        """The first repeat."""
        return self.repeats[0]

    @property
    def written_tokens(self) -> int:
        """Tokens that were decoded or proposed, ends included: the output without what was kept of the previous one."""
        sums = self.counts.stats
        return sums.output_tokens - sums.accepted_tokens + self.counts.ends

    @property
    def has_proposals(self) -> bool:
        return self.counts.stats.proposed_tokens > 0

    def spread(self, figure: Callable[[Repeat], float | None], scale: float = 1.0) -> Spread | None:
        return spread_of(scaled(scale, figure(repeat)) for repeat in self.repeats)

    def against_baseline(self, figure: Callable[[Repeat], float | None], *, inverse: bool = False) -> Spread | None:
        """Return the figure / that of `rt`, or the inverse, within each repeat because the machine drifts."""
        pairs = [(figure(one), figure(base)) for one, base in zip(self.repeats, self.run.baseline.repeats, strict=True)]
        return spread_of(ratio(base, one) if inverse else ratio(one, base) for one, base in pairs)

    def score(self, metric: str) -> float | None:
        """Return the quality of the finals; None without a reference, or without a model for COMET."""
        score = self.run.scores(self.finals).get(metric)
        return score.value if score else None

    def difference(self, metric: str) -> Interval | None:
        """Return the difference of the finals' quality to `rt`'s; None for `rt` itself, and for one text alone."""
        base = self.run.scores(self.run.baseline.finals).get(metric)
        if base is None or self.label == BASELINE or len(list(self.run.with_references(self.finals))) < 2:
            return None
        return self.run.scores(self.finals)[metric].less(base)

    @cached_property
    def partials(self) -> Interval | None:
        """chrF of what partials show against what `rt` shows of the same updates; an interval takes two segments.

        Outputs are not compared: a partial that was stopped early lacks only what would be hidden.
        """
        if self.label == BASELINE:
            return None
        base, own = (
            {(one.segment.segment_id, one.update.update): one for stream in method.streams for one in stream}
            for method in (self.run.baseline, self)
        )
        shown = [
            (segment, seen.caption.text, base[segment, update].caption.text)
            for (segment, update), seen in own.items()
            if not seen.update.final
        ]
        pairs = [(segment, text, reference) for segment, text, reference in shown if text or reference]
        if len({segment for segment, _, _ in pairs}) < 2:
            return None
        segments, texts, references = (list(column) for column in zip(*pairs, strict=True))
        return quality.chrf(texts, references, segments).interval

    def erasure(self, k: int) -> NormalizedErasure:
        """Return the erasure of what is shown: the last k tokens of every partial are hidden, finals are whole."""
        erased = NormalizedErasure()
        for segment, updates in self.units:
            for update in updates:
                erased.add(segment.segment_id, self.run.shown(update, k), final=update.final)
        return erased

    @cached_property
    def streams(self) -> list[list[SeenUpdate]]:
        """The captions of each stream under the mask, the same in every repeat; none if partials stopped at another."""
        if self.stops_early and not self.run.has_own_mask:
            return []
        mask_k = self.output_mask_k or self.run.shown_mask_k
        return shown_captions(self.units, mask_k, self.run.language.code)

    @cached_property
    def measures(self) -> list[CaptionMeasures]:
        return [measure_captions(self.streams, repeat.seconds) for repeat in self.repeats]

    @cached_property
    def lagging(self) -> list[Lagging]:
        """The lagging in each repeat, all with the outputs of the first."""

        def reference_length(segment: Segment) -> int | None:
            tokenize = self.run.tokenize
            return len(tokenize(segment.reference)) if tokenize is not None and segment.reference else None

        return [
            measure_lagging(self.streams, repeat.seconds, self.run.shown, reference_length) for repeat in self.repeats
        ]

    @cached_property
    def meanwhile(self) -> float | None:
        """How right captions are before the finals, of segments that have a reference."""
        return measure_meanwhile(self.streams)


@dataclass(frozen=True)
class Row:
    """A method as a table shows it, maybe under a display-only mask, which changes nothing but its erasure."""

    method: MeasuredMethod
    display_k: int = 0

    @property
    def label(self) -> str:
        """`rt`, `ssbd@0.2`, `ssbd@0.2:mask=3` (output mask), `ssbd@0.2:display=3` (display-only mask)."""
        return f"{self.method.label}:display={self.display_k}" if self.display_k else self.method.label

    @property
    def mask(self) -> str:
        return "display" if self.display_k else "output" if self.method.output_mask_k else "none"

    @property
    def mask_k(self) -> int:
        return self.display_k or self.method.output_mask_k

    @cached_property
    def erasure(self) -> NormalizedErasure:
        return self.method.erasure(self.mask_k)


def scaled(scale: float, value: float | None) -> float | None:
    return None if value is None else value * scale


def _prompt_share(stats: DecodingStats) -> float:
    """Return the share of prompt tokens in a verification pass (0 to 1; 0 if the prompt was evaluated earlier)."""
    new = max(stats.prompt_tokens - stats.reused_tokens, 0)
    verified = stats.draft_tokens - stats.frozen_tokens
    return new / (new + verified) if stats.draft_tokens and not stats.frozen_tokens else 0.0


class SeenUpdate(NamedTuple):
    """An update of a method and the caption that a viewer saw of it."""

    segment: Segment
    update: Update
    caption: Caption


def shown_captions(units: MethodUnits, mask_k: int, language: str) -> list[list[SeenUpdate]]:
    """Return the captions of each stream in the order in which a viewer saw them.

    Updates of neighbouring segments interleave where one begins before the other is final. A sentence of a text is a
    stream by itself.
    """
    shown: Update | None = None

    def render(tokens: Sequence[int]) -> str:
        assert shown is not None
        return shown.without_last(len(shown.tokens) - len(tokens))

    presenter = Presenter(render)
    streams = []
    for _, units_of_stream in groupby(units, key=lambda unit: unit[0].stream or unit[0].segment_id):
        updates = [(segment, update) for segment, updates in units_of_stream for update in updates]
        stream = []
        for segment, shown in sorted(updates, key=lambda pair: pair[1].order):
            identity, moments = (segment.segment_id, shown.update), (segment.start or 0.0, shown.end or 0.0)
            transcript = Transcript(
                *identity, shown.source, "", shown.final, *moments, shown.captured, ended=shown.ended
            )
            hidden = shown.hidden_tokens
            if hidden is None:
                hidden = 0 if shown.final or shown.ended else min(mask_k, len(shown.tokens))
            translation = Translation(
                transcript, shown.text, shown.tokens, shown.stats, language=language, hidden_tokens=hidden
            )
            caption = presenter.present(translation)
            stream.append(SeenUpdate(segment, shown, caption))
        streams.append(stream)
    return streams


def _timed(stream: Sequence[SeenUpdate], seconds: Seconds) -> Iterator[tuple[SeenUpdate, float]]:
    """Yield the captions of a stream, each with the time at which it was shown, in seconds of the recorded run.

    An update is translated as soon as it has come and the one before it in the stream is done, and takes what it took
    in the repeat. Nothing is coalesced. Segments that the repeat lacks are left out.
    """
    free = 0.0
    for shown in stream:
        if shown.segment.segment_id in seconds:
            free = max(free, shown.update.due or 0.0) + seconds[shown.segment.segment_id][shown.update.update]
            yield shown, free


def measure_captions(streams: Sequence[Sequence[SeenUpdate]], seconds: Seconds) -> CaptionMeasures:
    """Return the measures of a method's captions in the repeat whose updates took `seconds`, all streams together."""
    measures = CaptionMeasures()
    for stream in streams:
        for shown, at in _timed(stream, seconds):
            measures.add_caption(shown.caption, at)
    return measures


class Lagging(NamedTuple):
    """AL and LAAL in seconds, means over segments; None where the corpus has no times."""

    al: float | None = None
    """As if recognising and translating took no time, like `laal`."""
    laal: float | None = None
    al_aware: float | None = None
    """Counts the time of recognising and translating, like `laal_aware`."""
    laal_aware: float | None = None


def measure_lagging(
    streams: Sequence[Sequence[SeenUpdate]],
    seconds: Seconds,
    output: Callable[[Update], Sequence[Hashable]],
    reference_length: Callable[[Segment], int | None],
) -> Lagging:
    """Return the lagging of a method in the repeat whose updates took `seconds`; `output` is in the table's unit.

    A segment without a reference of its own takes the length of its final, which makes its AL its LAAL. Streams that
    were recorded at full speed have no time of the recogniser.
    """
    updates: dict[int, list[tuple[SeenUpdate, float]]] = {}
    for stream in streams:
        for shown, at in _timed(stream, seconds):
            updates.setdefault(shown.segment.segment_id, []).append((shown, at))
    figures: list[tuple[float, ...]] = []
    for timed in updates.values():
        segment = timed[-1][0].segment
        if segment.start is None or any(shown.update.end is None for shown, _ in timed):
            continue
        ends = [shown.update.end or 0.0 for shown, _ in timed]
        # On the axis of source time: what was heard at `end` was heard at `captured` of the recorded run.
        finished = [
            end + at - (end if shown.update.captured is None else shown.update.captured)
            for (shown, at), end in zip(timed, ends, strict=True)
        ]
        outputs = [output(shown.update) for shown, _ in timed]
        length = ends[-1] - segment.start
        if outputs[-1] and length > 0:
            lagging = []
            for moments in (ends, finished):
                delays = stable_delays([moment - segment.start for moment in moments], outputs)
                reference = reference_length(segment) or len(delays)
                lagging.append(average_lagging(delays, length, reference))
                lagging.append(length_adaptive_average_lagging(delays, length, reference))
            figures.append(tuple(lagging))
    return Lagging(*map(fmean, zip(*figures, strict=True)))


GRAM = 4
"""Characters of an n-gram: about a short word, or a word and its particle in a script without spaces."""


def _grams(text: str) -> Counter[str]:
    letters = "".join(text.split())
    return Counter(letters[at : at + GRAM] for at in range(len(letters) - GRAM + 1))


def meanwhile_score(captions: Iterable[tuple[str, str, float, float]]) -> float | None:
    """Return how right captions are before their finals, 0 to 1: our own measure. None if nothing was due.

    Each caption comes with its reference, the share of its source that was heard, and how long it was shown. Texts are
    compared by character n-grams without spaces, so a phrase that stands elsewhere in the reference is right all the
    same. As many of the reference as the share that was heard are *due*, and any that are right before that. The
    score is right n-grams / the mean of shown and due ones, over time, which rewards neither waiting nor guessing.

    chrF of partials against re-translation's takes what the model writes for half a sentence for the truth, although
    the verb may come last.
    """
    right = total = 0.0
    for caption, reference, heard, seconds in captions:
        grams, wanted = _grams(caption), _grams(reference)
        both = (grams & wanted).total()
        right += seconds * both
        total += seconds * (grams.total() + max(min(heard, 1.0) * wanted.total(), both))
    return 2 * right / total if total else None


def measure_meanwhile(streams: Sequence[Sequence[SeenUpdate]]) -> float | None:
    """Return the `meanwhile_score` of a method, over segments that have a reference.

    A caption is shown until the next one of its segment. Recorded streams have times; texts have equal steps.
    """
    updates: dict[int, list[SeenUpdate]] = {}
    for shown in (shown for stream in streams for shown in stream if shown.segment.reference):
        updates.setdefault(shown.segment.segment_id, []).append(shown)

    def growing() -> Iterator[tuple[str, str, float, float]]:
        for captions in updates.values():
            source = captions[-1].update.source
            for (segment, update, caption), (_, after, _) in pairwise(captions):
                stood = 1.0 if update.end is None or after.end is None else max(after.end - update.end, 0.0)
                heard = len(update.source) / len(source) if source else 1.0
                yield caption.text, segment.reference or "", heard, stood

    return meanwhile_score(growing())
