"""`livetrans devices`: the microphones and how loud each of them is, the outputs, and the programs that play."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import click
from rich.live import Live
from rich.text import Text

from livetrans.audio import portaudio, pulse, screencapture
from livetrans.audio.capture import LevelMeter, decibels
from livetrans.audio.portaudio import ON_A_MAC, Device
from livetrans.base.errors import SourceError
from livetrans.base.installation import is_installed
from livetrans.base.text import counted, fitted, visible
from livetrans.cli.messages import steady_console

_BAR = 24
_NAME = 30
_QUIETEST = -60.0
"""Decibels below full scale at which the meter is empty."""
_REDRAW_SECONDS = 0.1
OPENING_SECONDS = 10.0
"""Longest time until every device has given its first sound."""
_PROGRAMS = "Programs, for `livetrans listen --app`:"
_SILENCE = "silence: muted, or not allowed for this terminal"


@click.command()
@click.option(
    "--listen",
    metavar="[SECONDS]",
    type=click.FloatRange(0.5, 60),
    is_flag=False,
    flag_value=5.0,
    help="Show how loud each microphone is, for 5 seconds, or SECONDS.",
)
def command(listen: float | None) -> None:
    """List the microphones, the outputs and the programs that play; * marks what is used by default.

    `livetrans mic --device` takes a microphone's number or a part of its name, `livetrans listen --app` a part of a
    program's name.
    """
    devices = portaudio.list_devices()
    if devices:
        click.echo("Microphones, for `livetrans mic`:")
    for device in devices:
        mark = "*" if device.default else " "
        channels = counted(device.channels, "channel")
        played = ", system sound" if portaudio.is_system_sound(device.name) else ""
        click.echo(f"{mark} {device.number:>3}  {visible(device.name)} ({channels}, {device.default_rate} Hz{played})")
    click.echo(("\n" if devices else "") + "What this computer plays, for `livetrans listen`:")
    for line in lines_of_played(devices):
        click.echo(line)
    if not devices:
        raise SourceError(portaudio.NO_MICROPHONE)
    if listen is not None:
        click.echo()
        show_levels(devices, listen)


def lines_of_played(devices: Sequence[Device]) -> list[str]:
    """Return a line for each output and each program that plays, or one that says what is missing."""
    try:
        if ON_A_MAC and is_installed("ScreenCaptureKit"):
            names = sorted({program.program for program in screencapture.programs_of(screencapture.content())})
            return [
                f"*      {screencapture.NAME}",
                "",
                _PROGRAMS,
                *(f"       {visible(name)} (open)" for name in names),
            ]
        if ON_A_MAC:
            return [f"*      {visible(portaudio.choose_loopback(devices).name)}"]
        outputs, streams = pulse.list_played()
    except SourceError as error:
        return [str(error)]
    lines = [f"{'*' if output.default else ' '}      {visible(output.name)}" for output in outputs]
    playing = {stream.program: stream.paused for stream in sorted(streams, key=lambda stream: not stream.paused)}
    programs = [f"       {visible(name)} ({'paused' if paused else 'playing'})" for name, paused in playing.items()]
    return lines + (["", _PROGRAMS, *programs] if programs else [])


def show_levels(
    devices: Sequence[Device], seconds: float, open_meter: Callable[[int], LevelMeter] = LevelMeter
) -> None:
    """Show moving meters on a terminal. Elsewhere print a line for each device with its loudest moment."""
    console = steady_console(sys.stdout)
    meters = [open_meter(device.number) for device in devices]
    try:
        if console.is_terminal:
            console.print("speak: the meter of the microphone that hears you moves")
        with Live(console=console, auto_refresh=False, transient=True) as live:
            # The seconds count from the first sound on, because a slow machine opens devices for seconds.
            begin = until = time.monotonic() + OPENING_SECONDS
            while time.monotonic() < until and not all(meter.wait(0) for meter in meters):
                if until == begin and all(meter.level is not None or meter.wait(0) for meter in meters):
                    until = time.monotonic() + seconds
                if console.is_terminal:
                    live.update(_lines(devices, meters, lambda meter: meter.level), refresh=True)
                time.sleep(_REDRAW_SECONDS)
    finally:
        for meter in meters:
            meter.close()
    console.print(_lines(devices, meters, lambda meter: meter.loudest), soft_wrap=True)


def _lines(
    devices: Sequence[Device], meters: Sequence[LevelMeter], level_of: Callable[[LevelMeter], float | None]
) -> Text:
    lines = [_line(device, meter, level_of(meter)) for device, meter in zip(devices, meters, strict=True)]
    return Text("\n").join(lines)


def _line(device: Device, meter: LevelMeter, level: float | None) -> Text:
    label = f"{device.number:>5}  {fitted(visible(device.name), _NAME):<{_NAME}} "
    if meter.fault:
        return Text(label + visible(meter.fault))
    if level is None:
        return Text(label + "…")
    if level == 0:
        return Text(label + ("nothing is played" if portaudio.is_system_sound(device.name) else _SILENCE))
    loudness = decibels(level)
    filled = round(_BAR * max(1 - loudness / _QUIETEST, 0.0))
    return Text(f"{label}{'█' * filled:<{_BAR}} {loudness:>4.0f} dB")
