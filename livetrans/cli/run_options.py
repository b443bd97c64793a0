"""What the shared options of `mic` and `replay` mean: `RunOptions`, and the settings of a run made from them.

What wins, first to last: the option, the environment variable (models only), the configuration file, the default.
"""

from __future__ import annotations

import codecs
import dataclasses
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from livetrans.cli.common import say
from livetrans.cli.options import PAIR_TOKENS, SHARED_OPTIONS
from livetrans.config import (
    CALM,
    PAPER,
    DecodingSettings,
    DraftModelSettings,
    GateSettings,
    LanguageModelSettings,
    MaskSettings,
    OutputSettings,
    PromptSettings,
    RecogniserSettings,
    Settings,
    TranscriberSettings,
)
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.events import Notice
from livetrans.files import input_path
from livetrans.installation import data_folder
from livetrans.languages import AUTO, Language, check_different, parse_language
from livetrans.models.find import find_draft_model, find_recogniser, find_translator, is_embedded
from livetrans.translation.glossary import read_glossary

_Settings = TypeVar("_Settings")


_NAMED = (
    "source",
    "target",
    "asr",
    "asr_threads",
    "encoder_window",
    "mt",
    "draft_model",
    "gamma",
    "history",
    "glossary",
)
"""Options that are kept as they were given."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The shared options as settings, but for the models: which are needed depends on the source."""

    source: str
    """`--from`: a language, or `auto`."""
    target: str
    asr: str | None
    asr_threads: int
    encoder_window: str | None
    """`--window`: what the recogniser encodes in a pass; None for what its model says."""
    mt: str | None
    draft_model: str | None
    gamma: int | None
    history: int
    glossary: str | None
    """`--glossary`: a file."""
    language_model: LanguageModelSettings
    """Without the model's path."""
    gate: GateSettings
    transcriber: TranscriberSettings
    decoding: DecodingSettings
    mask: MaskSettings
    output: OutputSettings


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options; it receives them as one `RunOptions`, its first argument.

    Stands below the command's own options and `@click.command(cls=GroupedCommand)`. An option that sets a field of the
    settings has the field's name.
    """

    @wraps(function)
    def with_options(**values: Any) -> Any:
        def change(settings: _Settings) -> _Settings:
            """The settings with what was given; None leaves a field as it is."""
            names = [field.name for field in dataclasses.fields(settings) if field.name in values]  # type: ignore[arg-type]
            given = {name: value for name in names if (value := values.pop(name)) is not None}
            return dataclasses.replace(settings, **given)  # type: ignore[type-var]

        check_different(values["source"].split(",")[0], values["target"].split(",")[0])
        preset = CALM[values.pop("calm")]
        if values["method"] == "paper":
            preset, values["method"] = PAPER, PAPER.decoding.method
        record_session = not values.pop("no_session")
        if click.get_current_context().get_parameter_source("context_tokens") is ParameterSource.DEFAULT:
            values["context_tokens"] += PAIR_TOKENS * values["history"]
        options = RunOptions(
            **{name: values.pop(name) for name in _NAMED},
            language_model=change(LanguageModelSettings(Path())),
            gate=change(GateSettings()),
            transcriber=change(TranscriberSettings()),
            decoding=change(preset.decoding),
            mask=change(preset.mask),
            output=change(OutputSettings(record_session=record_session)),
        )
        # The methods of --compare take what they need of these.
        if values.get("compare") is None:
            _refuse_without_effect(options.decoding, options.mask)
        if options.draft_model is None and was_given("gamma"):
            raise UsageError("--gamma is for a draft model; name one with --draft-model, or drop --gamma")
        if options.output.keep_audio and not record_session:
            raise UsageError("--keep-audio stores the sound with the session, which --no-session forbids; drop one")
        if options.output.theme is not None and wants_screen(options.output):
            from livetrans.tui.app import check_theme

            check_theme(options.output.theme)
        return function(options, **values)

    for option in reversed(SHARED_OPTIONS):
        option(with_options)
    return with_options


def was_given(name: str) -> bool:
    """Whether an option stands on the command line; a configuration file may set what a run has no use for."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_without_effect(decoding: DecodingSettings, mask: MaskSettings) -> None:
    """Refuse single options that stand on the command line and have no meaning with the others.

    Raises:
        UsageError: it says which.
    """
    biased = [decoder.name for decoder in DECODERS.values() if decoder.biased and not decoder.has_own_model]
    by_worth = [decoder.name for decoder in DECODERS.values() if decoder.final]
    for name, option, methods in (
        ("bias", "--bias", biased),
        ("window", "--live-window", ["window"]),
        ("final", "--final worth", by_worth if decoding.final == "worth" else DECODERS),
    ):
        if decoding.method not in methods and was_given(name):
            instead = " or ".join(methods)
            raise UsageError(
                f"{option} has no effect with --method {decoding.method}; drop it, or choose --method {instead}"
            )
    if mask.mode == "none" and was_given("k"):
        raise UsageError("--mask-k has no effect with --mask none; drop one of them")


