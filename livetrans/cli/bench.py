"""`livetrans bench`: its commands but for `run`, and how tables are printed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import click

from livetrans.base.errors import UsageError
from livetrans.base.text import counted, visible
from livetrans.bench.case import case_of
from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, measure_cost
from livetrans.bench.measures import MODEL_UNIT, MeasuredRun, MeasureSettings
from livetrans.bench.run import TIMES, clock_for, parse_method, split_methods
from livetrans.bench.runfile import compare, read_run
from livetrans.bench.tables import FORMATS, TABLES, Table, as_json, kinds_of, make_table
from livetrans.cli.declarations import CountRange, LazyCommand, LazyGroup
from livetrans.cli.messages import progress_bar, say
from livetrans.config import MOST_THREADS, LanguageModelSettings
from livetrans.metrics.quality import UNITS
from livetrans.models.catalogue import TRANSLATOR
from livetrans.models.chosen import find_model
from livetrans.signature import machine, quantisation

command = LazyGroup(
    "bench",
    commands_by_name={
        "case": LazyCommand(__name__, "Show how one segment was translated, update by update."),
        "compare": LazyCommand(__name__, "Say whether two run files are the same, or where they differ."),
        "cost": LazyCommand(__name__, "Measure what verifying a draft costs on this machine."),
        "plot": LazyCommand(__name__, "Draw figures over the bias, and calm over speed."),
        "run": LazyCommand("livetrans.cli.bench_run", "Translate a corpus by several methods and write a run file."),
        "table": LazyCommand(__name__, "Make the paper's tables from run files."),
    },
    help="""Measure re-translation against drafts: speed, erasure and quality, as the paper's tables do.

    `run` writes one file of everything that was translated; the other commands compute from such files alone.
    """,
)

threads_option = functools.partial(
    click.option, "--threads", metavar="N", type=CountRange(1, MOST_THREADS), default=1, show_default=True
)
time_option = click.option(
    "--time",
    type=click.Choice(TIMES),
    default="wall",
    show_default=True,
    help="Measure the time that passes, or processor time, which other programs do not lengthen.",
)


@contextmanager
def step_bar(steps: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show on standard error how many steps are done and how long the others take; the function counts one more."""
    with progress_bar() as progress:
        task = progress.add_task("", total=steps, completed=done)

        def advance() -> None:
            progress.advance(task)
            progress.update(task, description=f"{progress.tasks[0].completed:.0f} of {steps} steps")

        yield advance


format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="csv and json have every figure unrounded.",
)


def print_tables(tables: Sequence[Table], format_: str) -> None:
    """Print tables. The notes of a table as CSV go to standard error.

    Raises:
        UsageError: several tables as CSV.
    """
    if format_ == "json":
        text = as_json(tables)
    elif format_ == "text":
        text = "\n".join(table.as_text() for table in tables)
    elif len(tables) > 1:
        names = "; ".join(table.name for table in tables)
        raise UsageError(f"these files give {len(tables)} tables ({names}) and csv holds one; choose it with --table")
    else:
        text = tables[0].as_csv()
        for note in tables[0].notes:
            say(note)
    print_page(text)


def print_page(text: str) -> None:
    """Print a text; half a character becomes a question mark."""
    click.echo(text.encode("utf-8", "replace").decode("utf-8"), nl=False)


_PAPER_MASKS = (3, 5)
_FILE = click.Path(dir_okay=False, path_type=Path)
_file = click.argument("file", type=_FILE)
_files = click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
_unit = click.option(
    "--unit",
    metavar="UNIT",
    help=f"Unit in which erasure is counted: {', '.join((*UNITS, MODEL_UNIT))}. The paper's is flores101.",
)


@click.command()
@_files
@click.option(
    "--table",
    "names",
    type=click.Choice(tuple(TABLES)),
    multiple=True,
    help="Which table; may be given several times. Without it, every table that the files allow. 7 is `bench case`.",
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
    type=CountRange(1, 99),
    multiple=True,
    help="Display-only masks to add; 3 and 5 without it. The first is what the calm table shows, else the run's.",
)
@_unit
@click.option(
    "--comet", type=click.Path(path_type=Path), metavar="MODEL", help="Score with COMET too, by this model on disk."
)
@click.option("--paper", is_flag=True, help="Put the paper's figures beside ours.")
@format_option
def table_command(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    bias: float,
    mask_k: tuple[int, ...],
    unit: str | None,
    comet: Path | None,
    paper: bool,
    format_: str,
) -> None:
    """Compute tables from run files, translating nothing. Below each table are the meanings of its columns."""
    if comet and names and not any("COMET" in TABLES[name].figures for name in names):
        raise UsageError(f"--comet has no effect on table {' and '.join(names)}; drop it, or drop --table")
    files_read = [read_run(file) for file in dict.fromkeys(files)]
    output_masks = {parse_method(label).mask_k for run in files_read for label in run.header.methods}
    masks = mask_k or {*_PAPER_MASKS, *output_masks} - {0}
    settings = MeasureSettings(unit, tuple(sorted(masks)), comet, mask_k[0] if mask_k else None)
    runs = [MeasuredRun(run, settings) for run in files_read]
    if names:
        print_tables([make_table(name, runs, bias, paper=paper) for name in names], format_)
        return
    tables: list[Table] = []
    left_out: dict[str, UsageError] = {}
    for name, kind in TABLES.items():
        fitting = [run for run in runs if kinds_of(run) & {*kind.run_kinds}]
        try:
            tables += [make_table(name, fitting, bias, paper=paper)] if fitting else []
        except UsageError as reason:
            left_out[name] = reason
    if left_out and not tables:
        raise next(iter(left_out.values()))
    for name, fault in left_out.items():
        say(f"table {name} is left out: {fault}")
    print_tables(tables, format_)


