"""The options of commands that run, made of the fields of `livetrans.config.Settings`; config.toml, and its command.

What wins, first to last: the command line, the environment variable (models only), the configuration file, the default.
"""

from __future__ import annotations

import codecs
import copy
import json
import os
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from itertools import chain
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import input_path, read_text
from livetrans.base.installation import user_folder
from livetrans.base.languages import require_two_languages
from livetrans.base.text import nearest, visible
from livetrans.cli.declarations import (
    LANGUAGE_PAIR,
    LANGUAGES,
    LANGUAGES_OR_AUTO,
    CountRange,
    NumberRange,
    Parsed,
    caption_place,
    complete_file,
    complete_language,
    json_lines_file,
    language,
    track_names,
    was_given,
)
from livetrans.cli.messages import require_yes, say
from livetrans.config import (
    CALM,
    PAIR_TOKENS,
    PAPER_METHOD,
    SETTINGS,
    TRANSCRIPT_ONLY,
    UNNAMED,
    OutputSettings,
    Setting,
    Settings,
    preset_of,
    with_field,
)
from livetrans.decoding import DECODERS
from livetrans.events import Notice
from livetrans.lm.families import TEMPLATES
from livetrans.lm.server.transport import parse_server
from livetrans.names.file import read_terms
from livetrans.run.effect import Way, without_effect
from livetrans.serve.address import parse_serve_address
from livetrans.serve.secret import parse_publish_address

OFF = "off"
"""Stands for a place where nothing is served, for a run that wants what the configuration file does not."""

KINDS: dict[str, click.ParamType[Any]] = {
    "file": click.Path(dir_okay=False, path_type=Path),
    "folder": click.Path(file_okay=False, path_type=Path),
    "glossary": Parsed(input_path, complete_file),
    "jsonl": Parsed(json_lines_file, complete_file),
    "language": Parsed(language, complete_language),
    "language or none": Parsed(partial(language, word=TRANSCRIPT_ONLY), complete_language),
    "languages": LANGUAGES,
    "languages or auto": LANGUAGES_OR_AUTO,
    "link": Parsed(caption_place),
    "method": click.Choice([*DECODERS, PAPER_METHOD]),
    "names": Parsed(track_names),
    "pair": LANGUAGE_PAIR,
    "key": Parsed(lambda text: Path(text).expanduser()),
    "server": Parsed(lambda text: text and parse_server(text)),
    "text": click.STRING,
    "place": Parsed(lambda text: text if text != OFF and parse_serve_address(text) else None),
    "room": Parsed(lambda text: parse_publish_address(text).geturl()),
    "template": click.Choice(list(TEMPLATES)),
}
"""How values are read that the type of their field does not tell; the keys are `livetrans.config.Option.kind`."""

_OF_DECODERS = {
    "{decoders}": ", ".join(f"{row.name} translates {row.summary}" for row in DECODERS.values()),
    "{biased}": ", ".join(row.name for row in DECODERS.values() if row.biased),
}
"""What help texts say of the decoders."""

EXPERT_TABLE = "expert"
"""The table of config.toml for the keys that `--help` does not list."""
_SHOWS_ALL = "livetrans.shows_all"
_PLACE = "config.toml in the user's livetrans configuration folder"


class RunOption(click.Option):
    """An option of a command that runs: everyday ones are in `--help`, all of them in `--help-all`, under headings."""

    def __init__(
        self,
        *declarations: Any,
        setting: Setting | None = None,
        section: str = "Options",
        everyday: bool = False,
        **attributes: Any,
    ) -> None:
        super().__init__(*declarations, **{"show_default": True, **attributes})
        self.setting, self.section, self.everyday = setting, section, everyday

    def is_off(self, value: Any) -> bool:
        """Return whether a value leaves things as they are without the option."""
        return self.is_flag and value is (self.setting.default if self.setting else False)

    def short_help_record(self, context: click.Context) -> tuple[str, str] | None:
        """Return the names and the first sentence of the help, with the default if that is a value."""
        short = copy.copy(self)
        short.help = (self.help or "").partition(". ")[0].rstrip(".")
        short.show_envvar = False
        if self.setting and self.setting.default is not None:
            short.secondary_opts = []
        short.show_default = self.show_default is True
        return short.get_help_record(context)


