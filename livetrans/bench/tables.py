"""The tables: which figures of which rows each shows. Nothing is measured here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from livetrans.bench.figures import FIGURES, METHOD, WORDS, column_of
from livetrans.bench.measures import MeasuredRun, Row, of_segments
from livetrans.bench.methods import BASELINE, PAPER_DECODER, parse_method
from livetrans.bench.notes import explained, origin_of, pair_of, scope_of, signatures_of, tell_apart
from livetrans.bench.table import Column, Table, Value
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.languages import parse_language

_OF_PAPER = (
    "COMET", "COMET - rt", "BLEU", "BLEU - rt", "chrF", "chrF - rt", "NE", "NE sums", "A/D %", "A/O %", "update ms",
    "speedup", "TPS", "TPS ratio", "TPS ratio*",
)  # fmt: skip
_QUALITY = ("chrF", "chrF - rt", "BLEU", "BLEU - rt")


class TableKind(NamedTuple):
    """What a table shows."""

    title: str
    figures: tuple[str, ...]
    of: tuple[str, ...]
    """The kinds of runs that it is made of without being named, see `_kinds`."""


TABLES = {
    "2": TableKind("re-translation and SSBD on text", _OF_PAPER, ("text",)),
    "3": TableKind("the effect of the bias", _OF_PAPER, ("text", "both ends")),
    "4": TableKind("mask-k on the output and on the display only", _OF_PAPER, ("text",)),
    "6": TableKind("re-translation and SSBD on recorded transcripts", _OF_PAPER, ("recorded",)),
    "latency": TableKind(
        "latency on recorded transcripts",
        ("AL s", "AL-CA s", "LAAL s", "LAAL-CA s", "lag p50 s", "lag p95 s"),
        ("recorded",),
    ),
    "calm": TableKind(
        "calm, speed and quality",
        ("speedup", "TPS ratio", "passes", "evaluated", "A/D %", "A/O %", "NE sums", "NE screen", "NE screen raw",
         "meanwhile %", "right %", "there %", "stable s", "hidden", *_QUALITY, "chrF partials"),
        ("windowed",),
    ),
    "drafts": TableKind(
        "methods with a draft model",
        ("speedup", "alpha %", "tokens/pass", "expected", "fallback %", "rollback %", "proposed", "draft %", "passes",
         "finals as rt", *_QUALITY, "NE sums"),
        ("drafted",),
    ),
    "lengths": TableKind(
        "speed and quality by the length of the source",
        ("segments", "tokens/update", "passes", "update ms", "speedup", "TPS ratio", *_QUALITY, "NE sums"),
        ("both ends",),
    ),
}  # fmt: skip
COMPARISON = TableKind(
    "the methods on the same updates",
    ("updates", "tokens", "A/D %", "A/O %", "update ms", "speedup", "TPS", "TPS ratio", "TPS ratio*", "NE raw",
     "NE shown", "NE screen", "finals as rt"),
    (),
)  # fmt: skip
"""What `replay --compare` prints; no quality without a reference."""

EDGES = (1, 5, 9, 13, 17, 25, 10**9)
"""Words from which on a group begins: 1 to 4, 5 to 8 ... 25 or more; characters in scripts without spaces."""
_CORPORA = {"text": "text (`bench run --source`)", "recorded": "recorded streams (`bench run --recorded`)"}
"""The kinds of corpora, and how a run on each is made."""


@dataclass(frozen=True, slots=True)
class TableSettings:
    bias: float = 0.2
    """Of the method that Tables 2, 4 and 6 set against the baseline."""
    paper: bool = False
    """Put the paper's figures beside ours."""

    @property
    def method(self) -> str:
        return parse_method(f"{PAPER_DECODER}@{self.bias!r}").label


