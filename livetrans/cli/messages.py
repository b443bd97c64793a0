"""Standard error: lines, questions and progress bars. Standard output is written by commands and sinks."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

import click

from livetrans.base.errors import UsageError
from livetrans.base.text import duration, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from livetrans.events import Notice


def say(text: str, *, above: Progress | None = None) -> None:
    """Print a line on stderr, without control characters that a terminal would execute.

    `above`: a bar that may be drawn there; it is cleared for the line and drawn again below it.
    """
    if above:
        above.console.print(visible(text), markup=False, highlight=False, emoji=False, soft_wrap=True)
    else:
        columns = get_terminal_size((0, 0)).columns if sys.stderr.isatty() else 0
        click.echo(_wrapped(visible(text), columns), err=True)


def _wrapped(text: str, columns: int) -> str:
    """Return the text in lines of whole words; a command stays whole, so that it can be copied. 0: in one line."""
    glued = re.sub(r"`livetrans [^`]*`|\blivetrans [a-z]+ .*$", lambda found: found[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(glued, columns, break_long_words=False, break_on_hyphens=False) if columns else [glued]
    return "\n".join(lines).replace("\0", " ")


def discard_output() -> None:
    """Send the interpreter's last flush to /dev/null: it would fail, as stdout has no reader."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(notice: Notice) -> None:
    """Print a warning that comes outside of a run."""
    say(f"livetrans: {notice.text}")


def confirmed(question: str, *, default: bool) -> bool:
    """Ask on stderr until the answer is yes or no; Enter alone means `default`.

    Raises:
        click.Abort: Ctrl-C or the end of the input, after a line break.
    """
    try:
        return click.confirm(question, default=default, err=True)
    except click.Abort:
        say("")
        raise


def require_yes(question: str, refusal: str) -> None:
    """Continue only after a yes at a terminal.

    Raises:
        UsageError: there is no terminal to ask at; `refusal` is its text.
        click.Abort: the answer is no.
    """
    if not sys.stdin.isatty():
        raise UsageError(refusal)
    if not confirmed(question, default=False):
        raise click.Abort


def steady_console(stream: TextIO) -> Console:
    """Return a console that never hides the cursor: a program that is killed could not show it again.

    It is a terminal if its stream is one. Rich would take FORCE_COLOR for that too, and move the cursor in files.
    """
    from rich.console import Console

    class SteadyConsole(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    return SteadyConsole(file=stream, force_terminal=stream.isatty(), highlight=False)


def progress_bar(*, hidden: bool = False) -> Progress:
    """Return a progress bar on standard error, cleared at its end (also by Ctrl-C); hidden if that is no terminal."""
    from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class TimeLeft(TimeRemainingColumn):
        """The time left, if it can be estimated."""

        def render(self, task: Task) -> Text:
            seconds = task.time_remaining
            return Text("" if seconds is None else f"{duration(seconds)} left")

    console = steady_console(sys.stderr)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeLeft(),
        console=console,
        disable=hidden or not console.is_terminal,
        # What is printed on standard output meanwhile has to stay there.
        redirect_stdout=False,
        refresh_per_second=2,
        speed_estimate_period=120,
        transient=True,
    )


class LinesAbove:
    """Standard output while a bar is drawn: each line takes the place of the bar, which continues below it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._is_whole = True

    def write(self, text: str) -> int:
        self._progress.stop()
        self._is_whole = text.endswith("\n")
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()
        if self._is_whole:
            self._progress.start()

    def isatty(self) -> bool:
        return sys.stdout.isatty()
