"""The options of `livetrans listen --with-mic`, and what they make of the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from livetrans.cli.declarations import complete_language
from livetrans.cli.run_options import was_given
from livetrans.config import TRANSCRIPT_ONLY, MeetingSettings, Settings
from livetrans.errors import UsageError
from livetrans.languages import parse_language
from livetrans.text import display_width

LONGEST_NAME = 20
"""Columns."""


class SpokenByOne(click.ParamType[str]):
    """The code of one language, or `none` where that is allowed."""

    name = "language"

    def __init__(self, *, none: bool = False) -> None:
        self._none = none

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """
        Raises:
            UsageError: the language is not known.
        """
        text = str(value).strip()
        return TRANSCRIPT_ONLY if self._none and text.lower() == TRANSCRIPT_ONLY else parse_language(text).code


class TrackNames(click.ParamType[tuple[str, ...]]):
    """Two names with a comma between."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        names = tuple(name.strip() for name in str(value).split(","))
        fits = all(name.isprintable() and 0 < display_width(name) <= LONGEST_NAME for name in names)
        if len(set(names)) != 2 or len(names) != 2 or not fits:
            self.fail(f"{value!r}: write two names of at most {LONGEST_NAME} letters, as in me,them.", param, ctx)
        return names


_OPTIONS = [
    click.option("--with-mic", is_flag=True, help="Hear the microphone too, as a second track: what you say."),
    click.option(
        "--me",
        metavar="LANGUAGE",
        type=SpokenByOne(),
        shell_complete=complete_language,
        help="With --with-mic: the language that you speak, and without --to the one that you read.  "
        "[default: that of --to]",
    ),
    click.option(
        "--me-to",
        metavar="LANGUAGE",
        type=SpokenByOne(none=True),
        shell_complete=complete_language,
        help="With --with-mic: the language that what you say is translated into; none only writes it down.  "
        "[default: that of --from; with --from auto none]",
    ),
    click.option(
        "--names",
        metavar="ME,THEM",
        type=TrackNames(),
        default="me,them",
        show_default=True,
        help="With --with-mic: the names of the two tracks.",
    ),
]


def meeting_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a run of two tracks."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def with_meeting(
    settings: Settings, with_mic: bool, me: str | None, me_to: str | None, names: tuple[str, ...]
) -> Settings:
    """Return the settings with the microphone as a second track, if it is wanted.

    Raises:
        UsageError: options without `--with-mic`.
    """
    if with_mic:
        return replace(settings, meeting=MeetingSettings(me, me_to, names))
    for option in ("me", "me_to", "names", "device"):
        if was_given(option):
            raise UsageError(f"--{option.replace('_', '-')} is of the microphone; add --with-mic, or drop it")
    return settings
