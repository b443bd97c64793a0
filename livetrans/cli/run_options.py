"""The settings of a run, made of the options of a command."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from livetrans.cli.declarations import GroupedOption
from livetrans.cli.options import PAIR_TOKENS, SHARED_OPTIONS
from livetrans.cli.serving import SERVE_OPTIONS
from livetrans.config import UNNAMED, OutputSettings, Settings, preset_of, with_field
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.languages import require_two_languages


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options; it receives them as `Settings`, its first argument.

    Stands below the command's own options and `@click.command(cls=GroupedCommand)`. Models are as they were named.
    """

    @wraps(function)
    def with_settings(**values: Any) -> Any:
        context = click.get_current_context()
        settings = settings_of(context)
        shared = {option.name for option in context.command.params if isinstance(option, GroupedOption)}
        # The methods of --compare take what they need of these.
        if values.get("compare") is None:
            _refuse_without_effect(settings)
        return function(settings, **{name: value for name, value in values.items() if name not in shared})

    for option in reversed(SHARED_OPTIONS + SERVE_OPTIONS):
        option(with_settings)
    return with_settings


def settings_of(context: click.Context) -> Settings:
    """Return the settings that the options of a command, the environment and the configuration file make.

    Raises:
        UsageError: options that contradict each other.
    """
    values = context.params
    settings = preset_of(values["calm"], values["method"])
    method = settings.decoding.method
    for option in context.command.params:
        if not isinstance(option, GroupedOption) or not option.field or not option.name:
            continue
        if context.get_parameter_source(option.name) is not ParameterSource.DEFAULT:
            settings = with_field(settings, option.field, values[option.name])
    settings = with_field(settings, "decoding.method", method)
    if context.get_parameter_source("context") is ParameterSource.DEFAULT:
        tokens = settings.language_model.context_tokens + PAIR_TOKENS * settings.prompt.history
        settings = with_field(settings, "language_model.context_tokens", tokens)
    mine = values.get("me")
    if mine and context.get_parameter_source("to") is ParameterSource.DEFAULT and mine != settings.source_language:
        settings = with_field(settings, "targets", (mine,))  # Who speaks it reads it.
    require_two_languages(settings.source_language, settings.target_language)
    if settings.draft_model and settings.draft_model.model == UNNAMED:
        if was_given("gamma"):
            raise UsageError("--gamma is for a draft model; name one with --draft-model, or drop --gamma")
        settings = with_field(settings, "draft_model", None)
    if settings.output.keep_audio and not settings.output.record_session:
        raise UsageError("--keep-audio stores the sound with the session, which --no-session forbids; drop one")
    if settings.output.session and not settings.output.record_session:
        raise UsageError("--session names the session's folder, and --no-session keeps none; drop one")
    return settings


def was_given(name: str) -> bool:
    """Return whether an option stands on the command line; a file may set what a run has no use for."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_without_effect(settings: Settings) -> None:
    """Refuse single options that stand on the command line and have no meaning with the others.

    Raises:
        UsageError: it says which.
    """
    decoding = settings.decoding
    biased = [decoder.name for decoder in DECODERS.values() if decoder.biased and not decoder.has_own_model]
    careful = [decoder.name for decoder in DECODERS.values() if decoder.final]
    for name, option, methods in (
        ("bias", "--bias", biased),
        ("live_window", "--live-window", ["window"]),
        ("final", "--final careful", careful if decoding.final == "careful" else DECODERS),
    ):
        if decoding.method not in methods and was_given(name):
            instead = " or ".join(methods)
            raise UsageError(
                f"{option} has no effect with --method {decoding.method}; drop it, or choose --method {instead}"
            )
    if settings.mask.mode == "none" and was_given("mask_k"):
        raise UsageError("--mask-k has no effect with --mask none; drop one of them")


def wants_screen(output: OutputSettings) -> bool:
    """Return whether a run draws the screen: a terminal on both ends can draw it, and nothing else writes to it.

    Textual draws on standard error: with that in a file, the terminal would stay empty.
    """
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if output.plain or output.jsonl == "-" or not all(stream.isatty() for stream in streams):
        return False
    return os.environ.get("TERM") != "dumb" and codecs.lookup(sys.stdout.encoding).name.startswith("utf")
