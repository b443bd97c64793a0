"""A click group that knows its commands by module path and imports them when they are called."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click


class CommandEntry(NamedTuple):
    """A command before it is imported."""

    module: str
    """Module whose attribute `command` is the click command."""
    summary: str
    """What the list in `livetrans --help` says, so that listing imports nothing."""


class LazyGroup(click.Group):
    """A group whose commands are imported one at a time, when called or asked for help."""

    def __init__(self, name: str, *, commands_by_name: Mapping[str, CommandEntry], **settings: Any) -> None:
        super().__init__(name, **settings)
        self.commands_by_name = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.commands_by_name.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(entry.module).command
        command.name = cmd_name
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.commands_by_name:
            close = difflib.get_close_matches(name, self.commands_by_name, n=1)
            advice = f" (did you mean {close[0]}?)" if close else ""
            raise click.UsageError(f"there is no command {name!r}{advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.commands_by_name.items()])
