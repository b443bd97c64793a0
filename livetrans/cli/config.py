"""`livetrans config`: writes a configuration file with every key, and shows the settings in force.

Keys are the long names of options, so that there is one set of names to learn. Those that `--help` does not list stand
in a table for experts:

    from = "en"
    to = "de"

    [expert]
    mask-k = 4
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from livetrans.cli.messages import require_yes, say
from livetrans.cli.options import EXPERT_TABLE, OPTIONS, default_config_file, read_config
from livetrans.config import CALM, SETTINGS, Setting, Settings, preset_of
from livetrans.errors import SessionError
from livetrans.text import visible

WIDTH = 80

_INTRODUCTION = """\
# Settings of livetrans, in TOML. Each line such as #step = 0.8 holds a key with
# its default: remove the # and change the value. Keys without a default show
# what to write instead.
# The command line overrides this file, and so do environment variables where
# an option has one.
"""
_FOR_EXPERTS = f"""
# --- For experts: keys that `--help-all` lists and `--help` does not ---

[{EXPERT_TABLE}]
"""


@click.command()
@click.option("--show", "action", flag_value="show", default=True, help="Print each value and where it came from.")
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
@click.option("--yes", is_flag=True, help="With --init: overwrite an existing file without asking.")
def command(action: str, file: Path | None, yes: bool) -> None:
    """Show the settings of `mic`, `listen` and `replay`, or write a configuration file to change them in."""
    path = file or default_config_file()
    if action == "path":
        click.echo(path)
    elif action == "init":
        _write(path, yes)
    else:
        _show(path, file)


def template() -> str:
    """Return a configuration file with every key, its help and its default, all as comments, at most 80 wide."""
    lines = [_INTRODUCTION]
    settings = [setting for setting in SETTINGS.values() if setting.option.in_file]
    for setting in filter(lambda one: one.option.everyday, settings):
        lines += _commented(setting)
    lines.append(_FOR_EXPERTS)
    for setting in filter(lambda one: not one.option.everyday, settings):
        lines += _commented(setting)
    return "\n".join(lines) + "\n"


def _commented(setting: Setting) -> Iterator[str]:
    option = OPTIONS[setting.key]
    text = visible(option.help or "")
    if isinstance(option.type, click.Choice) and option.metavar is None:
        text += f" One of: {', '.join(option.type.choices)}."
    default = option.default
    if setting.is_by_calm:
        text += f" Default, by calm: {', '.join(f'{name} {setting.of(preset)}' for name, preset in CALM.items())}."
        default = setting.default
    elif setting.option.default_text:
        text += f" Default: {setting.option.default_text}."
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    if default is None:
        default = option.type.choices[0] if isinstance(option.type, click.Choice) else option.is_flag or option.metavar
    # JSON's numbers, truth values and strings are TOML's too.
    yield f"#{setting.key} = {json.dumps(default)}\n"


def _write(path: Path, yes: bool) -> None:
    if path.exists() and not yes:
        refusal = f"{path} exists already; give --yes to overwrite it, or --config for another file"
        require_yes(f"{path} exists already. Overwrite it?", refusal)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template(), encoding="utf-8", newline="\n")
    except OSError as fault:
        raise SessionError(f"{path} cannot be written ({fault.strerror}); choose another place with --config") from None
    click.echo(path)
    say("remove the # before a key to set it; `livetrans config` shows what is in force")


def _show(path: Path, file: Path | None) -> None:
    values = read_config(file)
    preset = preset_of(str(values.get("calm", "balanced")), str(values.get("method", Settings().decoding.method)))
    click.echo(visible(str(path)))
    if not path.is_file():
        click.echo("(not there; `livetrans config --init` writes it)")
    for setting in filter(lambda one: one.option.in_file, SETTINGS.values()):
        option, key = setting.option, setting.key
        origin, value = "default", OPTIONS[key].default
        if option.variable and os.environ.get(option.variable):
            origin, value = option.variable, os.environ[option.variable]
        elif key in values:
            origin, value = "file", values[key]
        elif setting.is_by_calm:
            value = f"{_shown(setting.of(preset))} (by --calm)"
        elif option.default_text:
            value = f"({option.default_text})"
        first = f"{key:<13} {origin:<20} "
        lines = textwrap.wrap(visible(_shown(value)), WIDTH - len(first), break_on_hyphens=False)
        click.echo(first + f"\n{' ' * len(first)}".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value or "-") if value != 0 else "0"
