"""What the commands share: a group that imports them late, options, and lines on stderr."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from livetrans.errors import UsageError
from livetrans.events import Caption, Event, Notice, Record, RunStarted, SourceProgress, Transcript
from livetrans.installation import as_started
from livetrans.text import duration, nearest, visible

if TYPE_CHECKING:
    from typing import TextIO

    from rich.console import Console
    from rich.progress import Progress

BY_CALM = "by --calm"
"""The default, in words, of an option that a calm setting chooses."""


def say(text: str) -> None:
    """Print a line on stderr, free of control characters that a terminal would execute."""
    click.echo(visible(as_started(text)), err=True)


def discard_output() -> None:
    """Send the interpreter's last flush to /dev/null: stdout has no reader, and it would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(notice: Notice) -> None:
    """Say a warning that comes outside of a run."""
    say(f"livetrans: {notice.text}")


def confirmed(question: str, *, default: bool) -> bool:
    """Ask on stderr until the answer is yes or no; Enter alone is `default`.

    Raises:
        click.Abort: Ctrl-C or the end of the input, after a line break.
    """
    try:
        return click.confirm(question, default=default, err=True)
    except click.Abort:
        say("")
        raise


def require_yes(question: str, refusal: str) -> None:
    """Go on only after a yes at a terminal.

    Raises:
        UsageError: there is no terminal to ask at; `refusal` is its text.
        click.Abort: the answer is no.
    """
    if not sys.stdin.isatty():
        raise UsageError(refusal)
    if not confirmed(question, default=False):
        raise click.Abort


class LazyCommand(NamedTuple):
    """A command before it is imported."""

    module: str
    """Module that holds the click command as `NAME_command`, or as `command` where it is the only one."""
    summary: str
    """Its line in `livetrans --help`, so that the list imports nothing."""


class AdvisingGroup(click.Group):
    """A group that names the nearest command where there is none of the given name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if not name.startswith("-") and name not in known:
            close = nearest(name, known) or next(self._in_groups(ctx, name), None)
            advice = f" (did you mean {close}?)" if close else ""
            raise click.UsageError(f"there is no command {name!r}{advice}", ctx)
        return super().resolve_command(ctx, args)

    def _in_groups(self, ctx: click.Context, name: str) -> Iterator[str]:
        """Yield the command of that name in each group of this one."""
        for group in self.list_commands(ctx):
            command = self.get_command(ctx, group)
            if isinstance(command, click.Group) and name in command.list_commands(ctx):
                yield f"{group} {name}"


class LazyGroup(AdvisingGroup):
    """A group that imports a command only when it is called or its help is shown."""

    def __init__(self, name: str, *, commands_by_name: Mapping[str, LazyCommand], **settings: Any) -> None:
        super().__init__(name, **settings)
        self.commands_by_name = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.commands_by_name.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(entry.module)
        command: click.Command = getattr(module, f"{cmd_name}_command", None) or module.command
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.commands_by_name.items()])


class GroupedOption(click.Option):
    """An option that `--help` lists under a heading; every default is shown."""

    def __init__(
        self,
        *declarations: Any,
        heading: str,
        field: str = "",
        example: bool | int | str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*declarations, **{"show_default": True, **settings})
        self.heading = heading
        self.field = field
        """The field of `livetrans.config.Settings` that it sets, such as `decoding.bias`; empty for none."""
        self.example = example
        """A value for the configuration file, for an option without a default."""

    @property
    def is_key(self) -> bool:
        """Whether it is a key of the configuration file: all are but `--config`."""
        return self.expose_value


class GroupedCommand(click.Command):
    """A command whose `--help` lists its own options first, then those with headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Option):
                continue  # arguments stand in the usage line and in the text below it
            line = parameter.get_help_record(ctx)
            if line is not None:
                sections.setdefault(getattr(parameter, "heading", "Options"), []).append(line)
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


def complete_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of a session's name."""
    from livetrans.session.store import LAST, session_folders

    names = [LAST, *(folder.name for folder in session_folders())]
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def complete_file_or_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of a file's name; of a session's where one begins with what is typed."""
    sessions = complete_session(context, parameter, typed) if typed else []
    return sessions or [CompletionItem(typed, type="file")]


def complete_language(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of the last of one or more languages with commas between, as codes or names."""
    from livetrans.languages import LANGUAGES

    before, comma, last = typed.rpartition(",")
    named = [(one.code, one.name) for one in LANGUAGES.values()]
    named += [(one.name, one.code) for one in LANGUAGES.values() if last and " " not in one.name]
    found = [(value, other) for value, other in named if value.lower().startswith(last.lower())]
    return [CompletionItem(f"{before}{comma}{value}", help=other) for value, other in found]


def steady_console(stream: TextIO) -> Console:
    """Return a console whose cursor is never hidden: a program that is killed meanwhile could not show it again.

    It is a terminal where its stream is one. Rich takes FORCE_COLOR for that too, and moves the cursor in files.
    """
    from rich.console import Console

    class SteadyConsole(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    return SteadyConsole(file=stream, force_terminal=stream.isatty(), highlight=False)


def progress_bar(*, hidden: bool = False) -> Progress:
    """Return a bar on standard error that is cleared at its end, Ctrl-C included; none where that is not a terminal."""
    from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class TimeLeft(TimeRemainingColumn):
        """The time that is left, where it can be estimated."""

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


def say_above(progress: Progress, text: str) -> None:
    """Say a line on standard error; a bar that is drawn is cleared for it and goes on below."""
    progress.console.print(visible(as_started(text)), markup=False, highlight=False, emoji=False, soft_wrap=True)


class LinesAbove:
    """Standard output for lines while a bar is drawn: each is written where the bar was, which goes on below it."""

    encoding = property(lambda self: sys.stdout.encoding)

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


class HeardProgress:
    """A sink that shows on a bar how much of a source was heard."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("heard", total=None)

    def write(self, record: Record) -> None:
        self.show(record.event)

    def show(self, event: Event) -> None:
        if isinstance(event, SourceProgress):
            description = f"heard {duration(event.heard)}"
            if event.total:
                description += f" of {duration(event.total)}"
            self._progress.update(self._task, description=description, completed=event.heard, total=event.total)

    def close(self) -> None:
        """Do nothing: the bar belongs to its caller."""


class Heard:
    """A sink that keeps whether anything was heard, for the sentence at the end of a run."""

    def __init__(self) -> None:
        self._began = False
        self._voices = False
        self.words = False
        """Whether a word was recognised."""

    def write(self, record: Record) -> None:
        match record.event:
            case RunStarted():
                self._began = True
            case SourceProgress(speaking=True):
                self._voices = True
            case Transcript() | Caption():
                self.words = True
            case _:
                pass

    def close(self) -> None:
        """Do nothing: it is asked after the run has ended."""

    @property
    def nothing(self) -> str:
        """What to say of a run that listened and recognised nothing; empty for any other."""
        if not self._began or self.words:
            return ""
        return "Speech was heard, but no words were recognised." if self._voices else "No speech was heard."