def wants_screen(output: OutputSettings) -> bool:
    """A screen needs a terminal on both ends that can draw it, and nothing else may write to it.

    Textual draws on standard error: with that in a file, the terminal would stay empty.
    """
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if output.plain or output.jsonl == "-" or not all(stream.isatty() for stream in streams):
        return False
    return os.environ.get("TERM") != "dumb" and codecs.lookup(sys.stdout.encoding).name.startswith("utf")


def settings_from(options: RunOptions, *, recogniser: bool = True) -> Settings:
    """The settings of one run; finds the models. `recogniser=False` is for a recorded transcript stream.

    Raises:
        UsageError: an unknown language, or one that no recogniser knows.
        ModelError: a model that is not there.
    """
    sources = _languages(options.source, "--from")
    targets = [one for one in _languages(options.target, "--to") if one]
    source, target = sources[0], targets[0]
    translator = find_translator(options.mt, source=source.code if source else None, target=target.code)
    glossary = read_glossary(input_path(options.glossary)) if options.glossary else ()
    recogniser_settings = None
    if recogniser:
        for one in filter(None, sources):
            if one.whisper_code is None:
                raise UsageError(f"no recogniser knows {one.name}; choose another language for --from")
        spoken = source.whisper_code if source else None
        model = find_recogniser(options.asr, language=spoken)
        if model.languages:
            # A recogniser of our own knows one language, and detects none.
            spoken = model.languages[0]
            if source is None:
                source = parse_language(spoken)
                say(
                    f"livetrans: {model.name} knows {source.name} only and detects nothing; "
                    f"--from auto is taken as {spoken}."
                )
            sources[0] = source
        recogniser_settings = RecogniserSettings(
            model=model.path,
            language=spoken,
            threads=options.asr_threads,
            window=options.encoder_window,
            other_languages=tuple(one.whisper_code for one in sources[1:] if one and one.whisper_code),
            hot_words=tuple(term for term, _ in glossary),
        )
    draft_model = None
    if options.draft_model:
        draft_model = DraftModelSettings(find_draft_model(options.draft_model), options.gamma)
    return Settings(
        draft_model=draft_model,
        recogniser=recogniser_settings,
        language_model=dataclasses.replace(options.language_model, model=translator.path),
        source_language=source.code if source else AUTO,
        target_language=target.code,
        sources=tuple(one.code if one else AUTO for one in sources),
        targets=tuple(one.code for one in targets),
        prompt=PromptSettings(options.history, glossary),
        gate=options.gate,
        transcriber=options.transcriber,
        decoding=options.decoding,
        mask=options.mask,
        output=options.output,
    )


def _languages(written: str, option: str) -> list[Language | None]:
    """The languages of `en,fr,auto`, each once; None for `auto`, which only `--from` knows.

    An empty entry is a language too, which is not known.
    """
    parts = [part.strip() for part in written.split(",")]
    found = [None if option == "--from" and one.lower() == AUTO else parse_language(one) for one in parts]
    each = list(dict.fromkeys(found))
    if len(each) < len(found):
        names = ",".join(one.code if one else AUTO for one in each)
        say(f"livetrans: {option} {written} names a language twice; it is taken as {option} {names}.")
    return each


EMBEDDED = "the embedded recogniser understands synthetic voices only, not people"


def embedded_notice(settings: Settings, file: Path | None = None) -> Notice | None:
    """The warning that the embedded recogniser understands no people; none for a `file` that ships with it."""
    if settings.recogniser is None or not is_embedded(settings.recogniser.model):
        return None
    if file is not None and file.parent.resolve() == data_folder("recordings").resolve():
        return None
    source = "en" if settings.source_language == AUTO else settings.source_language
    return Notice(
        "warning",
        f"{EMBEDDED.capitalize()}; "
        f"`livetrans models pull small --from {source} --to {settings.target_language}` fetches one that does.",
    )
