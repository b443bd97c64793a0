"""`livetrans devices`: the microphones that `mic --device` can name."""

from __future__ import annotations

import click

from livetrans.audio.microphone import list_devices
from livetrans.errors import SourceError
from livetrans.text import visible


@click.command()
def command() -> None:
    """List the microphones: number, name, channels and rate; * marks the one used by default.

    `livetrans mic --device` takes the number or a part of the name.
    """
    devices = list_devices()
    if not devices:
        raise SourceError("no microphone was found; plug one in, or allow this terminal to use it")
    for device in devices:
        mark = "*" if device.default else " "
        channels = "1 channel" if device.channels == 1 else f"{device.channels} channels"
        click.echo(f"{mark} {device.number:>3}  {visible(device.name)} ({channels}, {device.default_rate} Hz)")
