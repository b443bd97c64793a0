"""What a reader must know of figures: what they are of, their units, what would mislead, and what produced them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from livetrans.bench.figures import FIGURES
from livetrans.bench.measures import MeasuredRun
from livetrans.bench.runfile import Header, RunFile
from livetrans.bench.table import Column
from livetrans.text import counted

Origin = tuple[str, ...]
"""What may tell a run apart from others, the most distinctive first: settings, then the file's name and its path."""
_FILE_PARTS = 2


def origin_of(run: RunFile) -> Origin:
    header = run.header
    model, corpus = header.model, header.corpus
    return (
        pair_of(run),
        run.model_name,
        corpus.name,
        model.quantisation,
        header.draft_model.file if header.draft_model else "no draft model",
        header.double_model.file if header.double_model else "no double-token model",
        f"prompt {model.prompt}",
        f"threads {model.threads}",
        "quick" if header.quick else "whole",
        f"segments {corpus.segments}",
        f"step {corpus.step}",
        f"minimum {corpus.minimum_words}",
        f"{header.time} time",
        f"livetrans {header.versions.get('livetrans', '?')}",
        str(header.machine.get("processor", "")),
        run.path.name,
        str(run.path),
    )


def pair_of(run: RunFile) -> str:
    """Return the languages of a run: `en-de`."""
    return f"{run.header.corpus.source_language}-{run.header.corpus.target_language}"


def tell_apart(origins: Iterable[Origin]) -> dict[Origin, str]:
    """Return a short name for each origin: the first setting that differs among all, else as many parts as it takes.

    The name of a single one is empty.
    """
    different = list(dict.fromkeys(origins))
    names: dict[Origin, tuple[str, ...]] = dict.fromkeys(different, ())
    parts = range(len(different[0])) if different else range(0)
    telling = [part for part in parts if len({origin[part] for origin in different}) > 1]
    # Not a file's name, where settings say it in a few words.
    settings = [part for part in telling if part < len(parts) - _FILE_PARTS]
    enough = [part for part in settings if _all_differ(origin[part] for origin in different)]
    for part in enough[:1] or telling:
        if not _all_differ(names.values()):
            names = {origin: (*name, origin[part]) for origin, name in names.items()}
    return {origin: " ".join(name) for origin, name in names.items()}


def _all_differ(names: Iterable[Hashable]) -> bool:
    known = list(names)
    return len(set(known)) == len(known)


def scope_of(runs: Sequence[MeasuredRun]) -> str:
    """Return a sentence: how much of which corpora, the language pairs and the models."""

    def scope(run: MeasuredRun) -> str:
        header, streams = run.file.header, len(_streams(run))
        count = counted(len(run.segments), "sentence" if header.corpus.kind == "text" else "segment")
        place = f"{streams} streams in {header.corpus.name}" if streams > 1 else header.corpus.name
        double = f" (double: {header.double_model.file})" if header.double_model else ""
        return f"{count} of {place}, {pair_of(run.file)}, {run.file.model_name}{double}"

    return f"{'; '.join(dict.fromkeys(map(scope, runs)))}."


def _streams(run: MeasuredRun) -> set[str]:
    return {segment.stream for segment in run.segments if segment.stream}


def explained(column: Column, columns: Sequence[Column], runs: Sequence[MeasuredRun]) -> Column:
    """Return the column with its unit and its caveats."""
    unit = _of_all(runs, lambda run: unit_name(run.unit))
    if column.unit:  # The paper's.
        if column.unit == unit:
            return column
        caveat = (
            "The paper's NE cannot be compared with ours: the units differ. --unit flores101 counts as the paper does; "
            'docs/bench.md says under "What to download" where its model comes from.'
        )
        return replace(column, caveats=(caveat,))
    match FIGURES[column.name].kind if column.name in FIGURES and not column.caveats else "":
        case "tokens":
            return replace(column, unit=unit)
        case "shown":
            return replace(column, unit=unit_name("model"))
        case "screen":
            return replace(column, unit=_of_all(runs, lambda run: "words" if run.language.spaced else "characters"))
        case "quality":
            return replace(column, caveats=tuple(_unscored(runs)))
        case "delay" | "lag":
            return replace(column, caveats=tuple(_unheard(columns, runs)))
    return column


