"""Tables with what a reader must know of their figures: what they are of, their units, what would mislead, and what
produced them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from livetrans.bench.layout import Column, Table, Value
from livetrans.bench.runfile import Header
from livetrans.bench.scoring import ScoredRun
from livetrans.languages import parse_language
from livetrans.text import counted

_IN_THE_RUNS_UNIT = ("NE", "NE sums", "NE raw")
_IN_MODEL_TOKENS = ("NE shown",)
_ON_SCREEN = ("NE screen", "NE screen raw")
_QUALITY = ("COMET", "COMET - rt", "BLEU", "BLEU - rt", "chrF", "chrF - rt")
_DELAYS = ("AL-CA s", "LAAL-CA s", "stable s")
_LAGS = ("lag p50 s", "lag p95 s")


def make_table(
    name: str, title: str, columns: Sequence[Column], rows: Sequence[tuple[Value, ...]], runs: Sequence[ScoredRun]
) -> Table:
    """A table of runs; `title` says what it shows."""
    name += ", quick" if name and any(run.run.header.quick for run in runs) else ""
    own = _of_all(runs, lambda run: unit_name(run.unit))
    told = tuple(_told(column, columns, own, runs) for column in columns)
    scope = f"{'; '.join(dict.fromkeys(map(_scope, runs)))}."
    caveats = tuple(f"{run.run.path.name}: {note}" for run in runs for note in run.notes)
    return Table(name, title, told, tuple(rows), caveats, tuple(_signatures(runs)), scope)


def _scope(run: ScoredRun) -> str:
    """How much of which corpus, the language pair and the model."""
    corpus, streams = run.run.header.corpus, len(_streams(run))
    count = counted(len(run.segments), "sentence" if corpus.kind == "text" else "segment")
    place = f"{streams} streams in {corpus.name}" if streams > 1 else corpus.name
    double = run.run.header.double_model
    models = run.run.model_name + (f" (double: {double.file})" if double else "")
    return f"{count} of {place}, {corpus.source_language}-{corpus.target_language}, {models}"


def _streams(run: ScoredRun) -> set[str]:
    return {segment.stream for segment in run.segments if segment.stream}


def _told(column: Column, columns: Sequence[Column], own: str, runs: Sequence[ScoredRun]) -> Column:
    """The column with its unit and its caveats; `own` is the unit of the runs."""
    if column.unit:
        # The paper's.
        differ = ("The paper's NE cannot be compared with ours: the units differ.",)
        return replace(column, caveats=differ) if column.unit != own else column
    if column.name in _IN_THE_RUNS_UNIT:
        return replace(column, unit=own)
    if column.name in _IN_MODEL_TOKENS:
        return replace(column, unit=unit_name("model"))
    if column.name in _ON_SCREEN:
        return replace(column, unit=_of_all(runs, _screen_unit))
    if column.name in _QUALITY:
        return replace(column, caveats=tuple(_unscored(runs)))
    if column.name in (*_DELAYS, *_LAGS):
        return replace(column, caveats=tuple(_unheard(columns, runs)))
    return column


def _of_all(runs: Sequence[ScoredRun], unit: Callable[[ScoredRun], str]) -> str:
    """The unit of the runs, or each with its target languages where they differ."""
    targets: dict[str, dict[str, None]] = {}
    for run in runs:
        targets.setdefault(unit(run), {})[run.run.header.corpus.target_language] = None
    if len(targets) == 1:
        return next(iter(targets))
    return " and ".join(f"{name} ({', '.join(own)})" for name, own in targets.items())


def _screen_unit(run: ScoredRun) -> str:
    return "words" if parse_language(run.run.header.corpus.target_language).spaced else "characters"


def _unscored(runs: Sequence[ScoredRun]) -> Iterable[str]:
    """Which parts have a reference, for each run where not all segments have one of their own."""
    for run in runs:
        own = sum(segment.reference is not None for segment in run.segments)
        whole = sum(segment.stream_reference is not None for segment in run.segments)
        parts = [f"{own} of {len(run.segments)} segments"] if own else []
        parts += [f"{whole} of {len(_streams(run))} streams as wholes"] if whole else []
        if parts and own < len(run.segments):
            yield f"{run.run.path.name}: quality is of what has a reference, {' and '.join(parts)}."


def _unheard(columns: Sequence[Column], runs: Sequence[ScoredRun]) -> Iterable[str]:
    """Which delays lack the recogniser's time, for each run with streams that were recorded at full speed."""
    names = [column.name for column in columns if column.name in _DELAYS]
    no_lag = ", no lag" if any(column.name in _LAGS for column in columns) else ""
    for run in runs:
        live_segments = {update.segment_id for update in run.run.updates if update.captured is not None}
        known = _streams(run)
        live = {segment.stream for segment in run.segments if segment.segment_id in live_segments}
        if known != live:
            yield (
                f"{run.run.path.name}: {len(known - live)} of {len(known)} streams were recorded at full speed: "
                f"{' and '.join(names)} without the recogniser's time{no_lag}."
            )


def _signatures(runs: Sequence[ScoredRun]) -> list[str]:
    """What produced the figures, a sentence a run."""
    notes = []
    for run in runs:
        header = run.run.header
        corpus, model, machine = header.corpus, header.model, header.machine
        revealed = f", {corpus.step} {corpus.step_unit} at a time" if corpus.step_unit else ""
        if corpus.minimum_words > 1:
            revealed += f", sentences of {corpus.minimum_words} {corpus.step_unit} or more"
        updates = run.rows[0].updates
        notes.append(
            f"{run.run.path.name}: {model.file} ({model.name}, {model.quantisation}, {model.size_bytes / 1e6:.1f} MB), "
            f"{_other_models(header)}{counted(model.threads, 'thread')}, on {corpus.name} "
            f"{corpus.source_language}-{corpus.target_language} ({run.rows[0].finals} segments, {updates} updates"
            f"{revealed}), median of {counted(header.repeats, 'repeat')}, {header.time} time; "
            f"NE in {unit_name(run.unit)}; "
            f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores; "
            f"livetrans {header.versions.get('livetrans', '?')}, "
            f"llama-cpp-python {header.versions.get('llama_cpp_python', '?')}."
        )
        notes += [f"Quality: {signature}." for signature in run.signatures]
        if not run.signatures:
            notes.append("No quality: the run has no reference.")
        elif run.rows[0].quality.comet is None:
            notes.append("COMET was not computed: give --comet MODEL (needs the extra comet).")
    return list(dict.fromkeys(notes))


def _other_models(header: Header) -> str:
    """The models beside the translator, and how tokens were drawn; empty where there is neither."""
    text, drawn = "", header.sampling
    for name, model in (("draft model", header.draft_model), ("double-token model", header.double_model)):
        if model:
            text += f"{name} {model.file} ({model.size_bytes / 1e6:.1f} MB), "
    if drawn:
        text += f"drawn (temperature {drawn.temperature:g}, top-k {drawn.top_k}, top-p {drawn.top_p:g}), "
    return text


def unit_name(unit: str) -> str:
    """A unit of erasure in words."""
    names = {"model": "the model's own tokens", "flores101": "Flores-101 tokens", "flores200": "Flores-200 tokens"}
    return names.get(unit, f"{unit} tokens")
