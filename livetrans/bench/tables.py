"""The tables: which figures of which rows each shows. Nothing is measured here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from livetrans.bench.figures import (
    FIGURES,
    METHOD,
    WORDS,
    column_of,
    explained,
    general_notes,
    names_of,
    pair_of,
    scope_of,
    signatures_of,
)
from livetrans.bench.measures import MeasuredRun, Row, of_segments
from livetrans.bench.methods import BASELINE, PAPER_DECODER, parse_method
from livetrans.bench.table import Column, Table, Value
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.languages import parse_language

Lines = Iterable[tuple[str, Row]]
"""The rows of a table, each with the length of its sources where lengths are told apart."""

EDGES = (1, 5, 9, 13, 17, 25, 10**9)
"""Words from which on a group begins: 1 to 4, 5 to 8 ... 25 or more; characters in scripts without spaces."""
_CORPORA = {"text": "text (`bench run --source`)", "recorded": "recorded streams (`bench run --recorded`)"}
"""The kinds of corpora, and how a run on each is made."""


def _at_one_bias(run: MeasuredRun, method: str) -> Lines:
    return [("", row) for row in run.rows if row.label in (BASELINE, method)]


def _by_bias(run: MeasuredRun, method: str) -> Lines:
    """Return `rt`, the biased methods by their bias, and the other methods."""

    def place(row: Row) -> tuple[int, str, float]:
        if row.of.bias is not None:
            return 1, row.of.decoder, row.of.bias
        return 0 if row.label == BASELINE else 2, "", 0.0

    return [("", row) for row in sorted((row for row in run.rows if row.mask == "none"), key=place)]


def _by_mask(run: MeasuredRun, method: str) -> Lines:
    """Return the method at one bias without a mask, then with output masks, as in the paper, then with others."""
    [chosen] = [row for row in run.rows if row.label == method]
    alike = [row for row in run.rows if (row.of.decoder, row.of.bias) == (chosen.of.decoder, chosen.of.bias)]
    masked = [row for row in alike if row.mask != "none"]
    return [("", row) for row in (chosen, *sorted(masked, key=lambda row: (row.mask == "display", row.mask_k)))]


def _every_method(run: MeasuredRun, method: str) -> Lines:
    return [("", row) for row in run.rows if row.mask != "display"]


def _by_length(run: MeasuredRun, method: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of each group of lengths that has a segment, shortest first, each group measured alone."""
    spaced = parse_language(run.file.header.corpus.source_language).spaced
    for begin, end in pairwise(EDGES):
        ids = {
            segment.segment_id
            for segment in run.segments
            if begin <= len(segment.source.split() if spaced else segment.source) < end
        }
        if ids:
            name = f"{begin}-{end - 1}" if end < EDGES[-1] else f"{begin}+"
            yield from ((name, row) for row in of_segments(run, ids).rows)


class TableKind(NamedTuple):
    """What a table shows."""

    title: str
    figures: tuple[str, ...]
    lines: Callable[[MeasuredRun, str], Lines] = _every_method
    """Its rows of a run; of the paper's method, the label at the chosen bias."""
    of: tuple[str, ...] = ()
    """The kinds of runs that it is made of without being named, see `kinds_of`."""
    corpus: str = ""
    """The only kind of corpus that it is of."""
    at_bias: bool = False
    """Whether it shows the paper's method at one bias, which a run must have."""


_OF_PAPER = (
    "COMET", "COMET - rt", "BLEU", "BLEU - rt", "chrF", "chrF - rt", "NE", "NE sums", "A/D %", "A/O %", "update ms",
    "speedup", "TPS", "TPS ratio", "TPS ratio*",
)  # fmt: skip
_QUALITY = ("chrF", "chrF - rt", "BLEU", "BLEU - rt")

TABLES = {
    "2": TableKind("re-translation and SSBD on text", _OF_PAPER, _at_one_bias, ("text",), "text", at_bias=True),
    "3": TableKind("the effect of the bias", _OF_PAPER, _by_bias, ("text", "both ends")),
    "4": TableKind("mask-k on the output and on the display only", _OF_PAPER, _by_mask, ("text",), at_bias=True),
    "6": TableKind(
        "re-translation and SSBD on recorded transcripts",
        _OF_PAPER,
        _at_one_bias,
        ("recorded",),
        "recorded",
        at_bias=True,
    ),
    "latency": TableKind(
        "latency on recorded transcripts",
        ("AL s", "AL-CA s", "LAAL s", "LAAL-CA s", "lag p50 s", "lag p95 s"),
        of=("recorded",),
        corpus="recorded",
    ),
    "calm": TableKind(
        "calm, speed and quality",
        ("speedup", "TPS ratio", "passes", "evaluated", "A/D %", "A/O %", "NE sums", "NE screen",
         "meanwhile %", "right %", "there %", "hidden", *_QUALITY, "chrF partials"),
        of=("windowed",),
    ),
    "drafts": TableKind(
        "methods with a draft model",
        ("speedup", "alpha %", "tokens/pass", "expected", "fallback %", "rollback %", "proposed", "draft %", "passes",
         "finals as rt", *_QUALITY, "NE sums"),
        of=("drafted",),
    ),
    "lengths": TableKind(
        "speed and quality by the length of the source",
        ("segments", "tokens/update", "passes", "update ms", "speedup", "TPS ratio", *_QUALITY, "NE sums"),
        lines=_by_length,
        of=("both ends",),
    ),
}  # fmt: skip
COMPARISON = TableKind(
    "the methods on the same updates",
    ("updates", "tokens", "A/D %", "A/O %", "update ms", "speedup", "TPS", "TPS ratio", "TPS ratio*", "NE raw",
     "NE shown", "NE screen", "finals as rt"),
)  # fmt: skip
"""What `replay --compare` prints; no quality without a reference."""


