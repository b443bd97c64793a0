"""The columns of the tables, the notes below them, and the paper's own figures.

The paper's are for `--paper`: *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2), Tables
2, 3, 4 and 6; Apple M2 Pro with Metal, Q4_K_M, NE in Flores-101 tokens, mean per utterance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from livetrans.bench.layout import Column, Value
from livetrans.bench.rows import TableRow
from livetrans.bench.scoring import ScoredRun
from livetrans.metrics.latency import percentile

TOWER, QWEN = "Tower+ 2B", "Qwen3 4B"
SWEEP_PAIR = "en-zh"
"""Tables 3 and 4 are of this pair, by Tower+ 2B, on Flores."""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A method's line; shares in percent as printed, None where the paper prints nothing."""

    comet: float
    ne: float
    accepted_per_draft: float | None = None
    accepted_per_output: float | None = None
    tokens_per_second: float | None = None
    tps_ratio: float = 1.0
    """What the paper calls speedup: the ratio of tokens per second."""


SPEED_LEGEND = (
    "update ms: time of an update, with prompt, verification and all else; speedup: rt's update time / the method's. "
    "TPS: output tokens / (verification + decoding time); TPS ratio: TPS / TPS of rt, with a verifying pass counted "
    "whole, the prompt's new part included; TPS ratio*: with the draft's share of its tokens alone (the paper's "
    "speedup, whose prompt is a pass of its own)."
)

Row = TypeVar("Row")
Figures = tuple[tuple[Column, Callable[[Row], Value]], ...]


def _times(scale: float, value: float | None) -> float | None:
    return None if value is None else value * scale


FIGURES: Figures[TableRow] = (
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
PAPER_FIGURES: Figures[PaperRow] = (
    (Column("COMET", 3), lambda row: row.comet),
    (Column("NE", 2), lambda row: row.ne),
    (Column("A/D %", 1), lambda row: row.accepted_per_draft),
    (Column("A/O %", 1), lambda row: row.accepted_per_output),
    (Column("TPS", 0), lambda row: row.tokens_per_second),
    (Column("TPS ratio", 2), lambda row: row.tps_ratio),
)
LATENCIES: Figures[TableRow] = (
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


def columns_of(figures: Figures[Any], group: str) -> list[Column]:
    return [replace(column, group=group) for column, _ in figures]


def cells_of(figures: Figures[Row], row: Row | None) -> list[Value]:
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


FLORES: dict[tuple[str, str, str], PaperRow] = {
    ("en-de", "rt", TOWER): PaperRow(0.877, 1.17, tokens_per_second=60),
    ("en-de", "rt", QWEN): PaperRow(0.843, 1.26, tokens_per_second=48),
    ("en-de", "ssbd@0.2", TOWER): PaperRow(0.877, 0.77, 79.0, 63.1, 101, 1.69),
    ("en-de", "ssbd@0.2", QWEN): PaperRow(0.843, 0.82, 74.7, 58.9, 74, 1.53),
    ("en-zh", "rt", TOWER): PaperRow(0.882, 1.72, tokens_per_second=59),
    ("en-zh", "rt", QWEN): PaperRow(0.882, 1.54, tokens_per_second=46),
    ("en-zh", "ssbd@0.2", TOWER): PaperRow(0.880, 1.01, 71.7, 57.0, 87, 1.48),
    ("en-zh", "ssbd@0.2", QWEN): PaperRow(0.882, 1.20, 65.4, 51.8, 65, 1.43),
    ("en-ja", "rt", TOWER): PaperRow(0.912, 2.06, tokens_per_second=60),
    ("en-ja", "rt", QWEN): PaperRow(0.889, 1.96, tokens_per_second=48),
    ("en-ja", "ssbd@0.2", TOWER): PaperRow(0.911, 1.49, 60.4, 48.5, 82, 1.36),
    ("en-ja", "ssbd@0.2", QWEN): PaperRow(0.888, 1.49, 57.7, 45.9, 64, 1.33),
}
"""Table 2."""

ACL_60_60: dict[tuple[str, str, str], PaperRow] = {
    ("en-de", "rt", TOWER): PaperRow(0.796, 2.53, tokens_per_second=60),
    ("en-de", "rt", QWEN): PaperRow(0.766, 2.22, tokens_per_second=48),
    ("en-de", "ssbd@0.2", TOWER): PaperRow(0.796, 1.82, 76.3, 55.3, 90, 1.50),
    ("en-de", "ssbd@0.2", QWEN): PaperRow(0.766, 1.79, 73.1, 52.1, 70, 1.46),
    ("en-zh", "rt", TOWER): PaperRow(0.824, 2.34, tokens_per_second=59),
    ("en-zh", "rt", QWEN): PaperRow(0.833, 2.15, tokens_per_second=46),
    ("en-zh", "ssbd@0.2", TOWER): PaperRow(0.824, 1.71, 74.5, 53.8, 84, 1.42),
    ("en-zh", "ssbd@0.2", QWEN): PaperRow(0.833, 1.84, 67.5, 48.5, 59, 1.28),
    ("en-ja", "rt", TOWER): PaperRow(0.854, 3.05, tokens_per_second=59),
    ("en-ja", "rt", QWEN): PaperRow(0.841, 2.91, tokens_per_second=44),
    ("en-ja", "ssbd@0.2", TOWER): PaperRow(0.854, 2.39, 60.9, 42.5, 78, 1.31),
    ("en-ja", "ssbd@0.2", QWEN): PaperRow(0.841, 2.46, 56.3, 40.8, 61, 1.39),
}
"""Table 6."""

BIAS_SWEEP: dict[str, PaperRow] = {
    "rt": PaperRow(0.882, 1.72),
    "ssbd@0": PaperRow(0.882, 1.53, 53.8, 42.7, tps_ratio=1.28),
    "ssbd@0.1": PaperRow(0.881, 1.19, 66.2, 52.6, tps_ratio=1.40),
    "ssbd@0.2": PaperRow(0.880, 1.01, 71.7, 57.0, tps_ratio=1.48),
    "ssbd@0.3": PaperRow(0.870, 0.83, 77.3, 61.4, tps_ratio=1.58),
    "ssbd@0.4": PaperRow(0.842, 0.57, 85.0, 67.4, tps_ratio=1.70),
    "ssbd@0.5": PaperRow(0.742, 0.0, 100.0, 77.5, tps_ratio=2.10),
    "ssbd@1": PaperRow(0.742, 0.0, 100.0, 77.5, tps_ratio=2.10),
    "cd": PaperRow(0.742, 0.0, 100.0, 77.5, tps_ratio=2.60),
}
"""Table 3."""

MASKS: dict[str, PaperRow] = {
    "ssbd@0.2": PaperRow(0.880, 1.01, 71.7, 57.0, tps_ratio=1.48),
    "ssbd@0.2+mask3": PaperRow(0.880, 0.52, 80.6, 52.3, tps_ratio=1.42),
    "ssbd@0.2+mask5": PaperRow(0.881, 0.34, 84.5, 47.2, tps_ratio=1.39),
    "ssbd@0.2+display3": PaperRow(0.880, 0.53, 71.7, 57.0, tps_ratio=1.48),
    "ssbd@0.2+display5": PaperRow(0.880, 0.35, 71.7, 57.0, tps_ratio=1.48),
}
"""Table 4."""
