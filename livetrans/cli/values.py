"""The kinds of values that options take."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from livetrans.config import MOST_GAMMA
from livetrans.errors import UsageError
from livetrans.files import input_path
from livetrans.languages import AUTO, parse_language
from livetrans.translation.prompting import read_glossary


class NumberRange(click.FloatRange):
    """A range that refuses nan, which compares as neither below nor above a bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Gamma(click.ParamType[int | None]):
    """Tokens that a draft model proposes at a time: a number, or None for `auto`."""

    name = "gamma"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value == "auto" else int(click.IntRange(1, MOST_GAMMA).convert(value, param, ctx))


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
        names = [name.strip() for name in str(value).split(",")]
        codes = (AUTO if self._auto and name.lower() == AUTO else parse_language(name).code for name in names)
        return tuple(dict.fromkeys(codes))


class Terms(click.ParamType[tuple[tuple[str, str], ...]]):
    """The terms of a glossary's file."""

    name = "glossary"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[str, str], ...]:
        return read_glossary(input_path(str(value)))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def checked_jsonl(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Accept .jsonl files only, because `--jsonl demo.flac` would overwrite the recording."""
    if value in (None, "-") or str(value).endswith(".jsonl"):
        return value
    if Path(str(value)).exists():
        raise UsageError(
            f"--jsonl took {value!r} for the file to write; "
            "write --jsonl behind it, or name a new file with --jsonl=FILE.jsonl"
        )
    named = Path(str(value)).with_suffix(".jsonl")
    raise UsageError(f"--jsonl writes to a file that ends in .jsonl; write --jsonl {shlex.quote(str(named))}")
