"""`livetrans bench table`, `case`, `plot` and `export`, computed from run files, and `cost`, measured at once."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from livetrans.bench.case import as_json, as_text, case_of
from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, measure_cost
from livetrans.bench.exports import exported_lines
from livetrans.bench.measures import MODEL_UNIT, MeasuredRun, MeasureSettings
from livetrans.bench.methods import clock_for, parse_method, split_methods
from livetrans.bench.notes import origin_of, tell_apart
from livetrans.bench.runfile import read_run
from livetrans.bench.table import Table, without_colours
from livetrans.bench.tables import TABLES, TableSettings, make_table, possible_tables
from livetrans.cli.bench import threads_option, time_option
from livetrans.cli.common import progress_bar, say
from livetrans.cli.table_output import Page, page_options, put, write_tables
from livetrans.config import LanguageModelSettings, MaskSettings
from livetrans.errors import UsageError
from livetrans.files import write_new
from livetrans.metrics.quality import UNITS
from livetrans.models.find import find_translator
from livetrans.signature import machine, quantisation
from livetrans.text import counted

_PAPER_MASKS = (3, 5)
_FILE = click.Path(dir_okay=False, path_type=Path)
_files = click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
_unit = click.option(
    "--unit",
    metavar="UNIT",
    help=f"Unit in which erasure is counted: {', '.join((*UNITS, MODEL_UNIT))}. The paper's is flores101.",
)


class _TableNames(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "7":
            raise UsageError("Table 7 is one segment, update by update; `livetrans bench case FILE --id N` shows it")
        return super().convert(value, param, ctx)


@click.command()
@_files
@click.option(
    "--table",
    "names",
    type=_TableNames(tuple(TABLES)),
    multiple=True,
    help="Which table; may be given several times. Without it, every table that the files allow.",
)
@click.option(
    "--bias",
    metavar="0..1",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Bias of ssbd in Tables 2, 4 and 6.",
)
@click.option(
    "--mask-k",
    metavar="K",
    type=click.IntRange(1, 99),
    multiple=True,
    help="Display-only masks to add; 3 and 5 without it. The first is what the calm table shows.",
)
@_unit
@click.option(
    "--comet", type=click.Path(path_type=Path), metavar="MODEL", help="Score with COMET too, by this model on disk."
)
@click.option("--paper", is_flag=True, help="Put the paper's figures beside ours.")
@page_options("NE,A/D %,speedup")
def table_command(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    bias: float,
    mask_k: tuple[int, ...],
    unit: str | None,
    comet: Path | None,
    paper: bool,
    page: Page,
) -> None:
    """Compute tables from run files, translating nothing.

    A terminal too narrow for all columns shows the most important ones and names the others.
    """
    runs = [read_run(file) for file in dict.fromkeys(files)]
    masks = mask_k or {*_PAPER_MASKS, *(one.output_mask_k for run in runs for one in run.header.methods)} - {0}
    shown_k = mask_k[0] if mask_k else MaskSettings().k
    scoring = MeasureSettings(unit, tuple(sorted(masks)), comet, shown_k)
    measured = [MeasuredRun(run, scoring) for run in runs]
    settings = TableSettings(bias, paper)
    if names:
        tables = [make_table(name, measured, settings) for name in names]
    else:
        tables = _every_table(measured, settings)
    write_tables(tables, page)


def _every_table(runs: list[MeasuredRun], settings: TableSettings) -> list[Table]:
    """Return the tables that can be made of the runs, and say which cannot, and why; fail where none can."""
    tables: list[Table] = []
    left_out: dict[str, UsageError] = {}
    for name, fitting in possible_tables(runs):
        try:
            tables.append(make_table(name, fitting, settings))
        except UsageError as reason:
            left_out[name] = reason
    if not tables:
        raise next(iter(left_out.values()))
    for name, fault in left_out.items():
        say(f"table {name} is left out: {fault}")
    return tables


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--id", "segment_id", type=int, required=True, metavar="N", help="Which segment: its `segment_id` in FILE."
)
@click.option("--methods", default="", metavar="LIST", help="Methods to show; without it rt, a modest bias and cd.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="text has colours on a terminal, and marks what is new by characters elsewhere.",
)
def case_command(file: Path, segment_id: int, methods: str, format_: str) -> None:
    """Show how one segment of a run was translated: per update what was kept and what is new."""
    labels = [parse_method(part).label for part in split_methods(methods)]
    case = case_of(read_run(file), segment_id, labels)
    if format_ == "json":
        put(as_json(case))
    elif sys.stdout.isatty():
        console = Console(file=sys.stdout, highlight=False)
        console.print(as_text(case, coloured=console.color_system is not None and not console.no_color))
    else:
        put(without_colours(as_text(case, coloured=False)) + "\n")


@click.command()
@_files
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    show_default=True,
    help="Folder of the plots.",
)
@_unit
@click.option("--date", metavar="TEXT", help="Date in the title; without it, the day the run file was written.")
@click.option("--force", is_flag=True, help="Overwrite plots that exist.")
def plot_command(files: tuple[Path, ...], folder: Path, unit: str | None, date: str | None, force: bool) -> None:
    """Draw erasure, acceptance, speedup and quality over the bias, lag, and calm over speed, as PNG and SVG."""
    from livetrans.bench.plot import plot

    runs = [read_run(file) for file in dict.fromkeys(files)]
    newest = max(run.path.stat().st_mtime for run in runs)
    day = date or datetime.fromtimestamp(newest).date().isoformat()
    names = tell_apart(origin_of(run) for run in runs)
    quick = [names[origin_of(run)] for run in runs if run.header.quick]
    if len(quick) == len(runs):
        day += " · quick"
    elif unsaid := [name for name in quick if "quick" not in name.split()]:
        day += f" · quick: {', '.join(unsaid)}"
    rows = [row for run in runs for row in MeasuredRun(run, MeasureSettings(unit)).rows]
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


@click.command()
@click.argument("file", type=_FILE)
@click.option("--method", required=True, metavar="METHOD", help="One of the run's methods.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("stream", "simulstream")),
    default="stream",
    show_default=True,
    help="The authors' format, or simulstream's.",
)
@click.option("--unit", default="word", show_default=True, metavar="UNIT", help="Unit that simulstream counts.")
@click.option("-o", "--output", type=_FILE, required=True, metavar="FILE", help="File to write.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def export_command(file: Path, method: str, format_: str, unit: str, output: Path, force: bool) -> None:
    """Write one method's outputs for an outside scorer: the authors' stream.jsonl, or simulstream's log."""
    write_new(
        output, exported_lines(read_run(file), parse_method(method).label, format_, unit), "--output", force=force
    )
    click.echo(output)


