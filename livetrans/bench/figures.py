"""The figures of the tables, a row each: its name, what it means, how it is written and how it is computed; and what a
reader must know of the figures of certain runs: their units, what would mislead, and what produced them.

A new figure is a row here and its name in the tables that show it (`TABLES` in `livetrans.bench.tables`). What it is
computed from is in `livetrans.bench.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from livetrans.bench.measures import Lagging, MeasuredRun, Row, ratio, scaled
from livetrans.bench.methods import BASELINE
from livetrans.bench.runfile import RunFile
from livetrans.bench.table import Column, Value
from livetrans.decoding.drafting import expected_tokens
from livetrans.metrics.latency import spread_of
from livetrans.text import counted

INTERVAL = "[95 % interval, paired bootstrap]"
SPREAD = "(least-most of repeats)"


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    meaning: str
    """One line, without the name."""
    decimals: int
    of: Callable[[Row], Value]
    kind: str = ""
    """What else a reader must know, which depends on the runs: a name in `UNITS` or `CAVEATS`."""


def _percent(value: float | None) -> float | None:
    return scaled(100, value)


def _an_update(count: Callable[[Row], float]) -> Callable[[Row], Value]:
    return lambda row: count(row) / row.of.updates


def _lagging(figure: Callable[[Lagging], float | None]) -> Callable[[Row], Value]:
    return lambda row: spread_of(map(figure, row.of.lagging))


def _lag(share: float) -> Callable[[Row], Value]:
    return lambda row: spread_of(measures.lags.percentile(share) for measures in row.of.measures)


def _drafting(figure: Callable[[Row], float | None]) -> Callable[[Row], Value]:
    """Return a figure that only a method with a draft model has."""
    return lambda row: figure(row) if row.of.drafted else None


def _a_written_token(count: Callable[[Row], float], scale: float = 1.0) -> Callable[[Row], Value]:
    return _drafting(lambda row: scale * count(row) / row.of.written_tokens)


def _expected(row: Row) -> float | None:
    rate, gamma = row.of.acceptance.per_proposal, row.of.method.gamma
    return expected_tokens(rate, gamma) if gamma and rate is not None else None


def _finals_as_baseline(row: Row) -> str:
    pairs = list(zip(row.of.finals, row.of.run.baseline.finals, strict=True))
    return f"{sum(one == base for one, base in pairs)}/{len(pairs)}"


METHOD = Column("method", "DECODER@BIAS; +mask, +display: masks; +careful, +fresh: how finals are decoded")
WORDS = Column("words", "length of the source")

_ROWS = (
    Figure("speedup", f"rt's update time / the method's {SPREAD}", 2,
           lambda row: row.of.ratio(lambda repeat: repeat.update_seconds, inverse=True)),
    Figure("segments", "segments of one repeat", 0, lambda row: len(row.of.finals)),
    Figure("NE", "normalized erasure: erased tokens / final tokens, mean over utterances", 2,
           lambda row: row.erasure.mean_per_utterance, "tokens"),
    Figure("NE screen", "words taken back / words, all captions as one text", 3,
           lambda row: row.of.measures[0].screen.ratio, "screen"),
    Figure("meanwhile %", "right and in time (n-grams of captions before the final)", 1,
           lambda row: _percent(row.of.meanwhile.score)),
    Figure("AL-CA s", f"AL with the time of recognising and translating {SPREAD}", 2,
           _lagging(lambda lagging: lagging.al_aware), "delay"),
    Figure("lag p50 s", f"median from a word's end to its shown translation, live streams {SPREAD}", 2,
           _lag(0.5), "delay"),
    Figure("COMET", "of finals against the references, by --comet MODEL", 3,
           lambda row: row.of.score("COMET"), "quality"),
    Figure("chrF - rt", f"chrF less rt's {INTERVAL}", 1, lambda row: row.of.difference("chrF"), "quality"),
    Figure("A/D %", "accepted tokens / draft tokens", 1, lambda row: _percent(row.of.acceptance.per_draft)),
    Figure("lag p95 s", f"the 95th percentile of that {SPREAD}", 2,
           _lag(0.95), "delay"),
    Figure("chrF", "chrF2 of finals against the references, 0 to 100", 1, lambda row: row.of.score("chrF"), "quality"),
    Figure("COMET - rt", f"COMET less rt's {INTERVAL}", 3, lambda row: row.of.difference("COMET"), "quality"),
    Figure("NE shown", "the same of captions, the mask's tokens hidden", 2,
           lambda row: row.of.measures[0].caption_erasure.ratio_of_sums, "shown"),
    Figure("LAAL-CA s", f"LAAL with the time of recognising and translating {SPREAD}", 2,
           _lagging(lambda lagging: lagging.laal_aware), "delay"),
    Figure("BLEU", "of finals against the references, 0 to 100", 1, lambda row: row.of.score("BLEU"), "quality"),
    Figure("BLEU - rt", f"BLEU less rt's {INTERVAL}", 1, lambda row: row.of.difference("BLEU"), "quality"),
    Figure("AL s", "average lagging, as if translating took no time", 2,
           lambda row: row.of.lagging[0].al),
    Figure("NE raw", "all erased tokens / all final tokens, nothing hidden", 2,
           lambda row: row.erasure.ratio_of_sums if row.mask == "none" else None, "tokens"),
    Figure("A/O %", "accepted tokens / output tokens", 1, lambda row: _percent(row.of.acceptance.per_output)),
    Figure("LAAL s", "length-adaptive average lagging, as AL", 2, lambda row: row.of.lagging[0].laal),
    Figure("chrF partials", "chrF of partials against rt's for the same prefix [95 % interval]", 1,
           lambda row: row.of.partials),
    Figure("right %", "n-grams of captions before the final that the reference has", 1,
           lambda row: _percent(row.of.meanwhile.right)),
    Figure("there %", "n-grams of captions before the final / those of the reference that were due", 1,
           lambda row: _percent(row.of.meanwhile.amount)),
    Figure("update ms", f"time of a whole update {SPREAD}", 2,
           lambda row: row.of.spread(lambda repeat: repeat.update_seconds, 1000)),
    Figure("TPS ratio*", f"estimates the paper's speedup: the prompt's share left out {SPREAD}", 2,
           lambda row: row.of.ratio(lambda repeat: repeat.tokens_per_second_of_drafts)),
    Figure("NE sums", "all erased tokens / all final tokens", 2, lambda row: row.erasure.ratio_of_sums, "tokens"),
    Figure("TPS ratio", f"TPS / TPS of rt {SPREAD}", 2,
           lambda row: row.of.ratio(lambda repeat: repeat.tokens_per_second)),
    Figure("finals as rt", "finals with the same text as rt's / finals", 0, _finals_as_baseline),
    Figure("passes", "model calls an update", 1, _an_update(lambda row: row.of.sums.forward_passes)),
    Figure("evaluated", "tokens through the model, an update", 1,
           lambda row: ratio(row.of.sums.evaluated_tokens or None, row.of.updates)),
    Figure("TPS", f"output tokens / seconds of verification and decoding {SPREAD}", 0,
           lambda row: row.of.spread(lambda repeat: repeat.tokens_per_second)),
    Figure("hidden", "tokens not shown (mask, cut words, repetitions), an update", 1,
           lambda row: row.of.measures[0].hidden_per_caption),
    Figure("updates", "updates of one repeat", 0, lambda row: row.of.updates),
    Figure("tokens", "output tokens of one repeat", 0, lambda row: row.of.sums.output_tokens),
    Figure("alpha %", "proposed tokens accepted / judged", 1,
           _drafting(lambda row: _percent(row.of.acceptance.per_proposal))),
    Figure("tokens/pass", "tokens written, without the previous output's / passes of the translator", 2,
           _drafting(lambda row: row.of.written_tokens / row.of.sums.forward_passes)),
    Figure("expected", "tokens a pass by (1 - alpha^(gamma+1)) / (1 - alpha)", 2, _drafting(_expected)),
    Figure("fallback %", "draft model too unsure / tokens written", 1,
           _a_written_token(lambda row: row.of.sums.fallbacks, 100)),
    Figure("rollback %", "passes that rejected / tokens written", 1,
           _a_written_token(lambda row: row.of.sums.rejected_proposals, 100)),
    Figure("proposed", "tokens proposed / tokens written", 2,
           _a_written_token(lambda row: row.of.sums.proposed_tokens)),
    Figure("draft %", "draft model's time / time of generation", 1,
           _drafting(lambda row: _percent(ratio(row.of.sums.draft_seconds, row.of.sums.generation_seconds)))),
    Figure("tokens/update", "output tokens, an update", 1, _an_update(lambda row: row.of.sums.output_tokens)),
)  # fmt: skip
FIGURES = {figure.name: figure for figure in _ROWS}


def column_of(name: str) -> Column:
    """Return the column of a figure."""
    figure = FIGURES[name]
    return Column(name, figure.meaning, figure.decimals)


UNSTEADY = 0.2
"""From this difference of the baseline's times in two repeats on, a table says that the machine was busy."""