def make_table(name: str, runs: Sequence[MeasuredRun], settings: TableSettings) -> Table:
    """Return the table of that name in `TABLES`.

    Raises:
        UsageError: the runs do not belong in one such table.
    """
    corpus = {"2": "text", "6": "recorded", "latency": "recorded"}.get(name)
    number = f"Table {name}" if name.isdigit() else f"the {name} table"
    for run in runs:
        kind = run.file.header.corpus.kind
        if corpus and kind != corpus:
            on = kind.replace("recorded", "recorded streams")
            raise UsageError(f"{run.file.path} is a run on {on}; {number} is of {_CORPORA[corpus]}")
        if name in "34" and run.file.header.model != runs[0].file.header.model:
            raise UsageError(
                f"{runs[0].file.path} and {run.file.path} are of different models ({_described(runs[0])}, "
                f"{_described(run)}); {number} is of one"
            )
        if name in "246" and run.row(settings.method) is None:
            biases = [f"{row.of.bias:g}" for row in run.rows if row.of.decoder == PAPER_DECODER and row.mask == "none"]
            advice = f"choose its --bias from {', '.join(biases)}" if biases else "run that method too"
            raise UsageError(f"{run.file.path} has no {settings.method}; {advice}")
    paper = _paper()["tables"].get(name, {}) if settings.paper else {}
    title = f"table {name}" if name.isdigit() else name
    if name in "26":
        return _assembled(title, TABLES[name], runs, paper, *_by_model(title, runs, settings, grouped=bool(paper)))
    lines = [
        _Line((f"{label}{row.label}", *length), [row], row.label)
        for run, label in _labelled(runs)
        for length, row in (
            _by_length(run) if name == "lengths" else (((), row) for row in _chosen(name, run, settings))
        )
    ]
    return _assembled(title, TABLES[name], runs, paper, lines, ["ours" if paper else ""])


def comparison_table(run: MeasuredRun, signature: str) -> Table:
    """Return the methods of one run side by side."""
    lines = [_Line((row.label,), [row], "") for row in run.rows]
    return replace(_assembled("", COMPARISON, [run], {}, lines, [""]), signature=(signature,))


class _Line(NamedTuple):
    names: tuple[str, ...]
    """Of the row, and where lengths are told apart, of the length."""
    rows: list[Row | None]
    """One for each group of columns."""
    paper: str
    """What the paper's row is called in `paper.toml`."""


def _assembled(
    name: str,
    kind: TableKind,
    runs: Sequence[MeasuredRun],
    paper: Mapping[str, Sequence[Sequence[Any]]],
    lines: Sequence[_Line],
    groups: Sequence[str],
) -> Table:
    """Return the lines as a table with a group of columns for each of ours, and for each of the paper's."""
    # Beside the paper's speedup stands what is to be compared with it, so it matters as much as quality.
    ranks = {"TPS ratio*": "COMET"} if paper else {}
    columns = [METHOD, WORDS][: len(lines[0].names)]
    columns += [replace(column_of(each, ranks.get(each, "")), group=group) for group in groups for each in kind.figures]
    columns += [replace(column, group=f"paper: {group}") for group in paper for column in _paper_columns()]
    rows = []
    for line in lines:
        cells: list[Value] = [*line.names]
        for row in line.rows:
            cells += [None if row is None else FIGURES[each].of(row) for each in kind.figures]
        for printed in paper.values():
            found = next(
                (figures for label, *figures in printed if label == line.paper), [""] * len(_paper()["columns"])
            )
            cells += [None if figure == "" else figure for figure in found]
        rows.append(tuple(cells))
    return Table(
        name=name + (", quick" if name and any(run.file.header.quick for run in runs) else ""),
        title=kind.title,
        columns=tuple(explained(column, columns, runs) for column in columns),
        rows=tuple(rows),
        caveats=tuple(f"{run.file.path.name}: {note}" for run in runs for note in run.notes()),
        signature=tuple(signatures_of(runs)),
        scope=scope_of(runs),
    )


@cache
def _paper() -> dict[str, Any]:
    return tomllib.loads(files("livetrans.bench").joinpath("paper.toml").read_text(encoding="utf-8"))


def _paper_columns() -> Iterator[Column]:
    for name in _paper()["columns"]:
        yield Column(
            name,
            decimals=FIGURES[name].decimals,
            unit=_paper()["unit"] if name == "NE" else "",
            beside="TPS ratio*" if name == "TPS ratio" else "",
            caveats=(f"The paper's TPS is of an {_paper()['machine']}.",) if name == "TPS" else (),
        )


