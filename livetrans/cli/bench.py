"""`livetrans bench`: the paper's tables on this machine, and what its commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from livetrans.bench.methods import TIMES
from livetrans.cli.declarations import LazyCommand, LazyGroup
from livetrans.cli.messages import progress_bar
from livetrans.cli.options import MOST_THREADS

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
    click.option, "--threads", metavar="N", type=click.IntRange(1, MOST_THREADS), default=1, show_default=True
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
