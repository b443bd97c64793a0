"""`livetrans mic`: captions for what the microphone hears."""

from __future__ import annotations

from collections.abc import Callable

import click

from livetrans.cli.common import GroupedCommand
from livetrans.cli.compose import AudioHearing
from livetrans.cli.options import RunOptions, run_options, settings_from
from livetrans.cli.replay import Postponed
from livetrans.cli.running import run_live
from livetrans.clock import SystemClock
from livetrans.events import AudioChunk
from livetrans.sides import Hearing
from livetrans.stages import Publish


@click.command(cls=GroupedCommand)
@click.option(
    "--device", metavar="DEVICE", help="Microphone: its number or a part of its name, see `livetrans devices`."
)
@run_options
def command(options: RunOptions, device: str | None) -> None:
    """Show captions for what the microphone hears, until q or Ctrl-C."""
    from livetrans.audio.microphone import Microphone

    clock = SystemClock()
    settings = settings_from(options)
    notices = Postponed()
    microphone = Microphone(device, clock, notices)

    def hear(publish: Publish, on_audio: Callable[[AudioChunk], None] | None) -> Hearing:
        notices.deliver_to(publish)
        return AudioHearing(microphone, settings, clock, publish, on_audio)

    run_live(options, settings, clock, "microphone", hear)