def pair_of(run: RunFile) -> str:
    """Return the languages of a run: `en-de`."""
    return f"{run.header.corpus.source_language}-{run.header.corpus.target_language}"


def names_of(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return a name for each run: nothing where there is one, else its file's, with the folder where that takes it."""
    paths = [run.file.path for run in runs]
    if len(runs) == 1:
        return [""]
    return [path.stem if len({path.stem for path in paths}) == len(paths) else str(path) for path in paths]


def scope_of(runs: Sequence[MeasuredRun]) -> str:
    """Return a sentence: how much of which corpora, the language pairs and the models."""
    scopes: dict[str, None] = {}
    for run in runs:
        header, streams = run.file.header, len(_streams(run))
        count = counted(len(run.segments), "sentence" if header.corpus.kind == "text" else "segment")
        place = f"{streams} streams in {header.corpus.name}" if streams > 1 else header.corpus.name
        double = f" (double: {header.double_model.file})" if header.double_model else ""
        scopes[f"{count} of {place}, {pair_of(run.file)}, {run.file.header.model.file}{double}"] = None
    return f"{'; '.join(scopes)}."


def _streams(run: MeasuredRun) -> set[str]:
    return {segment.stream for segment in run.segments if segment.stream}


def _unscored(run: MeasuredRun) -> str:
    """Return which parts have a reference, where not all segments have one of their own."""
    single = sum(segment.reference is not None for segment in run.segments)
    whole = sum(segment.stream_reference is not None for segment in run.segments)
    parts = [f"{single} of {len(run.segments)} segments"] if single else []
    parts += [f"{whole} of {len(_streams(run))} streams as wholes"] if whole else []
    if not parts or single == len(run.segments):
        return ""
    return f"quality is computed on what has a reference, {' and '.join(parts)}."


def _unheard(run: MeasuredRun) -> str:
    """Return of which streams delays lack the recogniser's time: those that were recorded at full speed."""
    known = _streams(run)
    live = {segment.stream for segment, updates in run.baseline.units if updates[-1].captured is not None}
    if known == live:
        return ""
    return (
        f"{len(known - live)} of {len(known)} streams were recorded at full speed: their delays are without the "
        "recogniser's time, and they have no lag."
    )


UNITS: dict[str, Callable[[MeasuredRun], str]] = {
    "tokens": lambda run: unit_name(run.unit),
    "shown": lambda run: unit_name("model"),
    "screen": lambda run: "words" if run.language.spaced else "characters",
}
"""In what a kind of figure is counted."""
CAVEATS: dict[str, Callable[[MeasuredRun], str]] = {"quality": _unscored, "delay": _unheard}
"""What would mislead of a kind of figure; an empty sentence where nothing would."""


def explained(column: Column, runs: Sequence[MeasuredRun]) -> Column:
    """Return the column of a figure with its unit and its caveats."""
    kind = FIGURES[column.name].kind
    caveats = ((run.file.path.name, CAVEATS[kind](run)) for run in runs if kind in CAVEATS)
    units: dict[str, dict[str, None]] = {}
    for run in runs if kind in UNITS else ():
        units.setdefault(UNITS[kind](run), {})[run.file.header.corpus.target_language] = None
    named = [f"{unit} ({', '.join(languages)})" if len(units) > 1 else unit for unit, languages in units.items()]
    return replace(
        column,
        unit=" and ".join(named),
        caveats=tuple(f"{name}: {sentence}" for name, sentence in caveats if sentence),
    )


def general_notes(run: MeasuredRun) -> Iterator[str]:
    """Yield what a reader must know of all figures of a run."""
    name, header = run.file.path.name, run.file.header
    if run.settings.comet is not None and not any(run.with_references(run.baseline.finals)):
        yield f"{name}: COMET was not computed: the run has no reference."
    if not run.file.complete:
        whole = sum(len(done) == header.corpus.segments for done in run.repeats)
        yield (
            f"{name}: the run is not finished: figures are of the {len(run.segments)} of {header.corpus.segments} "
            f"segments that every method did; {whole} of {header.repeats} repeats are whole."
        )
    changed = sum(repeat.changed for method in run.methods.values() for repeat in method.repeats)
    if changed:
        yield (
            f"{name}: {changed} outputs differ between repeats; counts are of the first (--threads 1 repeats exactly)."
        )
    seconds = [repeat.update_seconds for repeat in run.baseline.repeats]
    longer = max(seconds) / min(seconds) - 1
    if run.file.complete and longer > UNSTEADY:
        advice = "" if header.time == "cpu" else "; --time cpu does not count other programs"
        yield (
            f"{name}: the machine was busy: in one repeat an update of {BASELINE} took {longer:.0%} longer than in "
            f"another{advice}."
        )


def signatures_of(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return what produced the figures, a sentence a run, and how quality was computed."""
    notes = []
    for run in runs:
        header = ", ".join(f"{name} {value}" for name, value in run.file.header.parts().items())
        measured = f"{len(run.segments)} segments and {run.baseline.updates} updates, NE in {unit_name(run.unit)}"
        notes.append(f"{run.file.path.name}: {header}; measured on {measured}.")
        scores = run.scores(run.baseline.finals)
        notes += [f"Quality: {score.signature}." for score in scores.values()]
        if not scores:
            notes.append("No quality: the run has no reference.")
        elif "COMET" not in scores:
            notes.append("COMET was not computed: give --comet MODEL (needs the extra comet).")
    return list(dict.fromkeys(notes))


def unit_name(unit: str) -> str:
    """Return a unit of erasure in words."""
    names = {"model": "the model's own tokens", "flores101": "Flores-101 tokens", "flores200": "Flores-200 tokens"}
    return names.get(unit, f"{unit} tokens")
