"""What produced the figures of a table, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from livetrans.bench.runfile import Header
from livetrans.bench.scoring import ScoredRun


def signatures(runs: Sequence[ScoredRun]) -> list[str]:
    """What produced the figures, a sentence a run."""
    notes = []
    for run in runs:
        header = run.run.header
        corpus, model, machine = header.corpus, header.model, header.machine
        revealed = f", {corpus.step} {corpus.step_unit} at a time" if corpus.step_unit else ""
        if corpus.minimum_words > 1:
            revealed += f", sentences of {corpus.minimum_words} {corpus.step_unit} or more"
        updates = run.rows[0].updates
        repeats = f"{header.repeats} repeat{'s' if header.repeats > 1 else ''}"
        notes.append(
            f"{run.run.path.name}: {model.file} ({model.name}, {model.quantisation}, {model.size_bytes / 1e6:.1f} MB), "
            f"{_other_models(header)}{model.threads} thread{'s' if model.threads > 1 else ''}, on {corpus.name} "
            f"{corpus.source_language}-{corpus.target_language} ({run.rows[0].finals} segments, {updates} updates"
            f"{revealed}), median of {repeats}, {header.time} time; NE in {unit_name(run.unit)}; "
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


def caveats(runs: Sequence[ScoredRun]) -> list[str]:
    """What would mislead a reader who did not know it, a file's name in front."""
    return [f"{run.run.path.name}: {note}" for run in runs for note in run.notes]


def units(runs: Sequence[ScoredRun]) -> str:
    """For a title: the unit in which erasure is counted."""
    return f"NE in {', '.join(dict.fromkeys(unit_name(run.unit) for run in runs))}"


def unit_name(unit: str) -> str:
    return "the model's own tokens" if unit == "model" else f"{unit} tokens"