def _of_all(runs: Sequence[MeasuredRun], unit: Callable[[MeasuredRun], str]) -> str:
    """Return the unit of the runs, or each with its target languages where they differ."""
    targets: dict[str, dict[str, None]] = {}
    for run in runs:
        targets.setdefault(unit(run), {})[run.file.header.corpus.target_language] = None
    if len(targets) == 1:
        return next(iter(targets))
    return " and ".join(f"{name} ({', '.join(languages)})" for name, languages in targets.items())


def _unscored(runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """Yield which parts have a reference, for each run where not all segments have one of their own."""
    for run in runs:
        single = sum(segment.reference is not None for segment in run.segments)
        whole = sum(segment.stream_reference is not None for segment in run.segments)
        parts = [f"{single} of {len(run.segments)} segments"] if single else []
        parts += [f"{whole} of {len(_streams(run))} streams as wholes"] if whole else []
        if parts and single < len(run.segments):
            names = " and ".join(parts)
            yield f"{run.file.path.name}: quality is computed on what has a reference, {names}."


def _unheard(columns: Sequence[Column], runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """Yield which delays lack the recogniser's time, for each run with streams that were recorded at full speed."""
    kinds = {column.name: FIGURES[column.name].kind for column in columns if column.name in FIGURES}
    names = " and ".join(name for name, kind in kinds.items() if kind == "delay")
    no_lag = ", no lag" if "lag" in kinds.values() else ""
    for run in runs:
        known = _streams(run)
        live = {segment.stream for segment, updates in run.baseline.units if updates[-1].captured is not None}
        if known != live:
            yield (
                f"{run.file.path.name}: {len(known - live)} of {len(known)} streams were recorded at full speed: "
                f"{names} without the recogniser's time{no_lag}."
            )


def signatures_of(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return what produced the figures, a sentence a run, and how quality was computed."""
    notes = []
    for run in runs:
        header = run.file.header
        corpus, model, machine = header.corpus, header.model, header.machine
        revealed = f", {corpus.step} {corpus.step_unit} at a time" if corpus.step_unit else ""
        if corpus.minimum_words > 1:
            revealed += f", sentences of {corpus.minimum_words} {corpus.step_unit} or more"
        notes.append(
            f"{run.file.path.name}: {model.file} ({model.name}, {model.quantisation}, {model.size_bytes / 1e6:.1f} MB),"
            f" {_other_models(header)}{counted(model.threads, 'thread')}, on {corpus.name} {pair_of(run.file)} "
            f"({len(run.segments)} segments, {run.baseline.updates} updates{revealed}), "
            f"median of {counted(header.repeats, 'repeat')}, {header.time} time; NE in {unit_name(run.unit)}; "
            f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores; "
            f"livetrans {header.versions.get('livetrans', '?')}, "
            f"llama-cpp-python {header.versions.get('llama_cpp_python', '?')}."
        )
        scores = run.scores(run.baseline.finals)
        notes += [f"Quality: {score.signature}." for score in scores.values()]
        if not scores:
            notes.append("No quality: the run has no reference.")
        elif "COMET" not in scores:
            notes.append("COMET was not computed: give --comet MODEL (needs the extra comet).")
    return list(dict.fromkeys(notes))


def _other_models(header: Header) -> str:
    """Return the models beside the translator, and how tokens were drawn; empty where there is neither."""
    text, drawn = "", header.sampling
    for name, model in (("draft model", header.draft_model), ("double-token model", header.double_model)):
        if model:
            text += f"{name} {model.file} ({model.size_bytes / 1e6:.1f} MB), "
    if drawn:
        text += f"drawn (temperature {drawn.temperature:g}, top-k {drawn.top_k}, top-p {drawn.top_p:g}), "
    return text


def unit_name(unit: str) -> str:
    """Return a unit of erasure in words."""
    names = {"model": "the model's own tokens", "flores101": "Flores-101 tokens", "flores200": "Flores-200 tokens"}
    return names.get(unit, f"{unit} tokens")
