"""The paper's tables from scored runs. Every function takes runs and gives a table; nothing is measured here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from livetrans.bench.figures import (
    FIGURES,
    FIGURES_BESIDE_PAPER,
    METHOD,
    PAPER_FIGURES,
    Figures,
    cells_of,
    columns_of,
)
from livetrans.bench.layout import Table, Value
from livetrans.bench.methods import BASELINE, PAPER_DECODER, parse_method
from livetrans.bench.own_tables import (
    KINDS,
    calm_table,
    drafts_table,
    latency_table,
    lengths_table,
    of_kind,
    with_labels,
)
from livetrans.bench.paper import ACL_60_60, FLORES, QWEN, SWEEP, TABLE_2, TABLE_3, TABLE_4, TABLE_6, TOWER, PaperRow
from livetrans.bench.provenance import make_table
from livetrans.bench.rows import TableRow
from livetrans.bench.scoring import ScoredRun
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.signature import ModelRecord


@dataclass(frozen=True, slots=True)
class TableSettings:
    bias: float = 0.2
    """Of the method that Tables 2, 4 and 6 set against the baseline."""
    paper: bool = False
    """Put the paper's figures beside ours."""

    @property
    def method(self) -> str:
        return parse_method(f"{PAPER_DECODER}@{self.bias!r}").label


