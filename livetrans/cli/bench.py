"""`livetrans bench`: its commands, the options that they share, and how their tables are printed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from livetrans.bench.run import TIMES
from livetrans.bench.tables import FORMATS, Table, as_json
from livetrans.cli.declarations import CountRange, LazyCommand, LazyGroup
from livetrans.cli.messages import progress_bar, say
from livetrans.config import MOST_THREADS
from livetrans.errors import UsageError

_TABLES = "livetrans.cli.bench_tables"
command = LazyGroup(
    "bench",
    commands_by_name={
        "case": LazyCommand(_TABLES, "Show how one segment was translated, update by update."),
        "cost": LazyCommand(_TABLES, "Measure what verifying a draft costs on this machine."),
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
