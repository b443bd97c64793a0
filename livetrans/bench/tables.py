"""The paper's tables from scored runs. Every function takes runs and gives a table; nothing is measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from livetrans.bench.layout import Column, Table, Value
from livetrans.bench.methods import BASELINE
from livetrans.bench.paper import ACL_60_60, BIAS_SWEEP, FLORES, MASKS, QWEN, SWEEP_PAIR, TOWER, PaperRow
from livetrans.bench.records import ModelRecord
from livetrans.bench.rows import TableRow
from livetrans.bench.scoring import ScoredRun, model_name
from livetrans.errors import UsageError
from livetrans.metrics.lag import percentile


@dataclass(frozen=True, slots=True)
class TableSettings:
    bias: float = 0.2
    """Of the ssbd in Tables 2, 4 and 6."""
    paper: bool = False
    """Put the paper's figures beside ours."""

    @property
    def method(self) -> str:
        return f"ssbd@{self.bias:g}"


_Cell = Callable[[TableRow], Value]
_FIGURES: tuple[tuple[Column, _Cell], ...] = (
    (Column("COMET", 3), lambda row: row.comet),
    (Column("BLEU", 1), lambda row: row.bleu),
    (Column("chrF", 1), lambda row: row.chrf),
    (Column("NE", 2), lambda row: row.ne_mean),
    (Column("NE sums", 2), lambda row: row.ne_ratio),
    (Column("A/D %", 1), lambda row: _percent(row.accepted_per_draft)),
    (Column("A/O %", 1), lambda row: _percent(row.accepted_per_output)),
    (Column("TPS", 0), lambda row: row.tokens_per_second),
    (Column("speedup", 2), lambda row: row.speedup),
    (Column("speedup*", 2), lambda row: row.shared_speedup),
    (Column("update ms", 2), lambda row: None if row.update_seconds is None else row.update_seconds * 1000),
    (Column("update speedup", 2), lambda row: row.wall_speedup),
)
_PAPER_FIGURES: tuple[tuple[Column, Callable[[PaperRow], Value]], ...] = (
    (Column("COMET", 3), lambda row: row.comet),
    (Column("NE", 2), lambda row: row.ne),
    (Column("A/D %", 1), lambda row: row.accepted_per_draft),
    (Column("A/O %", 1), lambda row: row.accepted_per_output),
    (Column("TPS", 0), lambda row: row.tokens_per_second),
    (Column("speedup", 2), lambda row: row.speedup),
)
_LATENCIES: tuple[tuple[Column, _Cell], ...] = (
    (Column("AL s", 2), lambda row: row.average_lagging),
    (Column("AL-CA s", 2), lambda row: row.average_lagging_aware),
    (Column("LAAL s", 2), lambda row: row.laal),
    (Column("LAAL-CA s", 2), lambda row: row.laal_aware),
    (Column("lag p50 s", 2), lambda row: percentile(sorted(row.lags), 0.5)),
    (Column("lag p95 s", 2), lambda row: percentile(sorted(row.lags), 0.95)),
)

OVERVIEW_COLUMNS = (Column("method"), *(column for column, _ in _FIGURES))
LATENCY_COLUMNS = (Column("method"), Column("model"), *(column for column, _ in _LATENCIES))


