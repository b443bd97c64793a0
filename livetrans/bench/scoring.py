"""From the lines of a run file to figures: nothing is translated again, and the same file gives the same figures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean

from livetrans.bench.labels import origin_of
from livetrans.bench.methods import BASELINE
from livetrans.bench.rows import Quality, TableRow, measure_drafting, measure_speed
from livetrans.bench.runfile import MethodRecord, Run, Segment, Update
from livetrans.bench.viewing import Latency, Units, measure_latency, measure_screen
from livetrans.errors import UsageError
from livetrans.languages import parse_language
from livetrans.metrics import quality
from livetrans.metrics.quality import Interval, Score
from livetrans.metrics.rates import Acceptance, NormalizedErasure
from livetrans.text import join_text, unknown

MODEL_UNIT = "model"
"""Erasure in the translator's own tokens."""


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    unit: str | None = None
    """A name in `livetrans.metrics.quality.UNITS`, or `model`; None takes the language's own."""
    display_masks: tuple[int, ...] = ()
    """k of the display-only masks whose rows are added."""
    comet: Path | None = None
    shown_mask_k: int = 3
    """k of the mask under which the screen is measured; 0 for none."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    run: Run
    rows: tuple[TableRow, ...]
    """In the order of the method table, behind each plain method its display-only masks."""
    unit: str
    segments: tuple[Segment, ...]
    """Those that every method did."""
    signatures: tuple[str, ...]
    """Of the quality metrics."""
    notes: tuple[str, ...]
    """What a reader must know: parts that are missing, figures that could not be computed."""

    def row(self, label: str) -> TableRow | None:
        return next((row for row in self.rows if row.method == label), None)


@dataclass(slots=True)
class _Scorer:
    """BLEU, chrF and COMET of sets of finals, each set scored once: methods often write the same."""

    run: Run
    segments: Sequence[Segment]
    comet: Path | None
    baseline: Sequence[str]
    """The finals of `rt`."""
    signatures: dict[str, None] = field(default_factory=dict)
    _known: dict[tuple[str, ...], dict[str, Score]] = field(default_factory=dict)

    def quality(self, finals: Sequence[str], *, compared: bool) -> Quality:
        """Quality of a set of finals, compared with the baseline's or not; one text alone has no interval."""
        own, base = self._scores(finals), self._scores(self.baseline)
        figures: dict[str, float | Interval] = {name: score.value for name, score in own.items()}
        if compared and len(list(_with_references(self.segments, finals))) > 1:
            figures |= {f"{name}_difference": score.less(base[name]) for name, score in own.items()}
        return Quality(**figures)  # type: ignore[arg-type]

    def _scores(self, finals: Sequence[str]) -> dict[str, Score]:
        key = tuple(finals)
        if key not in self._known:
            self._known[key] = self._score(finals)
        return self._known[key]

    def _score(self, finals: Sequence[str]) -> dict[str, Score]:
        scored = list(_with_references(self.segments, finals))
        if not scored:
            return {}
        sources, hypotheses, references = (list(column) for column in zip(*scored, strict=True))
        scores = {
            "bleu": quality.bleu(hypotheses, references, self.run.header.corpus.target_language),
            "chrf": quality.chrf(hypotheses, references),
        }
        if self.comet is not None:
            scores["comet"] = quality.comet(sources, hypotheses, references, self.comet)
        self.signatures.update(dict.fromkeys(score.signature for score in scores.values()))
        return scores