@click.command()
@_file
@click.option(
    "--id", "segment_id", type=int, required=True, metavar="N", help="Which segment: its `segment_id` in FILE."
)
@click.option("--methods", default="", metavar="LIST", help="Methods to show; without it rt, ssbd@0.2 and cd.")
def case_command(file: Path, segment_id: int, methods: str) -> None:
    """Show how one segment of a run was translated, update by update.

    New text is in [square brackets], and what is kept from a draft model in <angle brackets>.
    """
    case = case_of(read_run(file), segment_id, [_label_of(part) for part in split_methods(methods)])
    for title, texts in case.items():
        print_page(f"    {visible(title)}\n")
        for number, text in enumerate(texts, 1):
            print_page(f"{number:>2}  {visible(text)}\n")


@click.command()
@click.argument("left", type=_FILE)
@click.argument("right", type=_FILE)
def compare_command(left: Path, right: Path) -> int:
    """Say whether two runs wrote the same, or where they differ; then what produced them differently.

    Times are not compared. The exit code is 0 if they wrote the same, and 1 if not.
    """
    runs = read_run(left), read_run(right)
    written, produced = compare(*runs)
    updates = sum(map(len, runs[0].units.values()))
    lines = written or [f"same: {counted(updates, 'update')} of {counted(len(runs[0].header.methods), 'method')}"]
    for line in [*lines, *(f"produced by another {line}" for line in produced)]:
        print_page(f"{visible(line)}\n")
    return 1 if written else 0


def _label_of(written: str) -> str:
    """Return the label of a method; what is none stays, for the run file to say which methods it has."""
    try:
        return parse_method(written).label
    except UsageError:
        return written


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
    """Draw figures over the bias, calm over speed, and quality over latency, as PNG and SVG."""
    from livetrans.bench.plot import plot

    runs = [MeasuredRun(read_run(file), MeasureSettings(unit)) for file in dict.fromkeys(files)]
    newest = max(run.file.path.stat().st_mtime for run in runs)
    paths = plot(runs, folder, date=date or datetime.fromtimestamp(newest).date().isoformat(), force=force)
    for path in paths:
        click.echo(path)
    if not any(path.stem == "bias" for path in paths):
        say("no plot over the bias was drawn: it takes a method with two biases or more (`bench run --methods paper`)")


@click.command()
@click.option("--mt", metavar="MODEL", help="Translator: a GGUF file, or a name; without it, the default one.")
@threads_option(help="Threads of the translator.")
@time_option
@click.option(
    "--rounds",
    metavar="N",
    type=CountRange(1, 999),
    default=11,
    show_default=True,
    help="Passes of each length; figures are medians.",
)
@format_option
def cost_command(mt: str | None, threads: int, time: str, rounds: int, format_: str) -> None:
    """Measure one pass over 1 to 40, 48 and 64 new tokens: what verifying a draft costs on this machine."""
    from livetrans.lm.llama.checks import check_model
    from livetrans.lm.llama.model import LlamaModel

    clock = clock_for(time, threads)
    file = find_model(TRANSLATOR, mt).path
    check_model(file)
    settings = LanguageModelSettings(file, 2 * (CONTEXT_TOKENS + max(SIZES)), threads)
    with closing(LlamaModel(settings, maximum_rows=max(SIZES), clock=clock)) as model:
        with step_bar((rounds + 1) * len(SIZES)) as advance:
            seconds = measure_cost(model, rounds, on_pass=advance)
        stored = quantisation(model)
    note = (
        f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one; {file.name} ({stored}, "
        f"{file.stat().st_size / 1e6:.1f} MB), {counted(threads, 'thread')}, {time} time, {machine()['processor']}."
    )
    print_tables([cost_table(seconds, note)], format_)
