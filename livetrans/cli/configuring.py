"""`livetrans config`: the configuration file written with every key, and what is in force with where it came from."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from livetrans.cli.common import GroupedOption, require_yes, say, started_as
from livetrans.cli.configfile import COMMAND_LINE_ONLY, COMMANDS, apply_config, default_config_file, option_key
from livetrans.errors import SessionError
from livetrans.text import visible

WIDTH = 80

_INTRODUCTION = """\
# Settings of livetrans, in TOML. Remove the # in front of a key to set it.
# An option on the command line goes before this file, and so does an
# environment variable where the option has one.
# Keys at the top are for every command; [mic] and [replay] are for one.
"""


class Entry(NamedTuple):
    """A key of the configuration file."""

    table: str
    """Empty for a key of every command, else the one command that has it."""
    heading: str
    option: click.Option
    context: click.Context

    @property
    def key(self) -> str:
        return option_key(self.option)

    @property
    def given(self) -> tuple[Any, ParameterSource | None]:
        """The value that is in force, None where there is none, and where it came from."""
        value, source = self.option.consume_value(self.context, {})
        return (self.default if source is ParameterSource.DEFAULT else value), source

    @property
    def default(self) -> Any:
        """The option's own default; None where the default is described in words."""
        value = self.option.to_info_dict()["default"]
        return False if value is None and self.option.is_flag and not isinstance(self.described, str) else value

    @property
    def described(self) -> str | None:
        """The default in words, where the option says it so."""
        return self.option.show_default if isinstance(self.option.show_default, str) else None

    @property
    def sample(self) -> Any:
        """A value that the key accepts: its default, or where that is none, one of the right kind."""
        if self.default is not None:
            return self.default
        kind = self.option.type
        if isinstance(kind, click.Choice):
            return kind.choices[0]
        if self.option.is_flag:
            return True
        if isinstance(kind, click.IntRange | click.FloatRange):
            return kind.min
        return self.option.metavar or ""


@click.command()
@click.option("--show", "action", flag_value="show", default=True, help="Print each value, and where it came from.")
@click.option("--init", "action", flag_value="init", help="Write the file: every key with its default, as comments.")
@click.option("--path", "action", flag_value="path", help="Print where the file is.")
@click.option(
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default="config.toml in the user's livetrans configuration folder",
    help="Another configuration file.",
)
@click.option("--yes", is_flag=True, help="With --init: overwrite a file that is there, without asking.")
def command(action: str, file: Path | None, yes: bool) -> None:
    """Show the settings of `mic` and `replay`, or write a configuration file to change them in."""
    path = file or default_config_file()
    if action == "path":
        click.echo(path)
    elif action == "init":
        _write(path, yes)
    else:
        _show(path, file)


def entries() -> list[Entry]:
    """Every key: the shared ones by heading, then each command's own."""
    from livetrans.cli import cli

    shared: dict[str, Entry] = {}
    own: list[Entry] = []
    for name in COMMANDS:
        parent = click.Context(cli)
        command = cli.get_command(parent, name)
        assert command is not None
        context = click.Context(command, parent, info_name=name)
        for option in command.params:
            if not isinstance(option, click.Option) or option_key(option) in COMMAND_LINE_ONLY:
                continue
            if isinstance(option, GroupedOption):
                shared.setdefault(option_key(option), Entry("", option.heading, option, context))
            else:
                own.append(Entry(name, "", option, context))
    return [*shared.values(), *own]


def entries_in_force(file: Path | None) -> list[Entry]:
    """Every key, with the values of a configuration file; None for the user's, which need not exist.

    Raises:
        UsageError: the file cannot be read, or has a wrong key or value.
    """
    found = entries()
    for entry in found:
        if entry.context.default_map is None:
            apply_config(entry.context, entry.option, file)
    return found


def template() -> str:
    """A configuration file with every key, its help and its default, all as comments, at most 80 columns wide."""
    lines = [_INTRODUCTION]
    before = ("", "")
    for entry in entries():
        if (entry.table, entry.heading) != before:
            lines.append(f"\n[{entry.table}]\n" if entry.table else f"\n# --- {entry.heading} ---\n")
            before = (entry.table, entry.heading)
        lines += _commented(entry)
    return "\n".join(lines) + "\n"


def _commented(entry: Entry) -> Iterator[str]:
    text = visible(entry.option.help or "")
    choices = entry.option.type
    if isinstance(choices, click.Choice):
        text += f" One of: {', '.join(choices.choices)}."
    if entry.described:
        text += f" Default: {entry.described}."
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    # JSON's numbers, truth values and strings are TOML's too.
    yield f"#{entry.key} = {json.dumps(entry.sample, ensure_ascii=False)}\n"


def _write(path: Path, yes: bool) -> None:
    if path.exists() and not yes:
        refusal = f"{path} exists already; give --yes to overwrite it, or --config for another file"
        require_yes(f"{path} exists already. Overwrite it?", refusal)
    text = template()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as fault:
        raise SessionError(f"{path} cannot be written ({fault.strerror}); choose another place with --config") from None
    click.echo(path)
    say("remove the # before a key to set it; `livetrans config` shows what is in force")


def _show(path: Path, file: Path | None) -> None:
    found = entries_in_force(file)
    click.echo(visible(str(path)))
    if not path.is_file():
        click.echo(f"(not there; `{started_as()} config --init` writes it)")
    table = ""
    for entry in found:
        if entry.table != table:
            click.echo(f"\n[{entry.table}]")
            table = entry.table
        value, source = entry.given
        shown = f"({entry.described})" if value is None and entry.described else _shown(value)
        first = f"{entry.key:<13} {_origin(entry, source):<20} "
        lines = textwrap.wrap(visible(shown) or "-", WIDTH - len(first), break_on_hyphens=False)
        click.echo(first + f"\n{' ' * len(first)}".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _origin(entry: Entry, source: ParameterSource | None) -> str:
    """Where a value came from, in one word: `default`, `file`, or the environment variable."""
    if source is ParameterSource.ENVIRONMENT:
        variable = entry.option.envvar
        return variable if isinstance(variable, str) else "environment"
    return "file" if source is ParameterSource.DEFAULT_MAP else "default"