def table_2(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """Methods x language pairs x models on text."""
    return _overview("table 2", "re-translation and SSBD on text", _of_kind(runs, "text", 2), FLORES, settings)


def table_6(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """The same on recorded transcript streams."""
    title = "re-translation and SSBD on recorded transcripts"
    return _overview("table 6", title, _of_kind(runs, "recorded", 6), ACL_60_60, settings)


def table_3(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """The bias sweep, with re-translation above and continuous decoding below."""
    _require_one_model(runs, 3)

    def wanted(run: ScoredRun) -> list[TableRow]:
        sweep = sorted(
            (row for row in run.rows if row.decoder == "ssbd" and row.mask == "none"), key=lambda row: row.bias or 0.0
        )
        return [row for row in (run.row(BASELINE), *sweep, run.row("cd")) if row is not None]

    return _sweep("table 3", "the effect of the bias", runs, wanted, BIAS_SWEEP, settings)


def table_4(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """mask-k: output masks, which the draft feels, against display-only ones."""
    _require_one_model(runs, 4)

    def wanted(run: ScoredRun) -> list[TableRow]:
        plain = run.row(settings.method)
        if plain is None:
            raise _without_method(run, settings)
        masked = [row for row in run.rows if row.bias == plain.bias and row.mask != "none"]
        # Output masks first, as in the paper.
        return [plain, *sorted(masked, key=lambda row: (row.mask == "display", row.mask_k))]

    return _sweep("table 4", "mask-k on the output and on the display only", runs, wanted, MASKS, settings)


def latency_table(runs: Sequence[ScoredRun], settings: TableSettings) -> Table:
    """How late recorded streams are translated."""
    runs = _of_kind(runs, "recorded", 0)
    rows = [
        (f"{row.pair} {row.method}", row.model, *(cell(row) for _, cell in _LATENCIES))
        for run in runs
        for row in run.rows
        if row.mask != "display"
    ]
    notes = (
        "AL and LAAL: mean over segments in seconds, of output units that are not taken back any more; CA: aware of "
        "computation, with what each update took in the run, one after another.",
        "lag: from hearing an update's newest word to the end of its translation, the recogniser's time included.",
        *_notes(runs, settings),
    )
    return Table("latency", "latency on recorded transcripts", LATENCY_COLUMNS, tuple(rows), notes)


TABLES: dict[str, Callable[[Sequence[ScoredRun], TableSettings], Table]] = {
    "2": table_2,
    "3": table_3,
    "4": table_4,
    "6": table_6,
    "latency": latency_table,
}


def fitting_tables(runs: Sequence[ScoredRun], settings: TableSettings) -> list[str]:
    """The tables that these runs have the material for."""
    kinds = {run.run.header.corpus.kind for run in runs}
    if kinds == {"recorded"}:
        return ["6", "latency"]
    if len(kinds) > 1 or len({_identity(run) for run in runs}) > 1:
        return ["2"]
    whole = [run for run in runs if run.row(settings.method)]
    names = ["2"] if len(whole) == len(runs) else []
    names.append("3")
    if len(whole) == len(runs) and any(row.mask != "none" for run in runs for row in run.rows):
        names.append("4")
    return names


def _overview(
    name: str,
    title: str,
    runs: Sequence[ScoredRun],
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
    columns = [Column("method")]
    columns += [Column(one.name, one.decimals, model if grouped else "") for model in models for one, _ in _FIGURES]
    papers = (TOWER, QWEN) if settings.paper else ()
    columns += [Column(one.name, one.decimals, f"paper: {model}") for model in papers for one, _ in _PAPER_FIGURES]
    rows = []
    for pair in dict.fromkeys(pair for pair, _ in by_place):
        for label in (BASELINE, settings.method):
            cells: list[Value] = [f"{pair} {label}"]
            for model in models:
                place = by_place.get((pair, model))
                cells += _figures(place.row(label) if place else None)
            for model in papers:
                cells += _paper_figures(paper.get((pair, label, model)))
            rows.append(tuple(cells))
    return Table(name, title, tuple(columns), tuple(rows), (*_legend(settings), *_notes(runs, settings)))


def _sweep(
    name: str,
    title: str,
    runs: Sequence[ScoredRun],
    wanted: Callable[[ScoredRun], list[TableRow]],
    paper: Mapping[str, PaperRow],
    settings: TableSettings,
) -> Table:
    """A line for each method, file after file."""
    columns = [
        Column("method"),
        *(Column(one.name, one.decimals, "ours" if settings.paper else "") for one, _ in _FIGURES),
    ]
    group = f"paper: {TOWER} {SWEEP_PAIR}"
    if settings.paper:
        columns += [Column(one.name, one.decimals, group) for one, _ in _PAPER_FIGURES]
    several = len(runs) > 1
    rows = []
    for run in runs:
        for row in wanted(run):
            cells: list[Value] = [f"{row.pair} {row.corpus} {row.method}" if several else row.method, *_figures(row)]
            if settings.paper:
                cells += _paper_figures(paper.get(row.method))
            rows.append(tuple(cells))
    return Table(name, title, tuple(columns), tuple(rows), (*_legend(settings), *_notes(runs, settings)))


def _figures(row: TableRow | None) -> list[Value]:
    return [None if row is None else cell(row) for _, cell in _FIGURES]


def _paper_figures(row: PaperRow | None) -> list[Value]:
    return [None if row is None else cell(row) for _, cell in _PAPER_FIGURES]


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _of_kind(runs: Sequence[ScoredRun], kind: str, number: int) -> Sequence[ScoredRun]:
    for run in runs:
        if run.run.header.corpus.kind != kind:
            name = f"Table {number}" if number else "the latency table"
            raise UsageError(f"{run.run.path} is a run on {run.run.header.corpus.kind}; {name} is of {kind} corpora")
    return runs


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
    biases = [f"{row.bias:g}" for row in run.rows if row.decoder == "ssbd" and row.mask == "none"]
    advice = f"choose its --bias from {', '.join(biases)}" if biases else "run that method too"
    return UsageError(f"{run.run.path} has no {settings.method}; {advice}")


def _title(run: ScoredRun, runs: Iterable[ScoredRun]) -> str:
    """The model's file name; told apart by its threads or context where that is not enough."""
    same_file = {_identity(other) for other in runs if _identity(other).file == _identity(run).file}
    return model_name(run.run) if len(same_file) == 1 else _described(run)


def _described(run: ScoredRun) -> str:
    model = _identity(run)
    return f"{model_name(run.run)} {model.quantisation}, {model.threads} threads, prompt {model.prompt}"


def _legend(settings: TableSettings) -> list[str]:
    lines = [
        "NE: mean of the utterances' normalized erasure (as the paper); NE sums: all erased tokens / all final tokens.",
        "TPS: output tokens / (verification + decoding time); speedup: TPS / TPS of rt. The verifying pass counts "
        "whole, with the prompt's new part; speedup*: with the draft's share of its tokens alone (the paper's count, "
        "whose prompt is a pass of its own).",
        "update ms: time of an update with the prompt and all else; update speedup: rt's / the method's.",
    ]
    if settings.paper:
        lines.append("Paper: Apple M2 Pro, Q4_K_M, NE in Flores-101 tokens.")
    return lines


def _notes(runs: Sequence[ScoredRun], settings: TableSettings) -> list[str]:
    """What produced the figures, a sentence a run."""
    notes = []
    for run in runs:
        header = run.run.header
        corpus, model, machine = header.corpus, header.model, header.machine
        revealed = f", {corpus.step} {corpus.step_unit} at a time" if corpus.step_unit else ""
        updates = run.rows[0].updates
        notes.append(
            f"{run.run.path.name}: {model.file} ({model.name}, {model.quantisation}, {model.size_bytes / 1e6:.1f} MB), "
            f"{model.threads} thread{'s' if model.threads > 1 else ''}, on {corpus.name} "
            f"{corpus.source_language}-{corpus.target_language} ({run.rows[0].finals} segments, {updates} updates"
            f"{revealed}), median of {header.repeats} repeats, {header.time} time; NE in {unit_name(run.unit)}; "
            f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores; "
            f"livetrans {header.versions.get('livetrans', '?')}, "
            f"llama-cpp-python {header.versions.get('llama_cpp_python', '?')}."
        )
        notes += run.notes
        notes += [f"Quality: {signature}." for signature in run.signatures]
        if run.signatures and run.rows[0].comet is None:
            notes.append("COMET was not computed: give --comet MODEL (needs livetrans[comet]).")
    return list(dict.fromkeys(notes))


def unit_name(unit: str) -> str:
    return "the model's own tokens" if unit == "model" else f"{unit} tokens"