def score(run: Run, settings: ScoringSettings) -> ScoredRun:
    """Every method's figures over the segments that all methods did.

    Raises:
        UsageError: not one segment was done by all methods.
        ModelError: the unit or COMET is not on this machine.
    """
    if settings.unit not in (None, MODEL_UNIT, *quality.UNITS):
        raise UsageError(unknown("unit", settings.unit, (MODEL_UNIT, *quality.UNITS)))
    unit = settings.unit or quality.default_unit(run.header.corpus.target_language)
    tokenize = cache(quality.tokenizer(unit)) if unit != MODEL_UNIT else None
    repeats = [done for done in _by_repeat(run) if done]
    if not repeats:
        raise UsageError(f"{run.path} has no segment yet that every method did; continue it with `livetrans bench run`")
    done = set(repeats[0])
    segments = [segment for segment in run.segments if segment.segment_id in done]
    baseline = [update.text for update in _updates(repeats[0], BASELINE) if update.final]
    scorer = _Scorer(run, segments, settings.comet, baseline)
    rows: list[TableRow] = []
    for method in run.header.methods:
        row = _row(run, method, segments, repeats, unit, tokenize, scorer, settings.shown_mask_k)
        rows.append(row)
        if not method.output_mask_k:
            rows += (_masked(row, k, segments, repeats, tokenize) for k in settings.display_masks)
    notes = tuple(_notes(run, segments, repeats))
    return ScoredRun(run, tuple(rows), unit, tuple(segments), tuple(scorer.signatures), notes)


_Done = dict[int, dict[str, list[Update]]]
"""Of one repeat: segment, method, its updates; only segments that every method did."""


def _by_repeat(run: Run) -> list[_Done]:
    repeats: list[_Done] = [{} for _ in range(run.header.repeats)]
    for update in run.updates:
        repeats[update.repeat].setdefault(update.segment_id, {}).setdefault(update.method, []).append(update)
    methods = len(run.header.methods)
    return [
        {segment: by_method for segment, by_method in sorted(done.items()) if len(by_method) == methods}
        for done in repeats
    ]


def _row(
    run: Run,
    method: MethodRecord,
    segments: Sequence[Segment],
    repeats: Sequence[_Done],
    unit: str,
    tokenize: Callable[[str], list[str]] | None,
    scorer: _Scorer,
    shown_mask_k: int,
) -> TableRow:
    acceptance = Acceptance()
    own = _updates(repeats[0], method.label)
    for update in own:
        acceptance.add(update.stats)
    erased = _erasure(own, method.output_mask_k, tokenize)
    finals = [update.text for update in own if update.final]
    units = [_units(segments, done, method.label) for done in repeats]
    corpus, spaced = run.header.corpus, parse_language(run.header.corpus.target_language).spaced
    return TableRow(
        origin=origin_of(run),
        model=run.model_name,
        pair=f"{corpus.source_language}-{corpus.target_language}",
        corpus=corpus.name,
        method=method.label,
        decoder=method.decoder,
        bias=method.bias,
        mask="output" if method.output_mask_k else "none",
        mask_k=method.output_mask_k,
        updates=len(own),
        output_tokens=acceptance.output_tokens,
        quality=scorer.quality(finals, compared=method.label != BASELINE),
        ne_mean=erased.mean_per_utterance,
        ne_ratio=erased.ratio_of_sums,
        ne_unit=unit,
        accepted_per_draft=acceptance.per_draft,
        accepted_per_output=acceptance.per_output,
        speed=measure_speed([(_updates(done, method.label), _updates(done, BASELINE)) for done in repeats]),
        equal_finals=sum(mine == theirs for mine, theirs in zip(finals, scorer.baseline, strict=True)),
        finals=len(finals),
        latencies=tuple(_latency(own_units, tokenize) for own_units in units),
        passes=fmean(update.stats.forward_passes for update in own),
        evaluated_tokens=fmean(update.stats.evaluated_tokens for update in own) or None,
        screen=measure_screen(units, method.output_mask_k or shown_mask_k, spaced=spaced),
        drafting=measure_drafting(method, own),
    )


