"""`livetrans devices` and `completion`: what this machine has, printed."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from livetrans.errors import SourceError, UsageError
from livetrans.text import visible

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.option(
    "--listen",
    metavar="[SECONDS]",
    type=click.FloatRange(0.5, 60),
    is_flag=False,
    flag_value=5.0,
    help="Show how loud each of them is, for 5 seconds, or SECONDS.",
)
def devices_command(listen: float | None) -> None:
    """List the microphones: number, name, channels and rate; * marks the one used by default.

    `livetrans mic --device` takes the number or a part of the name.
    """
    from livetrans.audio.portaudio import list_devices

    devices = list_devices()
    if not devices:
        raise SourceError("no microphone was found; plug one in, or allow this terminal to use it")
    for device in devices:
        mark = "*" if device.default else " "
        channels = "1 channel" if device.channels == 1 else f"{device.channels} channels"
        click.echo(f"{mark} {device.number:>3}  {visible(device.name)} ({channels}, {device.default_rate} Hz)")
    if listen is not None:
        from livetrans.cli.metering import show_levels

        show_levels(devices, listen)


@click.command()
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def completion_command(shell: str | None) -> None:
    """Print the completion script of SHELL (bash, zsh or fish; by default the one in use).

    \b
    bash: livetrans completion bash > ~/.local/share/bash-completion/completions/livetrans
    zsh:  livetrans completion zsh > a file _livetrans in a folder of your $fpath
    fish: livetrans completion fish > ~/.config/fish/completions/livetrans.fish
    """
    from livetrans.cli import COMPLETION_VARIABLE, cli

    name = shell or Path(os.environ.get("SHELL", "")).name
    completion = get_completion_class(name) if name in SHELLS else None
    if completion is None:
        raise UsageError(f"the shell in use was not recognised; name it: livetrans completion {'|'.join(SHELLS)}")
    click.echo(completion(cli, {}, "livetrans", COMPLETION_VARIABLE).source())
