"""Parts of what is redrawn below the lines, on rich: imported only where something is drawn."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.progress import Task, TimeRemainingColumn
from rich.text import Text

from livetrans.text import duration


class SteadyConsole(Console):
    """A console whose cursor is never hidden: a program that is killed or stopped meanwhile could not show it again.

    It is a terminal where its stream is one. Rich takes FORCE_COLOR for that too, and moves the cursor in files.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(file=stream, force_terminal=stream.isatty(), highlight=False)

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is."""
        return False


class TimeLeft(TimeRemainingColumn):
    """The time that is left, where it can be estimated."""

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        return Text("" if seconds is None else f"{duration(seconds)} left")
