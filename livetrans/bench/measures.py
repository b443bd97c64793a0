"""What figures are computed from: the units of a run by method, read when they are needed and kept as sums.

Nothing is translated again, and the same file gives the same figures. Of the updates themselves only those of a method
or two are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path

from livetrans.bench.methods import BASELINE, Method
from livetrans.bench.runfile import RunFile, Segment, Update
from livetrans.bench.viewer import Latency, MethodUnits, Screen, measure_latency, measure_screen
from livetrans.errors import UsageError
from livetrans.languages import parse_language
from livetrans.metrics import quality
from livetrans.metrics.latency import Spread, spread_of
from livetrans.metrics.quality import Interval, Score
from livetrans.metrics.rates import DecodingRates, NormalizedErasure
from livetrans.stats import DecodingStats
from livetrans.text import join_text, unknown

MODEL_UNIT = "model"
"""Erasure in the translator's own tokens."""


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    unit: str | None = None
    """A name in `livetrans.metrics.quality.UNITS`, or `model`; None takes the language's own."""
    display_masks: tuple[int, ...] = ()
    """k of the display-only masks whose rows are added."""
    comet: Path | None = None
    shown_mask_k: int = 3
    """k of the mask under which the screen is measured; 0 for none."""


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
        self.language = parse_language(header.corpus.target_language)
        self.unit = settings.unit or quality.default_unit(header.corpus.target_language)
        self.tokenize = lru_cache(1000)(quality.tokenizer(self.unit)) if self.unit != MODEL_UNIT else None
        labels = [method.label for method in header.methods]
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
                f"{file.path} has no segment yet that every method did; continue it with `livetrans bench run`"
            )
        self.segments = self.repeats[0]
        self.scores = lru_cache(maxsize=None)(self._scores)
        self.units = lru_cache(maxsize=2)(self._units)
        self.methods = {method.label: MeasuredMethod(self, method) for method in header.methods}
        self.rows = [
            row
            for method in self.methods.values()
            for row in (Row(method), *(Row(method, k) for k in settings.display_masks if not method.output_mask_k))
        ]

    @property
    def baseline(self) -> MeasuredMethod:
        return self.methods[BASELINE]

    def row(self, label: str) -> Row | None:
        return next((row for row in self.rows if row.label == label), None)

    def _units(self, label: str, repeat: int) -> MethodUnits:
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
        source = hypothesis = ""
        stream = None
        for segment, final in zip(self.segments, finals, strict=True):
            if segment.reference is not None:
                yield segment.source, final, segment.reference
            if segment.stream != stream:
                stream, source, hypothesis = segment.stream, "", ""
            source, hypothesis = join_text(source, segment.source), join_text(hypothesis, final)
            if segment.stream_reference is not None:
                yield source, hypothesis, segment.stream_reference

    def shown(self, update: Update, hidden: int = 0) -> Sequence[Hashable]:
        """Return the output of an update in the run's unit, without the last `hidden` tokens of a partial."""
        hidden = 0 if update.final else hidden
        if self.tokenize is None:
            return update.tokens[: max(len(update.tokens) - hidden, 0)]
        return self.tokenize(update.without_last(hidden))


@dataclass(frozen=True, slots=True)
class Repeat:
    """Sums over the updates of a method in one repeat, and the time of each."""

    stats: DecodingStats
    updates: int
    seconds: dict[int, tuple[float, ...]]
    """Of each update, by segment."""
    prompt_seconds: float
    """The prompts' share, by tokens, of the verifying passes: the paper evaluates the prompt in a pass of its own and
    does not count it; here prompt and draft are in one pass."""
    changed: int
    """Outputs that are not those of the first repeat."""

    @property
    def update_seconds(self) -> float:
        return sum(map(sum, self.seconds.values())) / self.updates

    @property
    def tokens_per_second(self) -> float | None:
        """TPS as the paper counts it, of verification and decoding (A.1)."""
        return ratio(self.stats.output_tokens, self.stats.generation_seconds)

    @property
    def tokens_per_second_of_drafts(self) -> float | None:
        return ratio(self.stats.output_tokens, self.stats.generation_seconds - self.prompt_seconds)


