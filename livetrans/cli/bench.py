"""`livetrans bench`: its commands, the options that they share, and how their tables are printed or written."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from livetrans.bench.methods import TIMES
from livetrans.bench.table import FORMATS, UNLIMITED, Table, as_csv, as_json, as_latex, as_markdown, as_text
from livetrans.cli.declarations import CountRange, LazyCommand, LazyGroup
from livetrans.cli.messages import progress_bar, say
from livetrans.config import MOST_THREADS
from livetrans.errors import UsageError
from livetrans.files import write_new

_TABLES = "livetrans.cli.bench_tables"
command = LazyGroup(
    "bench",
    commands_by_name={
        "case": LazyCommand(_TABLES, "Show how one segment was translated, update by update."),
        "cost": LazyCommand(_TABLES, "Measure what verifying a draft costs on this machine."),
        "export": LazyCommand(_TABLES, "Write a run for an outside scorer."),
        "plot": LazyCommand(_TABLES, "Draw figures over the bias, and calm over speed."),
        "run": LazyCommand("livetrans.cli.bench_run", "Translate a corpus by several methods and write a run file."),
        "table": LazyCommand(_TABLES, "Make the paper's tables from run files."),
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


_ENDINGS = {"": "text", ".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".tex": "latex"}


def page_options(columns: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a table, which are those of `write_tables`; `columns` is the example."""
    options = (
        click.option(
            "--format",
            "format_",
            type=click.Choice(FORMATS),
            show_default="that of --output's file name, else text",
            help="text fits the terminal; csv and json have every figure unrounded; latex needs booktabs.",
        ),
        click.option("--columns", metavar="NAMES", help=f"Only these columns, separated by commas: '{columns}'."),
        click.option("--explain", is_flag=True, help="Below the table, say in a line each what the columns mean."),
        click.option("--signature", is_flag=True, help="Below the table, say what produced the figures."),
        click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Write to this file and print its name.",
        ),
        click.option("--force", is_flag=True, help="Overwrite the file if it exists."),
    )

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def write_tables(
    tables: Sequence[Table],
    format_: str | None = None,
    columns: str | None = None,
    output: Path | None = None,
    *,
    explain: bool = False,
    signature: bool = False,
    force: bool = False,
) -> None:
    """Print tables, or write them to `output`, whose name says the format where none is given.

    Raises:
        UsageError: several tables as CSV, no such column or format, or a file that is there already.
        SessionError: the output cannot be written.
    """
    ending = output.suffix.lower() if output else ""
    format_ = format_ or _ENDINGS.get(ending)
    if columns is not None:
        names = [name.strip() for name in columns.split(",") if name.strip()]
        tables = possible_tables({table.name: partial(table.only, names) for table in tables})
    noted = [(table, table.filled().notes(explain=explain, signature=signature)) for table in tables]
    match format_:
        case "text":
            # A terminal's own width; a file has none.
            width = UNLIMITED if output or not sys.stdout.isatty() else shutil.get_terminal_size().columns
            text = "\n".join(as_text(table, notes, width) for table, notes in noted)
        case "markdown":
            text = "\n".join(as_markdown(table, notes) for table, notes in noted)
        case "latex":
            text = "\n".join(as_latex(table, notes) for table, notes in noted)
        case "json":
            text = as_json(tables)
        case "csv" if len(tables) > 1:
            numbers = "; ".join(table.name.removeprefix("table ") for table in tables)
            raise UsageError(
                f"these files give {len(tables)} tables ({numbers}) and csv holds one; choose it with --table"
            )
        case "csv":
            text = as_csv(tables[0])
            for note in (tables[0].filled().about(), *noted[0][1]):
                say(note)
        case _:
            known = ", ".join(name for name in _ENDINGS if name)
            raise UsageError(
                f"{ending} is no format of tables; end the file's name in one of {known}, or give --format"
            )
    put(text, output, force=force)


def possible_tables(makers: Mapping[str, Callable[[], Table]]) -> list[Table]:
    """Return what the functions make, and say by its name which cannot and why.

    Raises:
        UsageError: none can.
    """
    tables: list[Table] = []
    left_out: dict[str, UsageError] = {}
    for name, make in makers.items():
        try:
            tables.append(make())
        except UsageError as reason:
            left_out[name] = reason
    if not tables:
        raise next(iter(left_out.values()))
    for name, fault in left_out.items():
        say(f"{name} is left out: {fault}")
    return tables


def put(text: str, place: Path | None = None, *, force: bool = False) -> None:
    """Print the text, or write it to a file and print the file's name; half a character becomes a question mark.

    Raises:
        UsageError: the file is there already.
        SessionError: it cannot be written.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_new(place, [text], "--output", force=force)
        click.echo(place)
        return
    click.echo(text, nl=False)
