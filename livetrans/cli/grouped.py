"""Options as click has none: under headings, with defaults from the configuration file, without nan."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from livetrans.configfile import Value, default_config_file, read_config
from livetrans.errors import UsageError

COMMANDS_WITH_CONFIG = ("mic", "replay")


class GroupedOption(click.Option):
    """An option that `--help` lists under a heading; every default is shown."""

    def __init__(self, *declarations: Any, heading: str, **settings: Any) -> None:
        super().__init__(*declarations, **{"show_default": True, **settings})
        self.heading = heading


class GroupedCommand(click.Command):
    """A command whose `--help` lists its own options first, then those with headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Option):
                continue  # The usage line names arguments, and the text below it explains them.
            line = parameter.get_help_record(ctx)
            if line is not None:
                sections.setdefault(getattr(parameter, "heading", "Options"), []).append(line)
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


class NumberRange(click.FloatRange):
    """A range that refuses nan, which compares as neither below nor above a bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


def apply_config(context: click.Context, option: click.Parameter, value: Path | None) -> None:
    """Make the configuration file's values the defaults of the command line."""
    if context.resilient_parsing:
        return
    path = value or default_config_file()
    if value is None and not path.is_file():
        return
    known = {_key(parameter): parameter for parameter in context.command.params if isinstance(parameter, click.Option)}
    known.pop("config", None)
    shared = {key: _kind(parameter) for key, parameter in known.items() if isinstance(parameter, GroupedOption)}
    own = {key: _kind(parameter) for key, parameter in known.items()}
    command = context.info_name or ""
    values = read_config(path, shared, {**dict.fromkeys(COMMANDS_WITH_CONFIG), command: own})
    context.default_map = {}
    for key, item in {**values[""], **values.get(command, {})}.items():
        parameter = known[key]
        try:
            parameter.type.convert(item, parameter, context)
        except click.BadParameter as fault:
            raise UsageError(f"{path}: {key}: {fault.message.rstrip('.')}; correct it") from fault
        context.default_map[parameter.name or key] = item


def _key(option: click.Option) -> str:
    """An option's key in the configuration file: its long name without the dashes."""
    return next((name[2:] for name in option.opts if name.startswith("--")), option.name or "")


def _kind(option: click.Option) -> type[Value]:
    """The kind of TOML value an option takes."""
    if option.is_flag:
        return bool
    if isinstance(option.type, click.types.IntParamType):
        return int
    return float if isinstance(option.type, click.types.FloatParamType) else str
