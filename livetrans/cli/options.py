"""The options that `mic` and `replay` share; `livetrans.cli.run_options` says what they mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from livetrans.cli.common import GroupedOption, NumberRange, checked_jsonl
from livetrans.cli.completing import complete_language
from livetrans.cli.configfile import config_option
from livetrans.config import (
    CALM,
    FINALS,
    GAMMA,
    PANELS,
    SOURCE_LINES,
    DecodingSettings,
    GateSettings,
    LanguageModelSettings,
    OutputSettings,
    PromptSettings,
    TranscriberSettings,
)
from livetrans.decoding import DECODERS
from livetrans.decoding.drafting import MOST_PROPOSED
from livetrans.lm.families import TEMPLATES
from livetrans.models.find import RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE

MOST_THREADS = 512
"""llama.cpp crashes past its own limit, and CTranslate2 where the system gives no more."""
PROMPTS = tuple(TEMPLATES)
PAIR_TOKENS = 96
"""Room for a sentence and its translation, of 20 words each at about two and a half tokens a word."""
WINDOWS = ("full", "partials", "always")

_DECODERS = ", ".join(f"{decoder.name} translates {decoder.summary}" for decoder in DECODERS.values())
_BIASED = ", ".join(decoder.name for decoder in DECODERS.values() if decoder.biased)


class Gamma(click.ParamType[int | None]):
    """Tokens that a draft model proposes at a time: a number, or None for `auto`."""

    name = "gamma"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value == "auto" else int(click.IntRange(1, MOST_PROPOSED).convert(value, param, ctx))


def _option(heading: str, *declarations: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*declarations, cls=GroupedOption, heading=heading, **settings)


_language = partial(_option, "Languages")
_model = partial(_option, "Models")
_file = partial(_model, metavar="MODEL", show_envvar=True, show_default="the one that `livetrans models` marks")
_threads = partial(_model, metavar="N", type=click.IntRange(0, MOST_THREADS), default=0)
_translation = partial(_option, "Translation")
BY_CALM = "by --calm"
_single = partial(_option, "Translation", show_default=BY_CALM)
_listening = partial(_option, "Listening")
_listening_seconds = partial(_listening, metavar="SECONDS", type=NumberRange(0.1, 60))
_output = partial(_option, "Output")

_LANGUAGES = [
    _language(
        "--from",
        "source",
        metavar="LANGUAGE",
        default="en",
        shell_complete=complete_language,
        help="Spoken language: a code or a name; auto detects it. A key switches between several, as in en,fr,auto.",
    ),
    _language(
        "--to",
        "target",
        metavar="LANGUAGE",
        default="de",
        shell_complete=complete_language,
        help="Language of the captions: a code or a name. A key switches between several, as in de,fr.",
    ),
]

_MODELS = [
    _file(
        "--asr",
        envvar=RECOGNISER_VARIABLE,
        help="Recogniser: a faster-whisper folder, or a name from `livetrans models`.",
    ),
    _file(
        "--mt",
        envvar=TRANSLATOR_VARIABLE,
        help="Translator: a GGUF file, or a name from `livetrans models`.",
    ),
    _model(
        "--prompt", type=click.Choice(PROMPTS), show_default="the one that fits the translator", help="Prompt template."
    ),
    _model(
        "--context",
        "context_tokens",
        metavar="TOKENS",
        type=click.IntRange(32, 131_072),
        default=LanguageModelSettings(Path()).context_tokens,
        help="Context window of the translator, in tokens.",
    ),
    _model(
        "--draft-model",
        metavar="MODEL",
        help="Small translator of the same vocabulary, which proposes tokens to the translator. The text stays the "
        "same; it pays where the translator is 10 times larger or more, and checks several tokens in little more than "
        "the time of one.",
    ),
    _model(
        "--gamma",
        metavar="N|auto",
        type=Gamma(),
        default=str(GAMMA),
        help=f"Tokens that the draft model proposes at a time, 1 to {MOST_PROPOSED}; auto chooses by measured times.",
    ),
    _threads("--threads", help="Threads of the translator; 0 takes half of the cores."),
    _threads(
        "--asr-threads",
        help="Threads of the recogniser; 0: one for a small model, a Mac's fast cores, else CTranslate2's default.",
    ),
]

_TRANSLATION = [
    _translation(
        "--calm",
        type=click.Choice(list(CALM)),
        default="balanced",
        help="What may change on screen: still hardly changes a shown word and is fastest, balanced rewrites finals "
        "where it is worth it, faithful changes more for the best text. Single options below take precedence.",
    ),
    _translation(
        "--method",
        type=click.Choice([*DECODERS, "paper"]),
        default=DecodingSettings().method,
        help=f"Decoder: {_DECODERS}; paper is ssbd with the paper's settings, whatever --calm is.",
    ),
    _single(
        "--bias",
        metavar="0..1",
        type=NumberRange(0, 1),
        help=f"Preference for the draft, for {_BIASED}: more is calmer and faster; from 0.5 on the whole draft is "
        "accepted. With ssbd, 0 gives the output of rt; with window, only the live window can change at any bias.",
    ),
    _single(
        "--live-window",
        "window",
        metavar="TOKENS",
        type=click.IntRange(min=0),
        help="Last tokens of the draft that window verifies; those before them do not change.",
    ),
    _single(
        "--final",
        type=click.Choice(FINALS),
        help="How a final is decoded: worth (with window only) keeps what is shown unless the model gives another text "
        "a clearly higher probability; exact decodes it anew, without bias; partial decodes it like any update.",
    ),
    _translation(
        "--history",
        metavar="N",
        type=click.IntRange(0, 20),
        default=PromptSettings().history,
        help=f"Earlier sentences in the prompt, each with its translation; the default of --context grows by "
        f"{PAIR_TOKENS} tokens for each.",
    ),
    _translation(
        "--glossary",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Terms: a line each, with a tab or a comma and the translation. Those that occur are put into the "
        "translator's prompt; the recogniser gets the terms as hot words, which can also change other words.",
    ),
    _single(
        "--mask",
        "mode",
        type=click.Choice(["display", "output", "none"]),
        help="Hide the last tokens of an unfinished caption: on the display only, in the draft too, or not at all.",
    ),
    _single(
        "--mask-k", "k", metavar="TOKENS", type=click.IntRange(min=0), help="Number of tokens that the mask hides."
    ),
]

_LISTENING = [
    _listening(
        "--vad",
        "aggressiveness",
        metavar="0..3",
        type=click.IntRange(0, 3),
        default=GateSettings().aggressiveness,
        help="Strictness of the voice-activity gate: 0 lets most sound through, 3 least.",
    ),
    _listening_seconds("--pause", default=GateSettings().pause, help="Seconds of silence that end a segment."),
    _listening_seconds(
        "--step",
        default=TranscriberSettings().step,
        help="Seconds of new audio per recognition pass; a slow machine takes more.",
    ),
    _listening(
        "--window",
        "encoder_window",
        type=click.Choice(WINDOWS),
        show_default="what the recogniser was trained for; full for OpenAI's models",
        help="Length of sound that the recogniser encodes in a pass: full is 30 s; always is the length of "
        "the speech, which is faster; partials is that too, but full for the last pass of a segment.",
    ),
]

_OUTPUT = [
    _output(
        "--plain", is_flag=True, help="Write lines instead of the screen; always so where the output is not a terminal."
    ),
    _output(
        "--partials",
        is_flag=True,
        help="With plain lines: write a caption's words as they come, not once it is final. New words are added to its "
        "line; where shown words change, the caption is written again on a new line.",
    ),
    _output(
        "--show-source/--hide-source",
        default=None,
        show_default="on the screen only",
        help="Show the recognised text with its translation.",
    ),
    _output(
        "--source-line",
        type=click.Choice(SOURCE_LINES),
        default=OutputSettings().source_line,
        help="Where the recognised text stands; with --partials it is below, because the caption grows first.",
    ),
    _output(
        "--panel",
        type=click.Choice(PANELS),
        default=OutputSettings().panel,
        help="Numbers on the screen at first: lag, calm and the keys; all figures; or none.",
    ),
    _output(
        "--theme",
        metavar="NAME",
        show_default="textual-dark",
        help="Colours of the screen, such as textual-light.",
    ),
    _output(
        "--jsonl",
        metavar="[FILE]",
        is_flag=False,
        flag_value="-",
        callback=checked_jsonl,
        show_default=False,
        help="Write every event as a JSON line to FILE, which ends in .jsonl; without FILE, or with -, to standard "
        "output.",
    ),
    _output(
        "--session",
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        show_default="a new one in the user's data folder",
        help="Folder that this session is recorded in.",
    ),
    _output("--no-session", is_flag=True, help="Record no session."),
    _output("--keep-audio", is_flag=True, help="Record the sound with the session, as a WAV file."),
    _output(
        "--keep-sessions",
        metavar="DAYS",
        type=click.IntRange(min=1),
        show_default="all are kept",
        help="Remove sessions in the user's data folder that are older, when this run begins.",
    ),
    config_option,
]

SHARED_OPTIONS = [*_LANGUAGES, *_MODELS, *_TRANSLATION, *_LISTENING, *_OUTPUT]
"""In the order of the help; each adds itself to a command's function."""
