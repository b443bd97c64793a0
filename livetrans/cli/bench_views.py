"""`bench table`, `case`, `plot`, `export` and `cost`: what is computed from run files, or measured at once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from livetrans.bench.case import Case, Pieces, as_json, as_latex, as_markdown, as_marks, case_of
from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, cost_values, measure_cost, store_cost
from livetrans.bench.labels import origin_of, tell_apart
from livetrans.bench.layout import Table, rendered
from livetrans.bench.methods import clock_for, masks_of, parse_method, split_methods
from livetrans.bench.runfile import read_run
from livetrans.bench.scoring import ScoredRun, ScoringSettings, score
from livetrans.bench.tables import TABLES, TableSettings, possible_tables
from livetrans.cli.common import progress_bar, say
from livetrans.cli.pages import Page, put, write_tables
from livetrans.config import LanguageModelSettings, MaskSettings
from livetrans.errors import UsageError
from livetrans.files import write_new
from livetrans.models.find import find_translator
from livetrans.signature import machine, quantisation, versions
from livetrans.text import counted, visible

_PAPER_MASKS = (3, 5)
CASE_PAGES = {"markdown": as_markdown, "json": as_json, "latex": as_latex}


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of `bench table`, named as they are."""

    files: tuple[Path, ...]
    names: tuple[str, ...]
    bias: float
    mask_k: tuple[int, ...]
    unit: str | None
    comet: Path | None
    paper: bool
    page: Page


def make_tables(options: TableOptions) -> None:
    """Compute tables and print them, or write them to a file.

    Raises:
        UsageError: files that do not belong in one table, a unit that does not exist, or a file that is there already.
        SessionError: a run file that cannot be read, or an output that cannot be written.
        ModelError: the unit, sacrebleu or COMET is not on this machine.
    """
    settings = TableSettings(options.bias, options.paper)
    runs = [read_run(file) for file in dict.fromkeys(options.files)]
    masks = options.mask_k or tuple({*_PAPER_MASKS, *(k for run in runs for k in masks_of(run.header.methods))})
    shown = options.mask_k[0] if options.mask_k else MaskSettings().k
    scoring = ScoringSettings(options.unit, tuple(sorted(masks)), options.comet, shown)
    scored = [score(run, scoring) for run in runs]
    if options.names:
        tables = [TABLES[name](scored, settings) for name in options.names]
    else:
        tables = _every_table(scored, settings)
    write_tables(tables, options.page)


def _every_table(runs: list[ScoredRun], settings: TableSettings) -> list[Table]:
    """The tables that can be made of the runs; says which cannot, and why. Fails where none can."""
    tables: list[Table] = []
    left_out: dict[str, UsageError] = {}
    for name, own in possible_tables(runs):
        try:
            tables.append(TABLES[name](own, settings))
        except UsageError as reason:
            left_out[name] = reason
    if not tables:
        raise next(iter(left_out.values()))
    for name, fault in left_out.items():
        say(f"table {name} is left out: {fault}")
    return tables


def show_case(file: Path, segment_id: int, methods: str, format_: str) -> None:
    """Print the case study of one segment.

    Raises:
        UsageError: no such segment or method.
        SessionError: the run file cannot be read.
    """
    labels = [parse_method(part).label for part in split_methods(methods)]
    case = case_of(read_run(file), segment_id, labels)
    if format_ != "text":
        put(CASE_PAGES[format_](case))
    elif sys.stdout.isatty():
        console = Console(file=sys.stdout, highlight=False)
        console.print(_case_table(case, coloured=console.color_system is not None and not console.no_color))
    else:
        put(rendered(_case_table(case, coloured=False)))


