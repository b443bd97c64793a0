"""`livetrans languages` and `completion`: a list and a script, printed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from livetrans.errors import UsageError
from livetrans.languages import LANGUAGES, Language

SHELLS = ("bash", "zsh", "fish")
WIDTH = 80


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def languages_command(as_json: bool) -> None:
    """List the languages that --from and --to take, by code or by name in any language.

    A model may know fewer: `livetrans models` lists those of each.
    """
    spoken, captions_only = [
        [language for language in LANGUAGES.values() if bool(language.whisper_code) is known] for known in (True, False)
    ]
    if as_json:
        listed = [
            {"code": one.code, "name": one.name, "spoken": one.whisper_code is not None} for one in LANGUAGES.values()
        ]
        click.echo(json.dumps({"languages": listed}))
        return
    click.echo("For --from and --to:")
    for line in _columns(spoken):
        click.echo(line)
    click.echo("\nFor --to only, as no recogniser knows them:")
    for line in _columns(captions_only):
        click.echo(line)


def _columns(languages: list[Language]) -> Iterator[str]:
    """Code and name, sorted by name down as many columns as 80 characters hold."""
    entries = [f"{one.code:<8}{one.name}" for one in sorted(languages, key=lambda one: one.name)]
    width = max(map(len, entries)) + 2
    rows = -(-len(entries) // (WIDTH // width))
    for row in range(rows):
        yield ("  " + "".join(f"{entry:<{width}}" for entry in entries[row::rows])).rstrip()


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
