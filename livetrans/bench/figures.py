"""The columns of the tables: what each is called, what it means and where its figure comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from livetrans.bench.layout import Column, Value
from livetrans.bench.paper import NE_UNIT, PAPER_MACHINE, PaperRow
from livetrans.bench.rows import Drafting, TableRow
from livetrans.bench.viewing import Latency
from livetrans.metrics.latency import Spread, percentile, spread_of

Row = TypeVar("Row")
Figures = tuple[tuple[Column, Callable[[Row], Value]], ...]

RANKS = (
    "speedup", "segments", "NE", "NE screen", "AL-CA s", "lag p50 s", "COMET", "chrF - rt", "A/D %", "lag p95 s",
    "chrF", "COMET - rt", "NE shown", "LAAL-CA s", "BLEU", "BLEU - rt", "stable s", "AL s", "NE raw", "A/O %", "LAAL s",
    "chrF partials", "update ms", "TPS ratio*", "NE sums", "TPS ratio", "NE screen raw", "finals as rt", "passes",
    "evaluated", "TPS", "hidden", "updates", "tokens", "alpha %", "tokens/pass", "expected", "fallback %",
    "rollback %", "proposed", "draft %", "tokens/update",
)  # fmt: skip
"""The columns from the most to the least important: a terminal too narrow for all shows the first of them."""

INTERVAL = "[95 % interval, paired bootstrap]"
SPREAD = "(least-most of repeats)"


def times(scale: float, value: float | None) -> float | None:
    return None if value is None else value * scale


def _milliseconds(seconds: Spread | None) -> Spread | None:
    return None if seconds is None else Spread(*(1000 * each for each in seconds))


def _of_repeats(figure: Callable[[Latency], float | None]) -> Callable[[TableRow], Value]:
    return lambda row: spread_of(map(figure, row.latencies))


def _of_drafting(figure: Callable[[Drafting], float | None]) -> Callable[[TableRow], Value]:
    return lambda row: figure(row.drafting) if row.drafting else None


METHOD = Column("method", "DECODER@BIAS; +mask, +display: masks; +worth, +exact: how finals are decoded")
WORDS = Column("words", "length of the source")

_ALL: dict[str, tuple[str, int, Callable[[TableRow], Value]]] = {
    "COMET": ("of finals against the references, by --comet MODEL", 3, lambda row: row.quality.comet),
    "COMET - rt": (f"COMET less rt's {INTERVAL}", 3, lambda row: row.quality.comet_difference),
    "BLEU": ("of finals against the references, 0 to 100", 1, lambda row: row.quality.bleu),
    "BLEU - rt": (f"BLEU less rt's {INTERVAL}", 1, lambda row: row.quality.bleu_difference),
    "chrF": ("chrF2 of finals against the references, 0 to 100", 1, lambda row: row.quality.chrf),
    "chrF - rt": (f"chrF less rt's {INTERVAL}", 1, lambda row: row.quality.chrf_difference),
    "chrF partials": ("chrF of partials against rt's for the same prefix [95 % interval]", 1, lambda row: row.partials),
    "NE": ("normalized erasure: erased tokens / final tokens, mean over utterances", 2, lambda row: row.ne_mean),
    "NE sums": ("all erased tokens / all final tokens", 2, lambda row: row.ne_ratio),
    "NE raw": (
        "all erased tokens / all final tokens, nothing hidden",
        2,
        lambda row: row.ne_ratio if row.mask == "none" else None,
    ),
    "NE shown": ("the same of captions, the mask's tokens hidden", 2, lambda row: row.screen.segment_erasure),
    "NE screen": ("words taken back / words, all captions as one text", 3, lambda row: row.screen.erasure),
    "NE screen raw": ("NE screen with nothing hidden", 3, lambda row: row.screen.raw_erasure),
    "stable s": (
        f"median from a word's end to its translation's last change {SPREAD}",
        2,
        lambda row: row.screen.stability,
    ),
    "hidden": ("tokens held back by the mask, an update", 1, lambda row: row.screen.hidden_tokens),
    "A/D %": ("accepted tokens / draft tokens", 1, lambda row: times(100, row.accepted_per_draft)),
    "A/O %": ("accepted tokens / output tokens", 1, lambda row: times(100, row.accepted_per_output)),
    "update ms": (f"time of a whole update {SPREAD}", 2, lambda row: _milliseconds(row.speed.update_seconds)),
    "speedup": (f"rt's update time / the method's {SPREAD}", 2, lambda row: row.speed.speedup),
    "TPS": (
        f"output tokens / seconds of verification and decoding {SPREAD}",
        0,
        lambda row: row.speed.tokens_per_second,
    ),
    "TPS ratio": (f"TPS / TPS of rt {SPREAD}", 2, lambda row: row.speed.tps_ratio),
    "TPS ratio*": (
        f"estimates the paper's speedup: the prompt's share left out {SPREAD}",
        2,
        lambda row: row.speed.tps_ratio_shared,
    ),
    "passes": ("model calls an update", 1, lambda row: row.passes),
    "evaluated": ("tokens through the model, an update", 1, lambda row: row.evaluated_tokens),
    "updates": ("updates of one repeat", 0, lambda row: row.updates),
    "segments": ("segments of one repeat", 0, lambda row: row.finals),
    "tokens": ("output tokens of one repeat", 0, lambda row: row.output_tokens),
    "tokens/update": ("output tokens, an update", 1, lambda row: row.output_tokens / row.updates),
    "finals as rt": ("finals with the same text as rt's / finals", 0, lambda row: f"{row.equal_finals}/{row.finals}"),
    "AL s": ("average lagging, as if translating took no time", 2, lambda row: row.latencies[0].average_lagging),
    "AL-CA s": (
        f"AL with the time of recognising and translating {SPREAD}",
        2,
        _of_repeats(lambda latency: latency.average_lagging_aware),
    ),
    "LAAL s": ("length-adaptive average lagging, as AL", 2, lambda row: row.latencies[0].laal),
    "LAAL-CA s": (
        f"LAAL with the time of recognising and translating {SPREAD}",
        2,
        _of_repeats(lambda latency: latency.laal_aware),
    ),
    "lag p50 s": (
        f"median from a word to its translation, of live streams {SPREAD}",
        2,
        _of_repeats(lambda latency: percentile(sorted(latency.lags), 0.5)),
    ),
    "lag p95 s": (
        f"the 95th percentile of that {SPREAD}",
        2,
        _of_repeats(lambda latency: percentile(sorted(latency.lags), 0.95)),
    ),
    "alpha %": ("proposed tokens accepted / judged", 1, _of_drafting(lambda own: times(100, own.acceptance_rate))),
    "tokens/pass": (
        "tokens written, without the previous output's / passes of the translator",
        2,
        _of_drafting(lambda own: own.tokens_per_pass),
    ),
    "expected": (
        "tokens a pass by (1 - alpha^(gamma+1)) / (1 - alpha)",
        2,
        _of_drafting(lambda own: own.expected_per_pass),
    ),
    "fallback %": ("draft model too unsure / tokens written", 1, _of_drafting(lambda own: times(100, own.fallbacks))),
    "rollback %": ("passes that rejected / tokens written", 1, _of_drafting(lambda own: times(100, own.rollbacks))),
    "proposed": ("tokens proposed / tokens written", 2, _of_drafting(lambda own: own.proposed)),
    "draft %": ("draft model's time / time of generation", 1, _of_drafting(lambda own: times(100, own.draft_time))),
}


def _chosen(*names: str) -> Figures[TableRow]:
    return tuple(
        (Column(name, meaning, decimals, RANKS.index(name) + 1), figure)
        for name in names
        for meaning, decimals, figure in (_ALL[name],)
    )


FIGURES = _chosen(
    "COMET", "COMET - rt", "BLEU", "BLEU - rt", "chrF", "chrF - rt", "NE", "NE sums", "A/D %", "A/O %", "update ms",
    "speedup", "TPS", "TPS ratio", "TPS ratio*",
)  # fmt: skip
FIGURES_BESIDE_PAPER: Figures[TableRow] = tuple(
    (replace(column, rank=RANKS.index("COMET") + 1) if column.name == "TPS ratio*" else column, figure)
    for column, figure in FIGURES
)
"""The same where the paper's speedup stands beside them, which is to be compared with `TPS ratio*`."""
LATENCIES = _chosen("AL s", "AL-CA s", "LAAL s", "LAAL-CA s", "lag p50 s", "lag p95 s")
CALM = _chosen(
    "speedup", "TPS ratio", "passes", "evaluated", "A/D %", "A/O %", "NE sums", "NE screen", "NE screen raw",
    "stable s", "hidden", "chrF", "chrF - rt", "BLEU", "BLEU - rt", "chrF partials",
)  # fmt: skip
COMPARISON = _chosen(
    "updates", "tokens", "A/D %", "A/O %", "update ms", "speedup", "TPS", "TPS ratio", "TPS ratio*", "NE raw",
    "NE shown", "NE screen", "finals as rt",
)  # fmt: skip
DRAFTS = _chosen(
    "speedup", "alpha %", "tokens/pass", "expected", "fallback %", "rollback %", "proposed", "draft %", "passes",
    "finals as rt", "chrF", "chrF - rt", "BLEU", "BLEU - rt", "NE sums",
)  # fmt: skip
LENGTHS = _chosen(
    "segments", "tokens/update", "passes", "update ms", "speedup", "TPS ratio", "chrF", "chrF - rt", "BLEU",
    "BLEU - rt", "NE sums",
)  # fmt: skip
PAPER_FIGURES: Figures[PaperRow] = (
    (Column("COMET", decimals=3), lambda row: row.comet),
    (Column("NE", decimals=2, unit=NE_UNIT), lambda row: row.ne),
    (Column("A/D %", decimals=1), lambda row: row.accepted_per_draft),
    (Column("A/O %", decimals=1), lambda row: row.accepted_per_output),
    (Column("TPS", caveats=(f"The paper's TPS is of an {PAPER_MACHINE}.",)), lambda row: row.tokens_per_second),
    (Column("TPS ratio", decimals=2, beside="TPS ratio*"), lambda row: row.tps_ratio),
)


def columns_of(figures: Figures[Any], group: str = "") -> list[Column]:
    return [replace(column, group=group) for column, _ in figures]


def cells_of(figures: Figures[Row], row: Row | None) -> list[Value]:
    return [None if row is None else cell(row) for _, cell in figures]
