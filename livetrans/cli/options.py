"""The options that `mic` and `replay` share, and the settings they make.

What wins, first to last: the option, the environment variable (models only), the configuration file, the default.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from livetrans.catalogue import RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE, find_recogniser, find_translator
from livetrans.cli.grouped import GroupedOption
from livetrans.config import (
    DecodingSettings,
    GateSettings,
    LanguageModelSettings,
    MaskSettings,
    RecogniserSettings,
    Settings,
    TranscriberSettings,
)
from livetrans.configfile import Value, default_config_file, read_config
from livetrans.errors import UsageError
from livetrans.languages import AUTO, parse_language

MOST_THREADS = 512
"""llama.cpp crashes past its own limit, and CTranslate2 where the system gives no more."""

METHODS = ("rt", "ssbd", "cd")
WINDOWS = ("full", "partials", "always")
MASKS = ("display", "output", "none")
PROMPTS = ("tower", "qwen3", "chat", "plain")
COMMANDS_WITH_CONFIG = ("mic", "replay")


class _NumberRange(click.FloatRange):
    """A range without nan, which no comparison finds to be outside."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the shared options said, named as they are."""

    source: str
    """`--from`: a language, or `auto`."""
    target: str
    asr: str | None
    mt: str | None
    prompt: str | None
    context: int
    threads: int
    asr_threads: int
    method: str
    bias: float
    final_bias: float
    mask: str
    mask_k: int
    vad: int
    pause: float
    step: float
    window: str | None
    plain: bool
    partials: bool
    show_source: bool | None
    """None: on the screen only."""
    jsonl: str | None
    """A file name, `-` for stdout, or None."""
    session: Path | None
    """The folder named for this session; None for a new one in the user's data folder."""
    no_session: bool
    keep_audio: bool


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options; it receives them as one `RunOptions`, its first argument.

    Stands below the command's own options and `@click.command(cls=GroupedCommand)`.
    """

    @functools.wraps(function)
    def with_options(**values: Any) -> Any:
        options = RunOptions(**{field.name: values.pop(field.name) for field in dataclasses.fields(RunOptions)})
        if options.no_session and options.keep_audio:
            raise UsageError("--keep-audio keeps the sound with the session, which --no-session forbids; drop one")
        return function(options, **values)

    for option in reversed([*_LANGUAGES, *_MODELS, *_TRANSLATION, *_LISTENING, *_OUTPUT]):
        option(with_options)
    return with_options


def settings_from(options: RunOptions, *, recogniser: bool = True) -> Settings:
    """The settings of one run; finds the models. `recogniser=False` is for a recorded transcript stream.

    Raises:
        UsageError: an unknown language, or one that no recogniser hears.
        ModelError: a model that is not there.
    """
    source = None if options.source.lower() == AUTO else parse_language(options.source)
    target = parse_language(options.target)
    translator = find_translator(options.mt, source=source.code if source else None, target=target.code)
    transcriber = TranscriberSettings(step=options.step)
    hearing = None
    if recogniser:
        if source and source.whisper_code is None:
            raise UsageError(f"no recogniser hears {source.name}; choose another language for --from")
        spoken = source.whisper_code if source else None
        model = find_recogniser(options.asr, language=spoken)
        if model.languages:
            spoken = model.languages[0]  # A recogniser of our own predicts no language.
        hearing = RecogniserSettings(
            model=model.path, language=spoken, threads=options.asr_threads, window=options.window
        )
    return Settings(
        recogniser=hearing,
        language_model=LanguageModelSettings(
            model=translator.path, context_tokens=options.context, threads=options.threads, prompt=options.prompt
        ),
        source_language=source.code if source else AUTO,
        target_language=target.code,
        gate=GateSettings(aggressiveness=options.vad, pause=options.pause),
        transcriber=transcriber,
        decoding=DecodingSettings(method=options.method, bias=options.bias, final_bias=options.final_bias),
        mask=MaskSettings(mode=options.mask, k=options.mask_k),
    )


def _option(heading: str, *declarations: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*declarations, cls=GroupedOption, heading=heading, **settings)


def _checked_jsonl(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """`--jsonl demo.flac` would take the recording for the file to write: only .jsonl files are written."""
    if value in (None, "-") or str(value).endswith(".jsonl"):
        return value
    raise UsageError(f"--jsonl writes to stdout or to a file that ends in .jsonl, not to {value!r}; write --jsonl=-")


def _apply_config(context: click.Context, option: click.Parameter, value: Path | None) -> None:
    """Put the configuration file's values under those of the command line."""
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


_LANGUAGES = [
    _option(
        "Languages",
        "--from",
        "source",
        metavar="LANGUAGE",
        default="en",
        help="Language spoken: a code or an English name; auto lets the recogniser find out.",
    ),
    _option(
        "Languages",
        "--to",
        "target",
        metavar="LANGUAGE",
        default="de",
        help="Language of the captions: a code or an English name.",
    ),
]

