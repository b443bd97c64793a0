"""The columns of the tables and their figures, and the notes below a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from livetrans.bench.layout import Column, Value
from livetrans.bench.paper import PaperRow
from livetrans.bench.rows import TableRow
from livetrans.bench.scoring import ScoredRun
from livetrans.metrics.lag import percentile

SPEED_LEGEND = (
    "update ms: time of an update, with prompt, verification and all else; speedup: rt's update time / the method's. "
    "TPS: output tokens / (verification + decoding time); TPS ratio: TPS / TPS of rt, with a verifying pass counted "
    "whole, the prompt's new part included; TPS ratio*: with the draft's share of its tokens alone (the paper's "
    "speedup, whose prompt is a pass of its own)."
)

Figures = tuple[tuple[Column, Callable[[Any], Value]], ...]


def _times(scale: float, value: float | None) -> float | None:
    return None if value is None else value * scale


FIGURES: Figures = (
    (Column("COMET", 3), lambda row: row.comet),
    (Column("BLEU", 1), lambda row: row.bleu),
    (Column("chrF", 1, spare=True), lambda row: row.chrf),
    (Column("NE", 2), lambda row: row.ne_mean),
    (Column("NE sums", 2, spare=True), lambda row: row.ne_ratio),
    (Column("A/D %", 1), lambda row: _times(100, row.accepted_per_draft)),
    (Column("A/O %", 1, spare=True), lambda row: _times(100, row.accepted_per_output)),
    (Column("update ms", 2), lambda row: _times(1000, row.speed.update_seconds)),
    (Column("speedup", 2), lambda row: row.speed.speedup),
    (Column("TPS", 0, spare=True), lambda row: row.speed.tokens_per_second),
    (Column("TPS ratio", 2, spare=True), lambda row: row.speed.tps_ratio),
    (Column("TPS ratio*", 2, spare=True), lambda row: row.speed.tps_ratio_shared),
)
PAPER_FIGURES: Figures = (
    (Column("COMET", 3), lambda row: row.comet),
    (Column("NE", 2), lambda row: row.ne),
    (Column("A/D %", 1), lambda row: row.accepted_per_draft),
    (Column("A/O %", 1), lambda row: row.accepted_per_output),
    (Column("TPS", 0), lambda row: row.tokens_per_second),
    (Column("TPS ratio", 2), lambda row: row.tps_ratio),
)
LATENCIES: Figures = (
    (Column("AL s", 2), lambda row: row.latency.average_lagging),
    (Column("AL-CA s", 2), lambda row: row.latency.average_lagging_aware),
    (Column("LAAL s", 2), lambda row: row.latency.laal),
    (Column("LAAL-CA s", 2), lambda row: row.latency.laal_aware),
    (Column("lag p50 s", 2), lambda row: percentile(sorted(row.latency.lags), 0.5)),
    (Column("lag p95 s", 2), lambda row: percentile(sorted(row.latency.lags), 0.95)),
)

OVERVIEW_COLUMNS = (Column("method"), *(column for column, _ in FIGURES))
LATENCY_COLUMNS = (Column("method"), Column("model"), *(column for column, _ in LATENCIES))
COMPARISON_COLUMNS = (
    *OVERVIEW_COLUMNS[:1],
    Column("updates", spare=True),
    Column("tokens", spare=True),
    *(column for column in OVERVIEW_COLUMNS[1:] if column.name not in ("COMET", "BLEU", "chrF", "NE", "NE sums")),
    Column("NE raw", 2),
    Column("NE masked", 2),
    Column("finals as rt", spare=True),
)


def columns_of(figures: Figures, group: str) -> list[Column]:
    return [replace(column, group=group) for column, _ in figures]


def cells_of(figures: Figures, row: TableRow | PaperRow | None) -> list[Value]:
    return [None if row is None else cell(row) for _, cell in figures]


def legend(*, paper: bool) -> list[str]:
    """What the columns mean."""
    lines = [
        "NE: mean of the utterances' normalized erasure (as the paper); NE sums: all erased tokens / all final tokens.",
        SPEED_LEGEND,
    ]
    if paper:
        lines.append("Paper: Apple M2 Pro, Q4_K_M, NE in Flores-101 tokens.")
    return lines


def signatures(runs: Sequence[ScoredRun]) -> list[str]:
    """What produced the figures, a sentence a run."""
    notes = []
    for run in runs:
        header = run.run.header
        corpus, model, machine = header.corpus, header.model, header.machine
        revealed = f", {corpus.step} {corpus.step_unit} at a time" if corpus.step_unit else ""
        updates = run.rows[0].updates
        repeats = f"{header.repeats} repeat{'s' if header.repeats > 1 else ''}"
        notes.append(
            f"{run.run.path.name}: {model.file} ({model.name}, {model.quantisation}, {model.size_bytes / 1e6:.1f} MB), "
            f"{model.threads} thread{'s' if model.threads > 1 else ''}, on {corpus.name} "
            f"{corpus.source_language}-{corpus.target_language} ({run.rows[0].finals} segments, {updates} updates"
            f"{revealed}), median of {repeats}, {header.time} time; NE in {unit_name(run.unit)}; "
            f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores; "
            f"livetrans {header.versions.get('livetrans', '?')}, "
            f"llama-cpp-python {header.versions.get('llama_cpp_python', '?')}."
        )
        notes += run.notes
        notes += [f"Quality: {signature}." for signature in run.signatures]
        if not run.signatures:
            notes.append("No quality: the run has no reference.")
        elif run.rows[0].comet is None:
            notes.append("COMET was not computed: give --comet MODEL (needs livetrans[comet]).")
    return list(dict.fromkeys(notes))


def unit_name(unit: str) -> str:
    return "the model's own tokens" if unit == "model" else f"{unit} tokens"