def make_table(name: str, runs: Sequence[MeasuredRun], bias: float = 0.2, *, paper: bool = False) -> Table:
    """Return the table of that name in `TABLES`, with `paper` beside the paper's figures.

    `bias` is of the method that Tables 2, 4 and 6 set against the baseline.

    Raises:
        UsageError: a run is not of the table's kind.
    """
    kind = TABLES[name]
    method = parse_method(f"{PAPER_DECODER}@{bias!r}").label
    number = f"Table {name}" if name.isdigit() else f"the {name} table"
    for run in runs:
        corpus = run.file.header.corpus.kind
        if kind.corpus not in ("", corpus):
            on = corpus.replace("recorded", "recorded streams")
            raise UsageError(f"{run.file.path} is a run on {on}; {number} is of {_CORPORA[kind.corpus]}")
        if kind.at_bias and run.row(method) is None:
            biases = [f"{row.of.bias:g}" for row in run.rows if row.of.decoder == PAPER_DECODER and row.mask == "none"]
            advice = f"choose its --bias from {', '.join(biases)}" if biases else "run that method too"
            raise UsageError(f"{run.file.path} has no {method}; {advice}")
    title = f"table {name}" if name.isdigit() else name
    quick = ", quick" if any(run.file.header.quick for run in runs) else ""
    return _assembled(title + quick, kind, runs, method, _paper()["tables"].get(name, {}) if paper else {})


def comparison_table(run: MeasuredRun, signature: str) -> Table:
    """Return the methods of one run side by side."""
    return replace(_assembled("", COMPARISON, [run], "", {}), signature=(signature,))


def _assembled(
    name: str, kind: TableKind, runs: Sequence[MeasuredRun], method: str, paper: dict[str, dict[str, list[Value]]]
) -> Table:
    """Return the rows of the runs, with a group of columns of ours and one for each of the paper's models."""
    columns = [replace(explained(column_of(figure), runs), group="ours" if paper else "") for figure in kind.figures]
    columns += [replace(column, group=f"paper: {group}") for group in paper for column in _paper_columns(columns)]
    rows: list[tuple[Value, ...]] = []
    lengths = False
    for name_of_run, run in zip(names_of(runs), runs, strict=True):
        for length, row in kind.lines(run, method):
            lengths |= bool(length)
            cells: list[Value] = [f"{name_of_run} {row.label}".strip(), *([length] if length else [])]
            cells += [FIGURES[figure].of(row) for figure in kind.figures]
            for printed in paper.values():
                known = printed.get(f"{pair_of(run.file)} {row.label}") or printed.get(row.label)
                cells += [None if one == "" else one for one in known or [""] * len(_paper()["columns"])]
            rows.append(tuple(cells))
    return Table(
        name=name,
        title=kind.title,
        columns=(METHOD, *([WORDS] if lengths else []), *columns),
        rows=tuple(rows),
        caveats=tuple(note for run in runs for note in general_notes(run)),
        signature=tuple(signatures_of(runs)),
        scope=scope_of(runs),
    )


@cache
def _paper() -> dict[str, Any]:
    paper = tomllib.loads(files("livetrans.bench").joinpath("paper.toml").read_text(encoding="utf-8"))
    for table in paper["tables"].values():
        for group, rows in table.items():
            table[group] = {name: figures for name, *figures in rows}
    return paper


def _paper_columns(columns: Sequence[Column]) -> Iterator[Column]:
    """Yield the columns of the paper's figures, with what sets them apart from ours."""
    unit = _paper()["unit"]
    ours = next(column.unit for column in columns if column.name == "NE")
    caveats = {"TPS": f"The paper's TPS is of an {_paper()['machine']}."}
    if ours != unit:
        caveats["NE"] = (
            "The paper's NE cannot be compared with ours: the units differ. --unit flores101 counts as the paper does; "
            'docs/bench.md says under "What to download" where its model comes from.'
        )
    for name in _paper()["columns"]:
        caveat = caveats.get(name)
        yield Column(
            name, "", FIGURES[name].decimals, unit=unit if name == "NE" else "", caveats=(caveat,) if caveat else ()
        )


def kinds_of(run: MeasuredRun) -> set[str]:
    """Return what a run has the figures for: draft models, both ends, or plain decoding of text or recorded streams."""
    if any(row.of.drafted for row in run.rows):
        return {"drafted"}
    if run.file.header.double_model:
        return {"both ends"}
    windowed = any(DECODERS[row.of.decoder].final for row in run.rows)
    return {run.file.header.corpus.kind, *(["windowed"] if windowed else [])}