@click.command()
@click.argument("model", required=False)
@click.option("--mt", metavar="MODEL", help="The same, as other commands name the translator.")
@threads_option(help="Threads of the translator.")
@time_option
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(1, 999),
    default=11,
    show_default=True,
    help="Passes of each length; figures are medians.",
)
@page_options("new tokens,to one")
def cost_command(model: str | None, mt: str | None, threads: int, time: str, rounds: int, page: Page) -> None:
    """Measure one pass of MODEL over 1 to 40, 48 and 64 new tokens: what verifying a draft costs on this machine.

    MODEL is a GGUF file or a name from `livetrans models`; without it, the translator that runs by default.
    """
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.llama.probe import check_model

    if model and mt:
        raise UsageError(f"{model} and --mt {mt} both name the model; give one of them")
    clock = clock_for(time, threads)
    file = find_translator(model or mt).path
    check_model(file)
    context_tokens = 2 * (CONTEXT_TOKENS + max(SIZES))
    opened = LlamaModel(LanguageModelSettings(file, context_tokens, threads), maximum_rows=max(SIZES), clock=clock)
    try:
        with progress_bar() as progress:
            task = progress.add_task("passes", total=(rounds + 1) * len(SIZES))
            costs = measure_cost(opened, rounds, on_pass=lambda: progress.advance(task))
        stored = quantisation(opened)
    finally:
        opened.close()
    note = (
        f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one; {file.name} ({stored}, "
        f"{file.stat().st_size / 1e6:.1f} MB), {counted(threads, 'thread')}, {time} time, {machine()['processor']}."
    )
    write_tables([cost_table(costs, note)], page)