_MODELS = [
    _option(
        "Models",
        "--asr",
        metavar="MODEL",
        envvar=RECOGNISER_VARIABLE,
        show_envvar=True,
        show_default="the one that `livetrans models` marks",
        help="Recogniser: a faster-whisper folder, or a name from `livetrans models`.",
    ),
    _option(
        "Models",
        "--mt",
        metavar="MODEL",
        envvar=TRANSLATOR_VARIABLE,
        show_envvar=True,
        show_default="the one that `livetrans models` marks",
        help="Translator: a GGUF file, or a name from `livetrans models`.",
    ),
    _option(
        "Models",
        "--prompt",
        type=click.Choice(PROMPTS),
        show_default="what the translator's file asks for",
        help="Form in which a sentence is put to the translator.",
    ),
    _option(
        "Models",
        "--context",
        metavar="TOKENS",
        type=click.IntRange(32, 131_072),
        default=LanguageModelSettings(Path()).context_tokens,
        help="Room of the translator for prompt and output together.",
    ),
    _option(
        "Models",
        "--threads",
        metavar="N",
        type=click.IntRange(0, MOST_THREADS),
        default=0,
        help="Threads of the translator; 0 takes half of the cores.",
    ),
    _option(
        "Models",
        "--asr-threads",
        metavar="N",
        type=click.IntRange(0, MOST_THREADS),
        default=0,
        help="Threads of the recogniser; 0 leaves the choice to it.",
    ),
]

_TRANSLATION = [
    _option(
        "Translation",
        "--method",
        type=click.Choice(METHODS),
        default=DecodingSettings().method,
        help="How an update is translated: rt anew, ssbd with the last output as draft, cd by appending only.",
    ),
    _option(
        "Translation",
        "--bias",
        metavar="0..1",
        type=_NumberRange(0, 1),
        default=DecodingSettings().bias,
        help="How much ssbd prefers its draft: 0 writes what rt would, more is calmer and faster.",
    ),
    _option(
        "Translation",
        "--final-bias",
        metavar="0..1",
        type=_NumberRange(0, 1),
        default=DecodingSettings().final_bias,
        help="The bias for finals: 0 makes them what a translation from scratch would say.",
    ),
    _option(
        "Translation",
        "--mask",
        type=click.Choice(MASKS),
        default=MaskSettings().mode,
        help="Hide the last tokens of a growing caption: on the display only, from the draft too, or not at all.",
    ),
    _option(
        "Translation",
        "--mask-k",
        metavar="TOKENS",
        type=click.IntRange(min=0),
        default=MaskSettings().k,
        help="How many tokens the mask hides.",
    ),
]

_LISTENING = [
    _option(
        "Listening",
        "--vad",
        metavar="0..3",
        type=click.IntRange(0, 3),
        default=GateSettings().aggressiveness,
        help="How strictly sound must be speech: 0 lets most through, 3 least.",
    ),
    _option(
        "Listening",
        "--pause",
        metavar="SECONDS",
        type=_NumberRange(0.1, 60),
        default=GateSettings().pause,
        help="Silence that ends a segment.",
    ),
    _option(
        "Listening",
        "--step",
        metavar="SECONDS",
        type=_NumberRange(0.1, 60),
        default=TranscriberSettings().step,
        help="New sound after which the recogniser looks again; a slow machine waits longer by itself.",
    ),
    _option(
        "Listening",
        "--window",
        type=click.Choice(WINDOWS),
        show_default="what the recogniser was trained for; full for OpenAI's models",
        help="Sound that each pass encodes: full, 30 s with silence; always, as long as the speech; partials, as long "
        "as the speech except for finals.",
    ),
]

_OUTPUT = [
    _option(
        "Output",
        "--plain",
        is_flag=True,
        help="Lines instead of the screen; always so where the output is no terminal.",
    ),
    _option("Output", "--partials", is_flag=True, help="With plain lines, show captions while they grow too."),
    _option(
        "Output",
        "--show-source/--hide-source",
        default=None,
        show_default="shown on the screen, not with plain lines",
        help="Show what was recognised beside its translation.",
    ),
    _option(
        "Output",
        "--jsonl",
        metavar="[FILE]",
        is_flag=False,
        flag_value="-",
        callback=_checked_jsonl,
        show_default=False,
        help="Write every event as a JSON line to FILE.jsonl, or to stdout (-) if no file is named.",
    ),
    _option(
        "Output",
        "--session",
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        show_default="a new one in the user's data folder",
        help="Folder that keeps this session.",
    ),
    _option("Output", "--no-session", is_flag=True, help="Keep nothing."),
    _option("Output", "--keep-audio", is_flag=True, help="Keep the sound with the session, as a WAV file."),
    _option(
        "Output",
        "--config",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        is_eager=True,
        expose_value=False,
        callback=_apply_config,
        show_default="config.toml in the user's livetrans configuration folder",
        help="Configuration file: TOML, keys named as these options.",
    ),
]
