"""What a reader must know of figures: what they are of, their units, what would mislead, and what produced them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from livetrans.bench.figures import FIGURES
from livetrans.bench.measures import MeasuredRun
from livetrans.bench.methods import BASELINE
from livetrans.bench.runfile import RunFile
from livetrans.bench.table import Column
from livetrans.text import counted

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
    times = [repeat.update_seconds for repeat in run.baseline.repeats]
    longer = max(times) / min(times) - 1
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