def option_text(value: Any) -> Any:
    """Return a value of a setting as its option takes it; None for an empty one."""
    if isinstance(value, tuple):
        return ",".join(value) or None
    return None if value == UNNAMED else value


def _option(setting: Setting) -> RunOption:
    stated = setting.option
    name, _, value = stated.name.partition(" ")
    kind = setting.type.split()[0]
    attributes: dict[str, Any] = {}
    if kind == "bool":
        attributes["is_flag"] = True
        if "/" not in name:
            name += "/--" + (name[5:] if setting.default else f"no-{name[2:]}")
        if setting.default:
            attributes["callback"] = lambda context, option, given: not given
    elif stated.kind or stated.choices:
        attributes["type"] = KINDS[stated.kind] if stated.kind else click.Choice(stated.choices)
    elif stated.span:
        attributes["type"] = CountRange(*stated.span) if kind == "int" else NumberRange(*stated.span)
    elif kind == "Path":
        attributes["type"] = click.Path(path_type=Path)
    default = None if setting.default is True or setting.is_by_calm else option_text(setting.default)
    if stated.bare:
        attributes |= {"is_flag": False, "flag_value": stated.bare}
    help = stated.help
    for mark, text in _OF_DECODERS.items():
        help = help.replace(mark, text)
    return RunOption(
        [name],
        setting=setting,
        section=setting.section,
        everyday=stated.everyday,
        default=False if kind == "bool" and setting.default is not None else default,
        show_default="by --calm"
        if setting.is_by_calm
        else stated.default_text or not (default is None or default is False),
        metavar=value or None,
        multiple=stated.is_repeatable,
        envvar=stated.variable,
        show_envvar=stated.variable is not None,
        help=help,
        **attributes,
    )


run_option = partial(click.option, cls=RunOption)
"""Declares an option of one command."""
OPTIONS = {key: _option(setting) for key, setting in SETTINGS.items()}


def server_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for key in ("mt-key-file", "mt-model", "mt-server"):
        setting = SETTINGS[key]
        name, _, metavar = setting.option.name.partition(" ")
        function = click.option(
            name,
            metavar=metavar,
            type=OPTIONS[key].type,
            default=option_text(setting.default),
            help=setting.option.help,
        )(function)
    return function


