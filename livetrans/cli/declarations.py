"""What commands are declared with: groups that import late, kinds of values, and their completions."""

from __future__ import annotations

import importlib
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from livetrans.base.errors import UsageError
from livetrans.base.text import display_width, nearest

LONGEST_NAME_COLUMNS = 20


class LazyCommand(NamedTuple):
    """A command before it is imported."""

    module: str
    """Module that holds the click command as `NAME_command`, or as `command` where it is the only one."""
    summary: str
    """Its line in `livetrans --help`, so that the list imports nothing."""


class AdvisingGroup(click.Group):
    """A group that names the nearest command where there is none of the given name; at the top a file is replayed."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if not name.startswith("-") and name not in known:
            is_path = "." in name or os.sep in name or Path(name).exists()
            if ctx.parent is None and is_path:  # `replay` says what is wrong with one that it cannot read.
                return super().resolve_command(ctx, ["replay", *args])
            close = nearest(name, known) or next(self._in_groups(ctx, name), None)
            advice = f" (did you mean {close}?)" if close else ""
            kind = "command" if ctx.parent or close else "command or file"
            raise click.UsageError(f"there is no {kind} {name!r}{advice}", ctx)
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


def list_alone(context: click.Context, list_command: click.Command, *, as_json: bool) -> None:
    """Run the command that lists, where a group is called without a command.

    Raises:
        UsageError: `--json` stands before another command.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command, as_json=as_json)
    elif as_json:
        path = context.command_path
        raise UsageError(f"--json is for the list; write it after `{path}` or `{path} list` alone")


def was_given(name: str) -> bool:
    """Return whether an option was given on the command line. Unused options in the configuration file are fine."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""Returns the shell's completions of what is typed."""


class CountRange(click.IntRange):
    """A range of whole numbers, which its message calls so."""

    name = "whole number"


class NumberRange(click.FloatRange):
    """A range that refuses nan, which compares as neither below nor above a bound."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Parsed(click.ParamType[Any]):
    """A kind of value that a function reads from its text; a `ValueError` of it says what is wrong."""

    name = "value"

    def __init__(self, parse: Callable[[str], Any], complete: Complete | None = None) -> None:
        self._parse, self._complete = parse, complete

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(str(value))
        except ValueError as fault:
            self.fail(f"{value!r} {fault}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._complete(ctx, param, incomplete) if self._complete else []


def languages(text: str, *, word: str | None = None) -> tuple[str, ...]:
    """Return the codes of languages with commas between, each once; `word` may be among them."""
    from livetrans.base.languages import parse_language

    names = [name.strip() for name in text.split(",")]
    codes = (word if name.lower() == word else parse_language(name).code for name in names)
    return tuple(dict.fromkeys(codes))


def language(text: str, *, word: str | None = None) -> str:
    codes = languages(text, word=word)
    if len(codes) > 1:
        raise ValueError("is more than one language; name one.")
    return codes[0]


def language_pair(text: str) -> tuple[str, ...]:
    """Return the codes of two languages that a recogniser tells apart."""
    from livetrans.base.languages import parse_language

    codes = languages(text)
    heard = {parse_language(code).whisper_code for code in codes}
    if len(codes) != 2 or len(heard - {None}) != 2:
        raise ValueError("is not two languages that a recogniser tells apart; write them as en,de.")
    return codes


def track_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    fits = all(name.isprintable() and 0 < display_width(name) <= LONGEST_NAME_COLUMNS for name in names)
    if len(set(names)) != 2 or len(names) != 2 or not fits:
        raise ValueError(
            f"is not two different names of at most {LONGEST_NAME_COLUMNS} letters; write them as me,them."
        )
    return names


def json_lines_file(text: str) -> str:
    """Return a file that ends in .jsonl, or `-`: `--jsonl demo.flac` would overwrite the recording.

    Raises:
        UsageError: another ending, or a recording.
    """
    if text == "-" or text.endswith(".jsonl"):
        return text
    if Path(text).exists():
        raise UsageError(
            f"--jsonl took {text!r} for the file to write; "
            "write --jsonl after it, or name a new file with --jsonl=FILE.jsonl"
        )
    named = shlex.quote(str(Path(text).with_suffix(".jsonl")))
    raise UsageError(f"--jsonl writes to a file that ends in .jsonl; write --jsonl {named}")


def caption_place(text: str) -> str:
    """Return the place of a link, with the code of a language and `=` before it if one is named."""
    from livetrans.serve.secret import check_secret_place

    name, equals, place = text.partition("=")
    if not equals or len(name) > LONGEST_NAME_COLUMNS or not name.replace("-", "").isalpha():
        return check_secret_place(text)
    return f"{language(name)}={check_secret_place(place)}"


def instant(text: str) -> float:
    """Return the seconds of a time in a recording: 10:00, 1:02:03 or 90."""
    if not re.fullmatch(r"(\d{1,3}:)?(\d{1,4}:)?\d{1,6}(\.\d+)?", text, re.ASCII):
        raise ValueError("is not a time; write it as 10:00, 1:02:03 or 90.")
    seconds = 0.0
    for number in text.split(":"):
        seconds = 60 * seconds + float(number)
    return seconds


def complete_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    from livetrans.session.store import LAST, session_names

    names = [LAST, *session_names()]
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def complete_file_or_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of a file's name; of a session's where one begins with what is typed."""
    sessions = complete_session(context, parameter, typed) if typed else []
    return sessions or [CompletionItem(typed, type="file")]


def complete_language(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of the last of one or more languages with commas between, as codes or names."""
    from livetrans.base.languages import LANGUAGES

    before, comma, last = typed.rpartition(",")
    named = [(one.code, one.name) for one in LANGUAGES.values()]
    named += [(one.name, one.code) for one in LANGUAGES.values() if last and " " not in one.name]
    found = [(value, other) for value, other in named if value.lower().startswith(last.lower())]
    return [CompletionItem(f"{before}{comma}{value}", help=other) for value, other in found]


def complete_file(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Tell the shell to complete a file's name."""
    return [CompletionItem(typed, type="file")]


LANGUAGES = Parsed(languages, complete_language)
LANGUAGES_OR_AUTO = Parsed(partial(languages, word="auto"), complete_language)
"""The kinds of values of --to and --from."""
LANGUAGE_PAIR = Parsed(language_pair, complete_language)