def _masked(
    row: TableRow,
    k: int,
    segments: Sequence[Segment],
    repeats: Sequence[_Done],
    tokenize: Callable[[str], list[str]] | None,
) -> TableRow:
    """The same lines with a display-only mask: only what is shown differs."""
    erased = _erasure(_updates(repeats[0], row.method), k, tokenize)
    return replace(
        row,
        method=f"{row.method}+display{k}",
        mask="display",
        mask_k=k,
        ne_mean=erased.mean_per_utterance,
        ne_ratio=erased.ratio_of_sums,
    )


def _updates(done: _Done, method: str) -> list[Update]:
    return [update for by_method in done.values() for update in by_method[method]]


def _erasure(updates: Iterable[Update], k: int, tokenize: Callable[[str], list[str]] | None) -> NormalizedErasure:
    """Erasure of what is shown: the last k of the model's tokens of every partial are hidden, finals are whole."""
    erased = NormalizedErasure()
    for update in updates:
        erased.add(update.segment_id, shown(update, k, tokenize), final=update.final)
    return erased


def shown(update: Update, k: int, tokenize: Callable[[str], list[str]] | None) -> Sequence[Hashable]:
    """What is shown of an update, in the unit; None for the model's own tokens."""
    hidden = 0 if update.final else k
    if tokenize is None:
        return update.tokens[: max(len(update.tokens) - hidden, 0)]
    return tokenize(update.without_last(hidden))


def _latency(units: Units, tokenize: Callable[[str], list[str]] | None) -> Latency:
    def reference_length(segment: Segment) -> int | None:
        return len(tokenize(segment.reference)) if tokenize is not None and segment.reference else None

    return measure_latency(units, lambda update: shown(update, 0, tokenize), reference_length)


def _units(segments: Sequence[Segment], done: _Done, method: str) -> list[tuple[Segment, list[Update]]]:
    """The units of a method in one repeat, each with its segment."""
    return [(segment, done[segment.segment_id][method]) for segment in segments if segment.segment_id in done]


def partials_beside_baseline(run: Run) -> dict[str, Interval]:
    """By method but `rt`: chrF of its partials against what `rt` wrote for the same prefix, in the first repeat.

    Empty where only one segment has partials, since an interval takes two.
    """
    done = _by_repeat(run)[0]
    baseline = _updates(done, BASELINE)
    figures = {}
    for label in (method.label for method in run.header.methods if method.label != BASELINE):
        pairs = [(one, other) for one, other in zip(_updates(done, label), baseline, strict=True) if not one.final]
        segments = [one.segment_id for one, _ in pairs]
        if len(set(segments)) > 1:
            texts = [one.text for one, _ in pairs], [other.text for _, other in pairs]
            figures[label] = quality.chrf(*texts, segments).interval
    return figures


def _with_references(segments: Sequence[Segment], finals: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Source, final and reference of each segment that has one, and of each whole stream that has one."""
    source = hypothesis = ""
    stream = None
    for segment, final in zip(segments, finals, strict=True):
        if segment.reference is not None:
            yield segment.source, final, segment.reference
        if segment.stream != stream:
            stream, source, hypothesis = segment.stream, "", ""
        source, hypothesis = join_text(source, segment.source), join_text(hypothesis, final)
        if segment.stream_reference is not None:
            yield source, hypothesis, segment.stream_reference


def _notes(run: Run, segments: Sequence[Segment], repeats: Sequence[_Done]) -> Iterable[str]:
    if not run.complete:
        whole = sum(len(done) == run.header.corpus.segments for done in repeats)
        yield (
            f"the run is not finished: figures are of the {len(segments)} of {run.header.corpus.segments} segments "
            f"that every method did; {whole} of {run.header.repeats} repeats are whole."
        )
    first = repeats[0]
    changed = sum(
        update.tokens != one.tokens
        for done in repeats[1:]
        for segment_id in done.keys() & first.keys()
        for label in first[segment_id]
        for update, one in zip(done[segment_id][label], first[segment_id][label], strict=True)
    )
    if changed:
        yield f"{changed} outputs differ between the repeats; counts are of the first (--threads 1 repeats exactly)."