class MeasuredMethod:
    """One method of a run: counts are of the first repeat, times of all."""

    def __init__(self, run: MeasuredRun, method: Method) -> None:
        self.run = run
        self.method = method
        self.label, self.decoder, self.bias = method.label, method.decoder, method.bias
        self.output_mask_k = method.output_mask_k

    @property
    def units(self) -> MethodUnits:
        """The units of the first repeat."""
        return self.run.units(self.label, 0)

    @cached_property
    def finals(self) -> tuple[str, ...]:
        return tuple(updates[-1].text for _, updates in self.units)

    @cached_property
    def repeats(self) -> list[Repeat]:
        return [_summed(self.units, self.run.units(self.label, repeat)) for repeat in range(len(self.run.repeats))]

    @property
    def sums(self) -> DecodingStats:
        return self.repeats[0].stats

    @property
    def updates(self) -> int:
        return self.repeats[0].updates

    @property
    def acceptance(self) -> DecodingRates:
        acceptance = DecodingRates()
        acceptance.add(self.sums)
        return acceptance

    @property
    def written_tokens(self) -> int:
        """Tokens that were decoded or proposed, ends included: the output less what was kept of the one before."""
        return self.sums.output_tokens - self.sums.accepted_tokens + self.updates - self.sums.truncated

    @property
    def drafted(self) -> bool:
        """Whether a draft model proposed anything."""
        return self.sums.proposed_tokens > 0

    def spread(self, figure: Callable[[Repeat], float | None], scale: float = 1.0) -> Spread | None:
        """Return a figure's spread over the repeats."""
        return spread_of(times(scale, figure(repeat)) for repeat in self.repeats)

    def ratio(self, figure: Callable[[Repeat], float | None], *, inverse: bool = False) -> Spread | None:
        """Return the figure / that of `rt`, or the inverse, within each repeat, because the machine drifts."""
        pairs = [(figure(one), figure(base)) for one, base in zip(self.repeats, self.run.baseline.repeats, strict=True)]
        return spread_of(ratio(base, one) if inverse else ratio(one, base) for one, base in pairs)

    def score(self, metric: str) -> float | None:
        """Return the quality of the finals; None without a reference, or without a model for COMET."""
        score = self.run.scores(self.finals).get(metric)
        return score.value if score else None

    def difference(self, metric: str) -> Interval | None:
        """Return the quality of the finals less that of `rt`; None of `rt` itself, and of one text alone."""
        base = self.run.scores(self.run.baseline.finals).get(metric)
        if base is None or self.label == BASELINE or len(list(self.run.with_references(self.finals))) < 2:
            return None
        return self.run.scores(self.finals)[metric].less(base)

    @cached_property
    def partials(self) -> Interval | None:
        """chrF of partials against what `rt` wrote for the same prefix; an interval takes two segments."""
        if self.label == BASELINE:
            return None
        pairs = [
            (segment.segment_id, one.text, other.text)
            for (segment, updates), (_, base) in zip(self.units, self.run.baseline.units, strict=True)
            for one, other in zip(updates[:-1], base, strict=False)
        ]
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
    def latencies(self) -> list[Latency]:
        """The latency of each repeat, all with the outputs of the first."""

        def reference_length(segment: Segment) -> int | None:
            tokenize = self.run.tokenize
            return len(tokenize(segment.reference)) if tokenize is not None and segment.reference else None

        return [
            measure_latency(self.units, repeat.seconds, self.run.shown, reference_length) for repeat in self.repeats
        ]

    @cached_property
    def screen(self) -> Screen:
        mask_k = self.output_mask_k or self.run.settings.shown_mask_k
        return measure_screen(
            self.units, [one.seconds for one in self.repeats], mask_k, spaced=self.run.language.spaced
        )


@dataclass(frozen=True)
class Row:
    """A method as a table shows it, maybe under a display-only mask, which changes nothing but its erasure."""

    of: MeasuredMethod
    display_k: int = 0

    @property
    def label(self) -> str:
        """`rt`, `ssbd@0.2`, `ssbd@0.2+mask3` (output mask), `ssbd@0.2+display3` (display-only mask)."""
        return f"{self.of.label}+display{self.display_k}" if self.display_k else self.of.label

    @property
    def mask(self) -> str:
        return "display" if self.display_k else "output" if self.of.output_mask_k else "none"

    @property
    def mask_k(self) -> int:
        return self.display_k or self.of.output_mask_k

    @cached_property
    def erasure(self) -> NormalizedErasure:
        return self.of.erasure(self.mask_k)


def ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def times(scale: float, value: float | None) -> float | None:
    return None if value is None else value * scale


def _summed(first: MethodUnits, units: MethodUnits) -> Repeat:
    stats = [update.stats for _, updates in units for update in updates]
    total = DecodingStats(
        **{field.name: sum(getattr(one, field.name) for one in stats) for field in fields(DecodingStats)}
    )
    outputs = {segment.segment_id: [update.tokens for update in updates] for segment, updates in first}
    return Repeat(
        stats=total,
        updates=len(stats),
        seconds={segment.segment_id: tuple(update.update_seconds for update in updates) for segment, updates in units},
        prompt_seconds=sum(one.verification_seconds * _prompt_share(one) for one in stats),
        changed=sum(
            update.tokens != tokens
            for segment, updates in units
            for update, tokens in zip(updates, outputs.get(segment.segment_id, ()), strict=False)
        ),
    )


def _prompt_share(stats: DecodingStats) -> float:
    """Return the prompt's part of the tokens in a verifying pass, 0..1; 0 where it was evaluated before the pass."""
    new = max(stats.prompt_tokens - stats.reused_tokens, 0)
    verified = stats.draft_tokens - stats.frozen_tokens
    return new / (new + verified) if stats.draft_tokens and not stats.frozen_tokens else 0.0


def of_segments(run: MeasuredRun, segments: Collection[int]) -> MeasuredRun:
    """Return the run measured on some of its segments alone; COMET is not computed again."""
    return MeasuredRun(run.file, replace(run.settings, unit=run.unit, comet=None, display_masks=()), segments)
