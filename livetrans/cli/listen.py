"""`livetrans listen`: captions for what this computer plays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livetrans.cli.declarations import GroupedCommand
from livetrans.cli.meeting import meeting_options, with_meeting
from livetrans.cli.mic import device_option, run_captured
from livetrans.cli.run_options import run_options
from livetrans.clock import SystemClock
from livetrans.config import Settings
from livetrans.run.listening import PostponedNotices

if TYPE_CHECKING:
    from livetrans.audio.live import LiveSource


@click.command(cls=GroupedCommand)
@click.option("--app", "program", metavar="NAME", help="Listen to one program only: a part of its name.")
@click.option("--yes", is_flag=True, help="Fetch missing models for the languages without asking.")
@meeting_options
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

    settings = with_meeting(settings, with_mic, me, me_to, names)
    clock, notices = SystemClock(), PostponedNotices()
    playback = open_playback(program, clock, notices)
    sources: list[tuple[LiveSource, PostponedNotices]] = [(playback, notices)]
    if with_mic:
        try:
            notices = PostponedNotices()
            sources.append((Microphone(settings.device, clock, notices), notices))
        except BaseException:
            playback.close()
            raise
    run_captured(sources, settings, clock, yes=yes)