def _chosen(name: str, run: MeasuredRun, settings: TableSettings) -> list[Row]:
    """Return the rows of a run that a table shows, in its order."""
    plain = [row for row in run.rows if row.mask == "none"]
    if name == "3":
        sweep = sorted(
            (row for row in plain if row.of.bias is not None), key=lambda row: (row.of.decoder, row.of.bias or 0.0)
        )
        others = [row for row in plain if row.of.bias is None]
        return [
            *(row for row in others if row.label == BASELINE),
            *sweep,
            *(row for row in others if row.label != BASELINE),
        ]
    if name == "4":
        chosen = next(row for row in plain if row.label == settings.method)
        alike = (row for row in run.rows if (row.of.decoder, row.of.bias) == (chosen.of.decoder, chosen.of.bias))
        masked = (row for row in alike if row.mask != "none")
        # Output masks first, as in the paper.
        return [chosen, *sorted(masked, key=lambda row: (row.mask == "display", row.mask_k))]
    return [row for row in run.rows if row.mask != "display"]


def _by_length(run: MeasuredRun) -> Iterator[tuple[tuple[str], Row]]:
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
            yield from (((name,), row) for row in of_segments(run, ids).rows)


def _by_model(
    name: str, runs: Sequence[MeasuredRun], settings: TableSettings, *, grouped: bool
) -> tuple[list[_Line], list[str]]:
    """Return a line for each pair and method, and the models, which get a group of columns each."""
    places: dict[tuple[str, str], MeasuredRun] = {}
    corpora: dict[str, str] = {}
    for run in runs:
        pair, sha256 = pair_of(run.file), run.file.header.corpus.sha256
        namesakes = {other.file.header.model for other in runs if other.file.model_name == run.file.model_name}
        model = run.file.model_name if len(namesakes) == 1 else _described(run)
        if (pair, model) in places:
            raise UsageError(
                f"{places[pair, model].file.path} and {run.file.path} are both of {model} on {pair}; "
                f"give one of them to {name}"
            )
        if corpora.setdefault(pair, sha256) != sha256:
            raise UsageError(
                f"{run.file.path} has other {pair} sentences than the runs before it; {name} compares on the same"
            )
        places[pair, model] = run
    models = list(dict.fromkeys(model for _, model in places))
    lines = []
    for pair in corpora:
        for label in (BASELINE, settings.method):
            found = [places.get((pair, model)) for model in models]
            lines.append(
                _Line((f"{pair} {label}",), [run.row(label) if run else None for run in found], f"{pair} {label}")
            )
    return lines, models if grouped or len(models) > 1 else [""]


def possible_tables(runs: Sequence[MeasuredRun]) -> list[tuple[str, list[MeasuredRun]]]:
    """Return each table that some of the runs are of the kind for, and those runs."""
    fitting = {name: [run for run in runs if _kinds(run) & {*table.of}] for name, table in TABLES.items()}
    return [(name, chosen) for name, chosen in fitting.items() if chosen]


def _kinds(run: MeasuredRun) -> set[str]:
    """Return what a run has the figures for: draft models, both ends, or plain decoding of text or recorded streams."""
    if any(row.of.drafted for row in run.rows):
        return {"drafted"}
    if run.file.header.double_model:
        return {"both ends"}
    windowed = any(DECODERS[row.of.decoder].final for row in run.rows)
    return {run.file.header.corpus.kind, *(["windowed"] if windowed else [])}


def _labelled(runs: Sequence[MeasuredRun]) -> Iterator[tuple[MeasuredRun, str]]:
    """Yield each run with what stands before its methods: its name and a space, where there are several runs."""
    names = tell_apart(origin_of(run.file) for run in runs)
    for run in runs:
        name = names[origin_of(run.file)]
        yield run, f"{name} " if name else ""


def _described(run: MeasuredRun) -> str:
    model = run.file.header.model
    return f"{run.file.model_name} {model.quantisation}, {model.threads} threads, prompt {model.prompt}"