class RunCommand(click.Command):
    """A command that runs: `--help` lists its everyday options, `--help-all` all, each under its heading."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shows_all = ctx.meta.get(_SHOWS_ALL, False)
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for option in self.get_params(ctx):
            if isinstance(option, RunOption) and not shows_all:
                heading, line = "Options", option.short_help_record(ctx) if option.everyday else None
            else:
                heading, line = getattr(option, "section", "Options"), option.get_help_record(ctx)
            if line is not None and not isinstance(option, click.Argument):
                sections.setdefault(heading, []).append(line)
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


def run_command(
    name: str, *, hides: str = "", sources: Callable[..., Sequence[str]] = lambda **values: ()
) -> Callable[[Callable[..., int | None]], RunCommand]:
    """Make a command of a function that receives the settings of a run, then the values of the command's own options.

    It has the options of all settings that are for `name`; those of the section `hides` are taken, and not listed.
    `sources` returns what the named files are (`livetrans.run.effect`). Models are as they were named.
    """

    def made(function: Callable[..., int | None]) -> RunCommand:
        @wraps(function)
        def with_settings(**values: Any) -> int | None:
            context = click.get_current_context()
            settings = settings_of(context)
            refuse_without_effect(
                Way(settings, context.params, tuple(sources(**context.params)), wants_screen(settings.output))
            )
            return function(settings, **{key: value for key, value in values.items() if key not in shared})

        command = click.command(name, cls=RunCommand)(with_settings)
        options = [copy.copy(OPTIONS[key]) for key, one in SETTINGS.items() if name in (one.option.commands or (name,))]
        shared = {option.name for option in options}
        for option in options:
            option.hidden = option.section == hides
        command.params += [*options, _config_option(), _help_all_option()]
        return command

    return made


def settings_of(context: click.Context) -> Settings:
    """Return the settings that the options of a command, the environment and the configuration file make."""
    values = context.params
    settings = preset_of(values["calm"], values["method"])
    for option in context.command.params:
        if not isinstance(option, RunOption) or not option.setting or option.name in ("calm", "method"):
            continue
        if context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT:
            settings = with_field(settings, option.setting.field, values[option.name or ""])
    if was_given("mt") and not was_given("mt_server"):
        settings = with_field(settings, "language_model.server", "")  # The file's, this once.
    if settings.prompt.glossary_file != UNNAMED:
        settings = with_field(settings, "prompt.glossary", read_terms(settings.prompt.glossary_file)[0])
    if context.get_parameter_source("context") is ParameterSource.DEFAULT:
        tokens = settings.language_model.context_tokens + PAIR_TOKENS * settings.prompt.history
        settings = with_field(settings, "language_model.context_tokens", tokens)
    mine = settings.meeting.spoken if settings.meeting and context.params.get("with_mic") else None
    if mine and context.get_parameter_source("to") is ParameterSource.DEFAULT and mine != settings.source_language:
        settings = with_field(settings, "targets", (mine,))  # Who speaks it reads it.
    settings = _between(context, settings)
    if not settings.between:
        require_two_languages(settings.source_language, settings.target_language)
    is_usable = DECODERS[settings.decoding.method].draft_model != "none" or was_given("draft_model")
    if settings.draft_model and (settings.draft_model.model == UNNAMED or not is_usable):
        settings = replace(settings, draft_model=None)
    return settings


def _between(context: click.Context, settings: Settings) -> Settings:
    """Return the settings with all that `--between` sets: a conversation has no other languages."""
    between, meeting = settings.between, settings.meeting
    if not between or not between.languages:
        return replace(settings, between=None, meeting=meeting if "me" in context.params else None)
    is_named = meeting and context.get_parameter_source("names") not in (None, ParameterSource.DEFAULT)
    between = replace(between, names=meeting.names if meeting and is_named else ())
    return replace(settings, between=between, meeting=None, sources=between.languages, targets=between.languages)


def refuse_without_effect(way: Way, others: str = "") -> None:
    """Refuse an option on the command line that has no effect in the run: one of a setting, or one of the `others`."""
    context = click.get_current_context()
    for option in context.command.params:
        value, key = context.params.get(option.name or ""), option.opts[-1].lstrip("-")
        run = option if isinstance(option, RunOption) else None
        if not (run or key in others.split()) or not was_given(option.name or "") or (run and run.is_off(value)):
            continue
        if found := without_effect(key, way):
            is_opposite = value is False and run and run.setting and run.setting.default is None
            name = (option.secondary_opts if is_opposite else option.opts)[0]
            name += f" {value}" if isinstance(option.type, click.Choice) else ""
            raise UsageError("; ".join([f"{name} {found[0]}", " or ".join(["drop it", *filter(None, [found[1]])])]))


def choose_for(settings: Settings, notify: Callable[[Notice], None]) -> Settings:
    """Choose the models, and refuse options that have no effect on what the server can do; errors of both."""
    from livetrans.models.chosen import choose_models

    chosen = choose_models(settings, notify)
    if chosen.decoding.method != settings.decoding.method:
        refuse_without_effect(Way(chosen, click.get_current_context().params))
    return chosen


def wants_screen(output: OutputSettings) -> bool:
    """Return whether a run draws the screen: a terminal on both ends can draw it, and nothing else writes to it.

    Textual draws on standard error: with that in a file, the terminal would stay empty.
    """
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if output.plain or output.jsonl == "-" or not all(stream.isatty() for stream in streams):
        return False
    return os.environ.get("TERM") != "dumb" and codecs.lookup(sys.stdout.encoding).name.startswith("utf")


def default_config_file() -> Path:
    """Return the file that is read when no other is named; it need not exist."""
    return user_folder("config") / "config.toml"


def read_config(path: Path | None) -> dict[str, str | bool]:
    """Return the values of a configuration file by their keys; of the user's own if `path` is None and that exists.

    Raises:
        UsageError: no such file, bad TOML, an unknown key or a wrong value; it names the file and the key.
    """
    if path is None and not default_config_file().exists():
        return {}
    path = path or default_config_file()
    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as fault:  # also a number of thousands of digits, or brackets
        raise UsageError(f"{path} is not valid TOML: {fault}; correct it") from fault
    except OSError as fault:
        raise UsageError(
            f"the configuration file {path} cannot be read ({fault.strerror}); rename it, or name another with --config"
        ) from fault
    expert = content.pop(EXPERT_TABLE, {})
    if not isinstance(expert, dict):
        raise UsageError(f"{path}: {EXPERT_TABLE} is a table; write [{EXPERT_TABLE}] on a line of its own")
    found: dict[str, str | bool] = {}
    for key, value in chain(content.items(), expert.items()):
        if key in found:
            raise UsageError(f"{path}: {key} is there twice; remove one")
        found[key] = _checked(path, key, value)
    return found


def _checked(path: Path, key: str, value: object) -> str | bool:
    """Return a value of the file as its option takes it: text, or a truth value for a flag."""
    option = OPTIONS.get(key)
    if isinstance(value, dict):
        raise UsageError(visible(f"{path}: the only table is [{EXPERT_TABLE}]; move the keys of [{key}] out of it"))
    if option is None or not (option.setting and option.setting.option.in_file):
        if option or f"--{key}" in _command_line_only():
            raise UsageError(f"{path}: {key} cannot be set in a file; remove it, and give --{key} where it is needed")
        close = nearest(key, [key for key, setting in SETTINGS.items() if setting.option.in_file])
        advice = f"did you mean {close}?" if close else "keys are long option names without the dashes"
        raise UsageError(visible(f"{path}: unknown key {key}; {advice}"))
    if option.is_flag and not isinstance(value, bool):
        raise UsageError(f"{path}: {key} must be true or false, not {value!r}; correct it")
    if isinstance(value, bool):
        if value and option.setting.option.bare:
            return option.setting.option.bare
        if not option.is_flag:
            raise UsageError(f"{path}: {key} takes a value, not {str(value).lower()}; correct it")
        return value
    if not isinstance(value, (str, int, float)):
        raise UsageError(f"{path}: {key} must be a text in quotes or a number, not {value!r}; correct it")
    try:
        option.type.convert(str(value), option, None)
    except click.BadParameter as fault:
        raise UsageError(f"{path}: {key}: {fault.message.rstrip('.')}; correct it") from fault
    except UsageError as fault:
        raise UsageError(f"{path}: {key}: {fault}") from fault
    return str(value)


def _command_line_only() -> Iterator[str]:
    """Yield the options of the commands that run and that set nothing in the settings."""
    from livetrans.cli import cli

    for name in ("mic", "listen", "replay"):
        command = cli.get_command(click.Context(cli), name)
        yield from chain.from_iterable(option.opts for option in command.params) if command else ()


def _apply_config(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Make the values of the configuration file the defaults of a command."""
    if not context.resilient_parsing:
        names, folder = {parameter.name for parameter in context.command.params}, (path or default_config_file()).parent
        values = {key.replace("-", "_"): _placed(folder, key, value) for key, value in read_config(path).items()}
        context.default_map = {name: value for name, value in values.items() if name in names}


