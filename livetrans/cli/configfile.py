"""The configuration file: TOML whose keys are long option names, so there is one set of names to learn.

    from = "en"
    to = "de"
    mask-k = 4

    [mic]
    device = "USB"

Keys at the top are for every command that has the option; a table is for the command of its name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import click

from livetrans.cli.common import GroupedOption
from livetrans.errors import UsageError
from livetrans.files import read_text
from livetrans.text import nearest

COMMANDS = ("mic", "replay")
"""The commands that read the file."""

COMMAND_LINE_ONLY = frozenset({"config", "yes"})
"""Options that are no keys of the file: it does not name itself, and a fetch needs a yes each time."""

Value = bool | int | float | str

_KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}


def default_config_file() -> Path:
    """The file that is read when no other is named; it need not exist."""
    import platformdirs

    return platformdirs.user_config_path("livetrans", appauthor=False) / "config.toml"


def read_config(
    path: Path, shared: Mapping[str, type[Value]], tables: Mapping[str, Mapping[str, type[Value]] | None]
) -> dict[str, dict[str, Value]]:
    """The settings of a file by table; those outside a table have the name "".

    `shared` gives the type of every key allowed at the top, `tables` those of each command's own table; None
    is a table that is valid but not read.

    Raises:
        UsageError: no such file, bad TOML, an unknown key or a value of the wrong kind; names the file and the key.
    """
    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as fault:  # also a number of thousands of digits, or brackets
        raise UsageError(f"{path} is not valid TOML: {fault}; correct it") from fault
    except OSError as fault:
        raise UsageError(f"the configuration file {path} cannot be read ({fault.strerror}); name another") from fault

    values: dict[str, dict[str, Value]] = {"": {}}
    for key, value in content.items():
        if key in tables and isinstance(value, dict):
            kinds = tables[key]
            if kinds is not None:
                values[key] = {inner: _checked(path, inner, item, kinds) for inner, item in value.items()}
        else:
            values[""][key] = _checked(path, key, value, shared)
    return values


def _checked(path: Path, key: str, value: object, kinds: Mapping[str, type[Value]]) -> Value:
    kind = kinds.get(key)
    if key in COMMAND_LINE_ONLY:
        raise UsageError(f"{path}: {key} cannot be set in a file; remove it, and give --{key} where it is needed")
    if kind is None:
        owners = [name for name, options in own_options().items() if key in options]
        if owners:
            tables = " or ".join(f"[{name}]" for name in owners)
            raise UsageError(f"{path}: {key} cannot be set here; give --{key}, or set it in a table {tables}")
        close = nearest(key, kinds)
        advice = f"did you mean {close}?" if close else "keys are long option names without the dashes"
        raise UsageError(f"{path}: unknown key {key}; {advice}")
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{path}: {key} must be {_KIND_NAMES[kind]}, not {value!r}; correct it")
    return kind(value)


def apply_config(context: click.Context, option: click.Parameter, value: Path | None) -> None:
    """Make the configuration file's values the defaults of the command line."""
    if context.resilient_parsing:
        return
    path = value or default_config_file()
    if value is None and not path.is_file():
        return
    known = {
        option_key(parameter): parameter
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and option_key(parameter) not in COMMAND_LINE_ONLY
    }
    shared = {key: _kind(parameter) for key, parameter in known.items() if isinstance(parameter, GroupedOption)}
    own = {key: _kind(parameter) for key, parameter in known.items()}
    command = context.info_name or ""
    values = read_config(path, shared, {**dict.fromkeys(COMMANDS), command: own})
    context.default_map = {}
    for key, item in {**values[""], **values.get(command, {})}.items():
        parameter = known[key]
        try:
            parameter.type.convert(item, parameter, context)
        except click.BadParameter as fault:
            raise UsageError(f"{path}: {key}: {fault.message.rstrip('.')}; correct it") from fault
        context.default_map[parameter.name or key] = item


def own_options() -> dict[str, set[str]]:
    """The keys of each command that only it has."""
    from livetrans.cli import cli

    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in COMMANDS}
    return {
        name: {
            option_key(option)
            for option in (command.params if command else ())
            if isinstance(option, click.Option) and not isinstance(option, GroupedOption)
        }
        for name, command in commands.items()
    }


def option_key(option: click.Option) -> str:
    """An option's key in the configuration file: its long name without the dashes."""
    return next((name[2:] for name in option.opts if name.startswith("--")), option.name or "")


def _kind(option: click.Option) -> type[Value]:
    """The kind of TOML value an option takes."""
    if option.is_flag:
        return bool
    if isinstance(option.type, click.types.IntParamType):
        return int
    return float if isinstance(option.type, click.types.FloatParamType) else str


config_option = click.option(
    "--config",
    cls=GroupedOption,
    heading="Output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=apply_config,
    show_default="config.toml in the user's livetrans configuration folder",
    help="Configuration file: TOML, with these options' names as keys.",
)
