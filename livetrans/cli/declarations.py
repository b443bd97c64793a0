"""What commands are declared with: groups that import late, kinds of values, and their completions."""

from __future__ import annotations

import importlib
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from livetrans.config import MOST_GAMMA, TRANSCRIPT_ONLY
from livetrans.errors import UsageError
from livetrans.text import display_width, nearest

LONGEST_NAME_COLUMNS = 20


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


class Gamma(click.ParamType[int | None]):
    """Tokens that a draft model proposes at a time: a number, or None for `auto`."""

    name = "gamma"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value == "auto" else int(CountRange(1, MOST_GAMMA).convert(value, param, ctx))


class Languages(click.ParamType[tuple[str, ...]]):
    """The codes of languages with commas between, each once; `auto` among them where it is allowed."""

    name = "languages"

    def __init__(self, *, auto: bool = False) -> None:
        self._auto = auto

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """
        Raises:
            UsageError: a language that is not known; an empty entry is one.
        """
        from livetrans.languages import AUTO, parse_language

        names = [name.strip() for name in str(value).split(",")]
        codes = (AUTO if self._auto and name.lower() == AUTO else parse_language(name).code for name in names)
        return tuple(dict.fromkeys(codes))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_language(ctx, param, incomplete)


class TrackLanguage(click.ParamType[str]):
    """The code of one language, or `none` where that is allowed."""

    name = "language"

    def __init__(self, *, none: bool = False) -> None:
        self._none = none

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """
        Raises:
            UsageError: the language is not known.
        """
        from livetrans.languages import parse_language

        text = str(value).strip()
        return TRANSCRIPT_ONLY if self._none and text.lower() == TRANSCRIPT_ONLY else parse_language(text).code

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_language(ctx, param, incomplete)


class TrackNames(click.ParamType[tuple[str, ...]]):
    """Two names with a comma between."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        names = tuple(name.strip() for name in str(value).split(","))
        fits = all(name.isprintable() and 0 < display_width(name) <= LONGEST_NAME_COLUMNS for name in names)
        if len(set(names)) != 2 or len(names) != 2 or not fits:
            self.fail(
                f"{value!r}: write two names of at most {LONGEST_NAME_COLUMNS} letters, as in me,them.", param, ctx
            )
        return names


class Place(click.ParamType[str]):
    """Where captions are served, as `livetrans.serve.address` reads it."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from livetrans.serve.address import parse_place

        parse_place(str(value))
        return str(value)


class JsonLinesFile(click.ParamType[str]):
    """A file that ends in .jsonl, or `-`: `--jsonl demo.flac` would overwrite the recording."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """
        Raises:
            UsageError: another ending, or a recording.
        """
        text = str(value)
        if text == "-" or text.endswith(".jsonl"):
            return text
        if Path(text).exists():
            raise UsageError(
                f"--jsonl took {text!r} for the file to write; "
                "write --jsonl after it, or name a new file with --jsonl=FILE.jsonl"
            )
        named = shlex.quote(str(Path(text).with_suffix(".jsonl")))
        raise UsageError(f"--jsonl writes to a file that ends in .jsonl; write --jsonl {named}")


class Terms(click.ParamType[tuple[tuple[str, str], ...]]):
    """The terms of a glossary's file."""

    name = "glossary"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[str, str], ...]:
        from livetrans.files import input_path
        from livetrans.translation.prompting import read_glossary

        return read_glossary(input_path(str(value)))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class Instant(click.ParamType[float]):
    """A time in a recording, as 10:00, 1:02:03 or seconds; converted to seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if not re.fullmatch(r"(\d{1,3}:)?(\d{1,4}:)?\d{1,6}(\.\d+)?", str(value), re.ASCII):
            self.fail(f"{value!r} is not a time; write it as 10:00, 1:02:03 or 90.", param, ctx)
        seconds = 0.0
        for number in str(value).split(":"):
            seconds = 60 * seconds + float(number)
        return seconds


def complete_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of a session's name."""
    from livetrans.session.store import LAST, session_names

    names = [LAST, *session_names()]
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
