"""`livetrans config`: the configuration file written with every key, and what is in force with where it came from."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from livetrans.cli.common import GroupedOption, require_yes, say
from livetrans.cli.configfile import COMMAND_LINE_ONLY, COMMANDS, apply_config, default_config_file, option_key
from livetrans.cli.options import BY_CALM
from livetrans.config import CALM, PAPER, Preset
from livetrans.errors import SessionError
from livetrans.installation import started_as
from livetrans.text import visible

WIDTH = 80

_INTRODUCTION = """\
# Settings of livetrans, in TOML. Each line such as #step = 0.8 holds a key with
# its default; remove the # and change the value. A key that has no value by
# default stands in an example; write the line without "# Example: ".
# Options on the command line override this file, and so do environment
# variables where an option has one.
# Keys at the top are for every command; [mic] and [replay] are for one.
"""

EXAMPLES: dict[str, Any] = {
    "asr": "whisper-small",
    "mt": "hy-mt2-1.8b",
    "prompt": "hymt",
    "draft-model": "/models/Qwen3-0.6B-Q8_0.gguf",
    "glossary": "/home/me/terms.tsv",
    "window": "partials",
    "show-source": True,
    "theme": "textual-light",
    "jsonl": "events.jsonl",
    "session": "/home/me/talk",
    "keep-sessions": 365,
    "device": "USB",
    "compare": "rt,window",
}
"""Values of the keys that have none by default."""


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
        """The option's own default; None where it has none, or the default is described in words."""
        value = self.option.to_info_dict()["default"]
        return False if value is None and self.option.is_flag and not isinstance(self.described, str) else value

    @property
    def described(self) -> str | None:
        """The default in words, where the option says it so."""
        return self.option.show_default if isinstance(self.option.show_default, str) else None

    def of_preset(self, preset: Preset) -> Any:
        """The key's value in a calm setting; None for a key that no calm setting chooses."""
        if self.described != BY_CALM:
            return None
        settings = preset.decoding if hasattr(preset.decoding, self.option.name or "") else preset.mask
        return getattr(settings, self.option.name or "")


@click.command()
@click.option("--show", "action", flag_value="show", default=True, help="Print each value, and where it came from.")
@click.option("--init", "action", flag_value="init", help="Write the file: every key with its default or an example.")
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
    values = {name: entry.of_preset(preset) for name, preset in CALM.items()}
    default = entry.default if entry.default is not None else values["balanced"]
    if entry.described == BY_CALM:
        text += f" Default: by calm, {', '.join(f'{name} {value}' for name, value in values.items())}."
    elif default is None:
        text += f" Default: {entry.described or 'none'}."
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    # JSON's numbers, truth values and strings are TOML's too.
    line = f"{entry.key} = {json.dumps(EXAMPLES[entry.key] if default is None else default, ensure_ascii=False)}"
    yield f"# Example: {line}\n" if default is None else f"#{line}\n"


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
    values = {entry.key: entry.given[0] for entry in found if not entry.table}
    if values["theme"] is not None:
        from livetrans.tui.app import check_theme

        check_theme(values["theme"])
    preset = PAPER if values["method"] == "paper" else CALM[values["calm"]]
    click.echo(visible(str(path)))
    if not path.is_file():
        click.echo(f"(not there; `{started_as()} config --init` writes it)")
    table = ""
    for entry in found:
        if entry.table != table:
            click.echo(f"\n[{entry.table}]")
            table = entry.table
        value, source = entry.given
        chosen = entry.of_preset(preset)
        if value is not None or not entry.described:
            shown = _shown(value)
        else:
            shown = f"({entry.described})" if chosen is None else f"{_shown(chosen)} ({entry.described})"
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
