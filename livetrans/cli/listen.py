"""`livetrans listen`: captions for what this computer plays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from livetrans.cli.declarations import GroupedCommand, complete_language
from livetrans.cli.mic import device_option, run_captured
from livetrans.cli.run_options import run_options, was_given
from livetrans.clock import SystemClock
from livetrans.config import TRANSCRIPT_ONLY, MeetingSettings, Settings
from livetrans.errors import UsageError
from livetrans.languages import parse_language
from livetrans.run.listening import PostponedNotices
from livetrans.text import display_width

if TYPE_CHECKING:
    from livetrans.audio.live import LiveSource

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


@click.command(cls=GroupedCommand)
@click.option("--app", "program", metavar="NAME", help="Listen to one program only: a part of its name.")
@click.option("--yes", is_flag=True, help="Fetch missing models for the languages without asking.")
@click.option("--with-mic", is_flag=True, help="Hear the microphone too, as a second track: what you say.")
@click.option(
    "--me",
    metavar="LANGUAGE",
    type=SpokenByOne(),
    shell_complete=complete_language,
    help="With --with-mic: the language that you speak, and without --to the one that you read.  "
    "[default: that of --to]",
)
@click.option(
    "--me-to",
    metavar="LANGUAGE",
    type=SpokenByOne(none=True),
    shell_complete=complete_language,
    help="With --with-mic: the language that what you say is translated into; none only writes it down.  "
    "[default: that of --from; with --from auto none]",
)
@click.option(
    "--names",
    metavar="ME,THEM",
    type=TrackNames(),
    default="me,them",
    show_default=True,
    help="With --with-mic: the names of the two tracks.",
)
@run_options
@device_option
def command(
    settings: Settings,
    program: str | None,
    yes: bool,
    with_mic: bool,
    me: str | None,
    me_to: str | None,
    names: tuple[str, ...],
) -> None:
    """Show captions for what this computer plays (a call, a video), until q or Ctrl-C.

    That is what its default output plays, or with --app what one program plays; `livetrans devices` lists both. With
    --with-mic it also shows what you say: --from en --me de translates a meeting in English both ways.
    """
    from livetrans.audio.microphone import Microphone
    from livetrans.audio.playback import open_playback

    for option in () if with_mic else ("me", "me_to", "names", "device"):
        if was_given(option):
            raise UsageError(f"--{option.replace('_', '-')} is of the microphone; add --with-mic, or drop it")
    if program is not None and not program.strip():
        raise UsageError("--app needs a part of a program's name; `livetrans devices` lists the programs that play now")
    clock, notices = SystemClock(), PostponedNotices()
    playback = open_playback(program, clock, notices)
    sources: list[tuple[LiveSource, PostponedNotices]] = [(playback, notices)]
    if with_mic:
        # Fixed now, because keys change the languages of the others.
        mine = replace(settings, meeting=MeetingSettings(me, me_to, names)).for_microphone()
        target = TRANSCRIPT_ONLY if mine.source_language == mine.target_language else mine.target_language
        settings = replace(settings, meeting=MeetingSettings(mine.source_language, target, names))
        try:
            notices = PostponedNotices()
            sources.append((Microphone(settings.device, clock, notices), notices))
        except BaseException:
            playback.close()
            raise
    run_captured(sources, settings, clock, yes=yes)
