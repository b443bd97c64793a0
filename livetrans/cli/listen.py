"""`livetrans listen`: captions for what this computer plays."""

from __future__ import annotations

import click

from livetrans.cli.declarations import GroupedCommand
from livetrans.cli.mic import run_captured
from livetrans.cli.run_options import run_options
from livetrans.clock import SystemClock
from livetrans.config import Settings
from livetrans.run.listening import PostponedNotices


@click.command(cls=GroupedCommand)
@click.option("--app", "program", metavar="NAME", help="Listen to one program only: a part of its name.")
@click.option("--yes", is_flag=True, help="Fetch missing models for the languages without asking.")
@run_options
def command(settings: Settings, program: str | None, yes: bool) -> None:
    """Show captions for what this computer plays (a call, a video), until q or Ctrl-C.

    That is what its default output plays, or with --app what one program plays; `livetrans devices` lists both.
    """
    from livetrans.audio.playback import open_playback

    clock, notices = SystemClock(), PostponedNotices()
    run_captured(open_playback(program, clock, notices), settings, clock, notices, yes=yes)
