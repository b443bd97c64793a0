"""The configuration file, and `livetrans config`, which writes it and shows the settings in force.

The file is TOML, and its keys are long names of options, so that there is one set of names to learn:

    from = "en"
    to = "de"
    mask-k = 4
"""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from livetrans.cli.declarations import BY_CALM, GroupedOption
from livetrans.cli.messages import require_yes, say
from livetrans.config import CALM, Settings, preset_of
from livetrans.errors import SessionError, UsageError
from livetrans.files import read_text
from livetrans.installation import started_as, user_folder
from livetrans.text import nearest, visible

Value = bool | int | float | str

WIDTH = 80

_KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}

_PLACE = "config.toml in the user's livetrans configuration folder"

_INTRODUCTION = """\
# Settings of livetrans, in TOML. Each line such as #step = 0.8 holds a key with
# its default; remove the # and change the value. Keys without a default show an
# example: remove "# Example: " to set them.
# Options on the command line override this file, and so do environment
# variables where an option has one.
"""


def default_config_file() -> Path:
    """Return the file that is read when no other is named; it need not exist."""
    return user_folder("config") / "config.toml"


def apply_config(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Make the configuration file's values the defaults of a command.

    Raises:
        UsageError: no such file, bad TOML, an unknown key or a wrong value; it names the file and the key.
    """
    if context.resilient_parsing:
        return
    context.default_map = {}
    if path is None and not default_config_file().is_file():
        return
    path = path or default_config_file()
    known = {entry.key: entry.option for entry in entries()}
    taken = {parameter.name for parameter in context.command.params}
    for key, item in _read(path, known).items():
        parameter = known[key]
        try:
            parameter.type.convert(item, parameter, context)
        except click.BadParameter as fault:
            raise UsageError(f"{path}: {key}: {fault.message.rstrip('.')}; correct it") from fault
        except UsageError as fault:
            raise UsageError(f"{path}: {key}: {fault}") from fault
        if parameter.name in taken:
            context.default_map[parameter.name] = item


def _read(path: Path, known: Mapping[str, click.Option]) -> dict[str, Value]:
    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as fault:  # also a number of thousands of digits, or brackets
        raise UsageError(f"{path} is not valid TOML: {fault}; correct it") from fault
    except OSError as fault:
        raise UsageError(f"the configuration file {path} cannot be read ({fault.strerror}); name another") from fault
    return {key: _checked(path, key, value, known) for key, value in content.items()}


def _checked(path: Path, key: str, value: object, known: Mapping[str, click.Option]) -> Value:
    if isinstance(value, dict):
        raise UsageError(f"{path}: tables such as [{key}] are not read; move its keys to the top of the file")
    if key not in known:
        if key in _command_line_only():
            raise UsageError(f"{path}: {key} cannot be set in a file; remove it, and give --{key} where it is needed")
        close = nearest(key, known)
        advice = f"did you mean {close}?" if close else "keys are long option names without the dashes"
        raise UsageError(f"{path}: unknown key {key}; {advice}")
    kind = _kind(known[key])
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{path}: {key} must be {_KIND_NAMES[kind]}, not {value!r}; correct it")
    return kind(value)


def _kind(option: click.Option) -> type[Value]:
    """Return the kind of TOML value that an option takes."""
    if option.is_flag:
        return bool
    if isinstance(option.type, click.types.IntParamType):
        return int
    return float if isinstance(option.type, click.types.FloatParamType) else str


def _command(name: str) -> tuple[click.Command, click.Context]:
    from livetrans.cli import cli

    parent = click.Context(cli)
    command = cli.get_command(parent, name)
    assert command is not None
    return command, click.Context(command, parent, info_name=name)


def _command_line_only() -> set[str]:
    """Return the names of options that set nothing in the settings, of the commands that run."""
    options = [option for name in ("mic", "replay") for option in _command(name)[0].params]
    return {_key(option) for option in options if isinstance(option, click.Option)}


def _key(option: click.Option) -> str:
    """Return an option's key in the configuration file: its long name without the dashes."""
    return next((name[2:] for name in option.opts if name.startswith("--")), option.name or "")


@dataclass(frozen=True)
class KeyOption:
    """A key of the configuration file: an option of `mic`, which has them all."""

    option: GroupedOption
    context: click.Context

    @property
    def key(self) -> str:
        return _key(self.option)

    @property
    def value(self) -> tuple[Any, ParameterSource | None]:
        """The value that is in force, None where there is none, and where it came from."""
        value, source = self.option.consume_value(self.context, {})
        return (self.default if source is ParameterSource.DEFAULT else value), source

    @property
    def default(self) -> Any:
        """The option's default; None where it has none, or the default is described in words."""
        value = self.option.to_info_dict()["default"]
        return False if value is None and self.option.is_flag and not isinstance(self.described, str) else value

    @property
    def described(self) -> str | None:
        """The default in words, where the option says it so."""
        return self.option.show_default if isinstance(self.option.show_default, str) else None

    def of_preset(self, preset: Settings) -> Any:
        """Return the key's value in a calm setting; None for a key that no calm setting chooses."""
        stage, _, name = self.option.field.partition(".")
        return getattr(getattr(preset, stage), name) if self.described == BY_CALM else None


def entries(file: Path | None = None, *, in_force: bool = False) -> list[KeyOption]:
    """Return every key, in the order of the help; `in_force`: with the values of a file, None for the user's.

    Raises:
        UsageError: the file cannot be read, or has a wrong key or value.
    """
    command, context = _command("mic")
    options = (option for option in command.params if isinstance(option, GroupedOption))
    found = [KeyOption(option, context) for option in options if option.expose_value]  # All but --config.
    headings = [*dict.fromkeys(entry.option.heading for entry in found)]
    found.sort(key=lambda entry: headings.index(entry.option.heading))
    if in_force:
        apply_config(context, found[0].option, file)
    return found


config_option = click.option(
    "--config",
    cls=GroupedOption,
    heading="Output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=apply_config,
    show_default=_PLACE,
    help="Configuration file: TOML, with these options' names as keys.",
)


@click.command()
@click.option("--show", "action", flag_value="show", default=True, help="Print each value, and where it came from.")
@click.option("--init", "action", flag_value="init", help="Write the file: every key with its default or an example.")
@click.option("--path", "action", flag_value="path", help="Print where the file is.")
@click.option(
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default=_PLACE,
    help="Another configuration file.",
)
@click.option("--yes", is_flag=True, help="With --init: overwrite a file that is there, without asking.")
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
    heading = ""
    for entry in entries():
        if entry.option.heading != heading:
            heading = entry.option.heading
            lines.append(f"\n# --- {heading} ---\n")
        lines += _commented(entry)
    return "\n".join(lines) + "\n"


def _commented(entry: KeyOption) -> Iterator[str]:
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
    line = f"{entry.key} = {json.dumps(entry.option.example if default is None else default, ensure_ascii=False)}"
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
    found = entries(file, in_force=True)
    values = {entry.key: entry.value[0] for entry in found}
    preset = preset_of(values["calm"], values["method"])
    click.echo(visible(str(path)))
    if not path.is_file():
        click.echo(f"(not there; `{started_as()} config --init` writes it)")
    for entry in found:
        value, source = entry.value
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


def _origin(entry: KeyOption, source: ParameterSource | None) -> str:
    """Return where a value came from, in one word: `default`, `file`, or the environment variable."""
    if source is ParameterSource.ENVIRONMENT:
        variable = entry.option.envvar
        return variable if isinstance(variable, str) else "environment"
    return "file" if source is ParameterSource.DEFAULT_MAP else "default"