def _case_table(case: Case, *, coloured: bool) -> RichTable:
    table = RichTable(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for title, texts in ((case.segment.name, case.source), *case.outputs.items()):
        table.add_row("", Text(visible(title), style="bold"))
        for number, pieces in enumerate(texts, 1):
            table.add_row(str(number), _coloured(pieces) if coloured else Text(visible(as_marks(pieces))))
    if case.segment.reference is not None:
        table.add_row("", Text("reference", style="bold"))
        table.add_row("", Text(visible(case.segment.reference)))
    pieces_shown = (piece for texts in case.outputs.values() for pieces in texts for piece in pieces)
    drafted = any(piece.draft not in ("", "previous") for piece in pieces_shown)
    legend = Text.assemble(("kept", _style("previous")), " ", ("new", _style("")))
    table.add_row("", legend if coloured else Text(f"kept [new]{' <kept from a draft model>' if drafted else ''}"))
    return table


def _coloured(pieces: Pieces) -> Text:
    """Underlined what was kept (in italics where it is from another draft than the previous output), green the new."""
    return Text.assemble(*((visible(piece.text), _style(piece.draft)) for piece in pieces))


def _style(draft: str) -> str:
    return {"": "bold green", "previous": "underline"}.get(draft, "underline italic")


def make_plots(files: tuple[Path, ...], folder: Path, unit: str | None, date: str | None, *, force: bool) -> None:
    """Draw what the runs have figures for; prints the files written.

    Raises:
        UsageError: no matplotlib, nothing to plot, or a plot that is there already.
        SessionError: a run file that cannot be read.
    """
    from livetrans.bench.plot import plot

    runs = [read_run(file) for file in dict.fromkeys(files)]
    rows = [row for run in runs for row in score(run, ScoringSettings(unit)).rows]
    newest = max(run.path.stat().st_mtime for run in runs)
    day = date or datetime.fromtimestamp(newest).date().isoformat()
    names = tell_apart(origin_of(run) for run in runs)
    quick = [names[origin_of(run)] for run in runs if run.header.quick]
    if len(quick) == len(runs):
        day += " · quick"
    elif unsaid := [name for name in quick if "quick" not in name.split()]:
        day += f" · quick: {', '.join(unsaid)}"
    paths = plot(rows, folder, date=day, force=force)
    for path in paths:
        click.echo(path)
    drawn = {path.stem for path in paths}
    if "bias" not in drawn:
        say("no plot over the bias was drawn: it takes a method with two biases or more (`bench run --methods paper`)")
    if "lag" not in drawn and any(run.header.corpus.kind == "recorded" for run in runs):
        say(
            "no plot of lag was drawn: the streams were recorded at full speed; record them with `livetrans replay "
            "FILE --session FOLDER`, without --speed max"
        )


def export_run(file: Path, method: str, format_: str, unit: str, output: Path, *, force: bool) -> None:
    """Write one method's first repeat for an outside scorer.

    Raises:
        UsageError: no such method or unit, or the file is there already.
        SessionError: the run file cannot be read, or the output cannot be written.
    """
    from livetrans.bench.exports import exported, simulstream_lines, stream_lines
    from livetrans.metrics.quality import tokenizer

    run = read_run(file)
    label = parse_method(method).label
    own = [update for update in run.updates if update.method == label and update.repeat == 0]
    if not own:
        known = ", ".join(one.label for one in run.header.methods)
        raise UsageError(f"{file} has no updates by {label}; choose from {known}")
    corpus = run.header.corpus
    updates = exported(own, run.segments, tokenizer(unit), step_unit=corpus.step_unit or "words")
    if format_ == "simulstream":
        lines = simulstream_lines(updates)
    else:
        segmentation: dict[str, str | int] | None = {"policy": "interval", "n": corpus.step} if corpus.step else None
        lines = stream_lines(updates, segmentation)
    write_new(output, lines, "--output", force=force)
    click.echo(output)


def show_cost(mt: str | None, threads: int, measured: str, rounds: int, page: Page) -> None:
    """Measure, print and keep.

    Raises:
        ModelError: the model cannot be used.
    """
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.llama.probe import check_model

    clock = clock_for(measured, threads)
    file = find_translator(mt).path
    check_model(file)
    context_tokens = 2 * (CONTEXT_TOKENS + max(SIZES))
    model = LlamaModel(LanguageModelSettings(file, context_tokens, threads), maximum_rows=max(SIZES), clock=clock)
    try:
        with progress_bar() as progress:
            task = progress.add_task("passes", total=(rounds + 1) * len(SIZES))
            costs = measure_cost(model, rounds, on_pass=lambda: progress.advance(task))
        name, stored = model.name, quantisation(model)
    finally:
        model.close()
    about: dict[str, object] = {
        "model": file.name,
        "name": name,
        "quantisation": stored,
        "size_bytes": file.stat().st_size,
        "threads": threads,
        "time": measured,
        "rounds": rounds,
        "context_tokens": CONTEXT_TOKENS,
        "versions": versions(),
        **machine(),
    }
    note = (
        f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one; {file.name} ({stored}, "
        f"{file.stat().st_size / 1e6:.1f} MB), {counted(threads, 'thread')}, {measured} time, {about['processor']}."
    )
    write_tables([cost_table(costs, note)], page)
    try:
        path, kept_rounds = store_cost(cost_values(costs, about))
        if kept_rounds > rounds:
            say(f"{path} has the figures of {kept_rounds} rounds and was left as it is")
        else:
            say(f"the figures are kept in {path}, to compare models and machines by; no command reads them")
    except OSError as error:
        say(f"the figures cannot be kept for later ({error.strerror or error})")