def _placed(folder: Path, key: str, value: str | bool) -> str | bool:
    """Return a value of the configuration file in `folder`, where relative paths begin; a model may be a name."""
    setting = SETTINGS[key]
    if not setting.type.startswith("Path") or isinstance(value, bool):
        return value
    place = folder / Path(value).expanduser()
    return str(place) if setting.option.kind or place.exists() else value


def _config_option() -> RunOption:
    return RunOption(
        ["--config"],
        section="Output",
        everyday=True,
        metavar="FILE",
        type=KINDS["file"],
        is_eager=True,
        expose_value=False,
        callback=_apply_config,
        show_default=_PLACE,
        help="Configuration file, see `livetrans config`. It is TOML, with these options' names as keys.",
    )


def _help_all_option() -> RunOption:
    def show(context: click.Context, option: click.Parameter, given: bool) -> None:
        if given and not context.resilient_parsing:
            context.meta[_SHOWS_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()

    return RunOption(
        ["--help-all"],
        everyday=True,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        show_default=False,
        help="Show every option, with those for experts.",
    )


_INTRODUCTION = """\
# Settings of livetrans, in TOML. Each line such as #vad = 2 holds a key with
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
@click.option("--init", is_flag=True, help="Write the file: every key with its default, as comments.")
@click.option("--path", "prints_path", is_flag=True, help="Print where the file is.")
@click.option(
    "--config", "file", metavar="FILE", type=KINDS["file"], show_default=_PLACE, help="Another configuration file."
)
@click.option("--yes", is_flag=True, help="With --init: overwrite an existing file without asking.")
def config_command(init: bool, prints_path: bool, file: Path | None, yes: bool) -> None:
    """Show what the configuration file and the environment set, or write a file with every key.

    Keys are the long names of options, so that there is one set of names to learn. The table [expert] has
    those of the options that only `--help-all` lists.
    """
    path = file or default_config_file()
    if init and prints_path:
        raise UsageError("--init prints the path too; drop --path")
    if yes and not init:
        raise UsageError("--yes has no effect without --init; drop it or add --init")
    if prints_path:
        click.echo(path)
        return
    if init:
        _write(path, yes)
        return
    values = read_config(file)
    click.echo(visible(str(path)) + ("" if path.is_file() else " (not there; `livetrans config --init` writes it)"))
    if path.is_file() and not values:
        say("It sets nothing yet: remove the # before a key to set it.")
    for setting in SETTINGS.values():
        variable = setting.option.variable
        if variable and os.environ.get(variable):
            click.echo(visible(f"{setting.key} = {json.dumps(os.environ[variable])}  ({variable})"))
        elif setting.key in values:
            click.echo(visible(f"{setting.key} = {json.dumps(values[setting.key], ensure_ascii=False)}"))


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
        by_calm = {name: setting.of(preset) for name, preset in CALM.items()}
        default = setting.default
        if default is True:  # Its key is that of `--no-NAME`.
            default, by_calm = False, {name: not value for name, value in by_calm.items()}
        if len({*by_calm.values()}) > 1:
            values = (f"{name} {str(value).lower()}" for name, value in by_calm.items())
            text += f" Default, by calm: {', '.join(values)}."
    elif setting.option.default_text:
        text += f" Default: {setting.option.default_text}."
    yield from textwrap.wrap(text, 80, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    if setting.option.bare:
        default = True
    if default is None:
        default = option.type.choices[0] if isinstance(option.type, click.Choice) else option.is_flag or option.metavar
    # JSON's numbers, truth values and strings are TOML's too.
    yield f"#{setting.key} = {json.dumps(default)}\n"


def _write(path: Path, yes: bool) -> None:
    if path.is_file() and not yes:
        refusal = f"{path} exists already; give --yes to overwrite it, or --config for another file"
        require_yes(f"{path} exists already. Overwrite it?", refusal)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template(), encoding="utf-8", newline="\n")
    except OSError as fault:
        raise SessionError(f"{path} cannot be written ({fault.strerror}); choose another place with --config") from None
    click.echo(path)
    say("To set a key, remove the # before it. `livetrans config` shows what is set.")