def table_2(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """Methods x language pairs x models on text."""
    title = "re-translation and SSBD on text"
    return _overview("table 2", title, of_kind(runs, "text", "Table 2"), FLORES, TABLE_2, settings)


def table_6(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """The same on recorded transcript streams."""
    title = "re-translation and SSBD on recorded transcripts"
    return _overview("table 6", title, of_kind(runs, "recorded", "Table 6"), ACL_60_60, TABLE_6, settings)


def table_3(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """The bias sweep, with re-translation above and continuous decoding below."""
    _require_one_model(runs, 3)

    def wanted(run: ScoredRun) -> list[TableRow]:
        plain = [row for row in run.rows if row.mask == "none"]
        sweep = sorted((row for row in plain if row.bias is not None), key=lambda row: (row.decoder, row.bias or 0.0))
        others = [row for row in plain if row.bias is None and row.method != BASELINE]
        return [*(row for row in plain if row.method == BASELINE), *sweep, *others]

    return _sweep("table 3", "the effect of the bias", runs, wanted, TABLE_3, settings)


def table_4(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """mask-k: output masks, which shorten the draft, against display-only ones."""
    _require_one_model(runs, 4)

    def wanted(run: ScoredRun) -> list[TableRow]:
        plain = run.row(settings.method)
        if plain is None:
            raise _without_method(run, settings)
        masked = [
            row for row in run.rows if (row.decoder, row.bias) == (plain.decoder, plain.bias) and row.mask != "none"
        ]
        # Output masks first, as in the paper.
        return [plain, *sorted(masked, key=lambda row: (row.mask == "display", row.mask_k))]

    return _sweep("table 4", "mask-k on the output and on the display only", runs, wanted, TABLE_4, settings)


TABLES: dict[str, Callable[[Sequence[ScoredRun], TableSettings], Table]] = {
    "2": table_2,
    "3": table_3,
    "4": table_4,
    "6": table_6,
    "latency": lambda runs, settings: latency_table(runs),
    "calm": lambda runs, settings: calm_table(runs),
    "drafts": lambda runs, settings: drafts_table(runs),
    "lengths": lambda runs, settings: lengths_table(runs),
}


def possible_tables(runs: Sequence[ScoredRun]) -> list[tuple[str, list[ScoredRun]]]:
    """Each table that some of the runs are of the kind for, and those runs."""
    own: defaultdict[str, list[ScoredRun]] = defaultdict(list)
    for run in runs:
        own[_kind(run)].append(run)
        if _kind(run) in KINDS and any(DECODERS[row.decoder].final for row in run.rows):
            own["windowed"].append(run)
    found = {
        "2": own["text"],
        "3": [*own["text"], *own["both ends"]],
        "4": own["text"],
        "6": own["recorded"],
        "latency": own["recorded"],
        "calm": own["windowed"],
        "drafts": own["drafted"],
        "lengths": own["both ends"],
    }
    return [(name, fitting) for name, fitting in found.items() if fitting]


def _kind(run: ScoredRun) -> str:
    """What a run has the figures for: `drafted`, `both ends`, or plain decoding of `text` or `recorded` streams."""
    if any(row.drafting for row in run.rows):
        return "drafted"
    return "both ends" if run.run.header.double_model else run.run.header.corpus.kind


def _overview(
    name: str,
    title: str,
    runs: Sequence[ScoredRun],
    corpus_of_paper: str,
    paper: Mapping[tuple[str, str, str], PaperRow],
    settings: TableSettings,
) -> Table:
    """A line for each pair and method, a group of columns for each model."""
    by_place: dict[tuple[str, str], ScoredRun] = {}
    corpora: dict[str, str] = {}
    for run in runs:
        if run.row(settings.method) is None:
            raise _without_method(run, settings)
        corpus = run.run.header.corpus
        pair, model = f"{corpus.source_language}-{corpus.target_language}", _title(run, runs)
        if (pair, model) in by_place:
            raise UsageError(
                f"{by_place[pair, model].run.path} and {run.run.path} are both of {model} on {pair}; "
                f"give one of them to {name}"
            )
        if corpora.setdefault(pair, corpus.sha256) != corpus.sha256:
            raise UsageError(
                f"{run.run.path} has other {pair} sentences than the runs before it; {name} compares on the same"
            )
        by_place[pair, model] = run
    models = list(dict.fromkeys(model for _, model in by_place))
    grouped = len(models) > 1 or settings.paper
    papers = (TOWER, QWEN) if settings.paper else ()
    columns = [METHOD]
    for model in models:
        columns += columns_of(_figures(settings), model if grouped else "")
    for model in papers:
        columns += columns_of(PAPER_FIGURES, f"paper: {corpus_of_paper}, {model}")
    rows = []
    for pair in dict.fromkeys(pair for pair, _ in by_place):
        for label in (BASELINE, settings.method):
            cells: list[Value] = [f"{pair} {label}"]
            for model in models:
                place = by_place.get((pair, model))
                cells += cells_of(FIGURES, place.row(label) if place else None)
            for model in papers:
                cells += cells_of(PAPER_FIGURES, paper.get((pair, label, model)))
            rows.append(tuple(cells))
    return make_table(name, title, columns, rows, runs)


def _figures(settings: TableSettings) -> Figures[TableRow]:
    return FIGURES_BESIDE_PAPER if settings.paper else FIGURES


def _sweep(
    name: str,
    title: str,
    runs: Sequence[ScoredRun],
    wanted: Callable[[ScoredRun], list[TableRow]],
    paper: Mapping[str, PaperRow],
    settings: TableSettings,
) -> Table:
    """A line for each method, file after file."""
    columns = [METHOD, *columns_of(_figures(settings), "ours" if settings.paper else "")]
    if settings.paper:
        columns += columns_of(PAPER_FIGURES, f"paper: {SWEEP}")
    rows = []
    for run, label in with_labels(runs):
        for row in wanted(run):
            cells: list[Value] = [f"{label}{row.method}"]
            cells += cells_of(FIGURES, row)
            if settings.paper:
                cells += cells_of(PAPER_FIGURES, paper.get(row.method))
            rows.append(tuple(cells))
    return make_table(name, title, columns, rows, runs)


def _identity(run: ScoredRun) -> ModelRecord:
    return run.run.header.model


def _require_one_model(runs: Sequence[ScoredRun], number: int) -> None:
    for run in runs[1:]:
        if _identity(run) != _identity(runs[0]):
            raise UsageError(
                f"{runs[0].run.path} and {run.run.path} are of different models ({_described(runs[0])}, "
                f"{_described(run)}); Table {number} is of one"
            )


def _without_method(run: ScoredRun, settings: TableSettings) -> UsageError:
    biases = [f"{row.bias:g}" for row in run.rows if row.decoder == PAPER_DECODER and row.mask == "none"]
    advice = f"choose its --bias from {', '.join(biases)}" if biases else "run that method too"
    return UsageError(f"{run.run.path} has no {settings.method}; {advice}")


def _title(run: ScoredRun, runs: Iterable[ScoredRun]) -> str:
    """The model's file name, with its threads and prompt where two models share it."""
    same_file = {_identity(other) for other in runs if _identity(other).file == _identity(run).file}
    return run.run.model_name if len(same_file) == 1 else _described(run)


def _described(run: ScoredRun) -> str:
    model = _identity(run)
    return f"{run.run.model_name} {model.quantisation}, {model.threads} threads, prompt {model.prompt}"
