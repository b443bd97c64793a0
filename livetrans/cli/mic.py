"""`livetrans mic`: captions for what is spoken into the microphone."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from livetrans.cli.declarations import GroupedCommand
from livetrans.cli.fetch import offer_models
from livetrans.cli.messages import warn
from livetrans.cli.options import device_option
from livetrans.cli.run_options import run_options
from livetrans.cli.running import run_live
from livetrans.clock import Clock, SystemClock
from livetrans.config import Settings
from livetrans.events import Origin
from livetrans.models.chosen import choose_models, embedded_notice
from livetrans.run.listening import PostponedNotices
from livetrans.run.opening import from_audio

if TYPE_CHECKING:
    from livetrans.audio.live import LiveSource


@click.command(cls=GroupedCommand)
@click.option("--yes", is_flag=True, help="Fetch missing models for the languages without asking.")
@run_options
@device_option
def command(settings: Settings, yes: bool) -> None:
    """Show captions for what is spoken into the microphone, until q or Ctrl-C."""
    from livetrans.audio.microphone import Microphone

    clock, notices = SystemClock(), PostponedNotices()
    run_captured(Microphone(settings.device, clock, notices), settings, clock, notices, yes=yes)


def run_captured(source: LiveSource, settings: Settings, clock: Clock, notices: PostponedNotices, *, yes: bool) -> None:
    """Run on a source of live sound, and close it.

    It is open before models are chosen, so that no gigabytes are fetched for one that is missing. It captures from the
    run on.
    """
    with contextlib.closing(source):
        offer_models(settings, yes=yes)
        settings = choose_models(settings, warn)
        notice = embedded_notice(settings)
        if notice is not None:
            notices(notice)
        open_listening = from_audio(source, Origin(source.name), settings, clock, notices, live=True)
        run_live(settings, clock, source.name, open_listening, notice)
