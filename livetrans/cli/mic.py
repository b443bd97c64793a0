"""`livetrans mic`: captions for what is spoken into the microphone."""

from __future__ import annotations

import click

from livetrans.cli.common import GroupedCommand
from livetrans.cli.pulling import offer_models
from livetrans.cli.run_options import RunOptions, embedded_notice, run_options, settings_from
from livetrans.cli.running import from_audio, run_live
from livetrans.clock import SystemClock
from livetrans.run.listening import PostponedNotices


@click.command(cls=GroupedCommand)
@click.option(
    "--device", metavar="DEVICE", help="Microphone: its number or a part of its name, see `livetrans devices`."
)
@click.option("--yes", is_flag=True, help="Fetch the models that captions of people need, if they are not here.")
@run_options
def command(options: RunOptions, device: str | None, yes: bool) -> None:
    """Show captions for what is spoken into the microphone, until q or Ctrl-C."""
    from livetrans.audio.microphone import Microphone

    offer_models(options.source, options.target, options.asr, options.mt, yes=yes)
    clock = SystemClock()
    settings = settings_from(options)
    notices = PostponedNotices()
    microphone = Microphone(device, clock, notices)
    notice = embedded_notice(settings)
    if notice is not None:
        notices(notice)
    run_live(settings, clock, "microphone", from_audio(microphone, settings, clock, notices, live=True))
