"""`livetrans completion`: the script by which a shell completes commands, and what it completes arguments to."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

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
        raise UsageError(
            f"the shell in use was not recognised; name it ({', '.join(SHELLS)}): `livetrans completion bash`"
        )
    click.echo(completion(cli, {}, "livetrans", COMPLETION_VARIABLE).source())


def complete_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of a session's name."""
    from livetrans.session.store import LAST, session_folders

    names = [LAST, *(folder.name for folder in session_folders())]
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def complete_file_or_session(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of a file's name; of a session's where one begins with what is typed."""
    sessions = complete_session(context, parameter, typed) if typed else []
    return sessions or [CompletionItem(typed, type="file")]


def complete_language(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the shell's completions of the last of one or more languages with commas between, as codes or names."""
    from livetrans.languages import LANGUAGES

    before, comma, last = typed.rpartition(",")
    named = [(one.code, one.name) for one in LANGUAGES.values()]
    named += [(one.name, one.code) for one in LANGUAGES.values() if last and " " not in one.name]
    found = [(value, other) for value, other in named if value.lower().startswith(last.lower())]
    return [CompletionItem(f"{before}{comma}{value}", help=other) for value, other in found]
