"""`livetrans completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from livetrans.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def command(shell: str | None) -> None:
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
