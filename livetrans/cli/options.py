"""The options that `mic`, `replay` and `doctor` share. Each sets a field of `livetrans.config.Settings`.

What wins, first to last: the option, the environment variable (models only), the configuration file, the default.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from livetrans.cli.config import config_option
from livetrans.cli.declarations import (
    BY_CALM,
    CountRange,
    Gamma,
    GroupedOption,
    Languages,
    NumberRange,
    Terms,
    checked_jsonl,
    complete_language,
)
from livetrans.config import (
    CALM,
    ENGINES,
    FINALS,
    GAMMA,
    MOST_GAMMA,
    PANELS,
    PAPER_METHOD,
    SOURCE_LINES,
    THEMES,
    UNNAMED,
    Settings,
)
from livetrans.decoding import DECODERS
from livetrans.lm.families import TEMPLATES
from livetrans.models.chosen import RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE

MOST_THREADS = 512
"""llama.cpp crashes past its own limit, and CTranslate2 where the system gives no more."""
PROMPTS = tuple(TEMPLATES)
PAIR_TOKENS = 96
"""Room for a sentence and its translation, of 20 words each at about two and a half tokens a word."""

_DECODERS = ", ".join(f"{decoder.name} translates {decoder.summary}" for decoder in DECODERS.values())
_BIASED = ", ".join(decoder.name for decoder in DECODERS.values() if decoder.biased)

Declare = Callable[[Callable[..., Any]], Callable[..., Any]]


def written(value: Any) -> Any:
    """Return a value of a setting as its option is written; None for an empty one."""
    if isinstance(value, tuple):
        return ",".join(value) or None
    return None if value == UNNAMED else value


def field_of(settings: Settings, field: str) -> Any:
    """Return the value of a field that is named as `decoding.bias`."""
    value: Any = settings
    for name in field.split("."):
        value = getattr(value, name)
    return value


def setting_option(heading: str, field: str, *declarations: str, **settings: Any) -> Declare:
    """Declare an option that sets `field`, whose value in `Settings()` is the default."""
    if "default" not in settings and settings.get("show_default") != BY_CALM and not field.startswith("draft_model."):
        settings["default"] = written(field_of(Settings(), field))
    return click.option(*declarations, cls=GroupedOption, heading=heading, field=field, **settings)


_language = partial(setting_option, "Languages")
_model = partial(setting_option, "Models")
_file = partial(
    _model,
    metavar="MODEL",
    type=click.Path(path_type=Path),
    show_envvar=True,
    show_default="the one that `livetrans models` marks",
)
_threads = partial(_model, metavar="N", type=CountRange(0, MOST_THREADS))
_translation = partial(setting_option, "Translation")
_single = partial(setting_option, "Translation", show_default=BY_CALM)
_listening = partial(setting_option, "Listening")
_listening_seconds = partial(_listening, metavar="SECONDS", type=NumberRange(0.1, 60))
_output = partial(setting_option, "Output")
_without = partial(_output, is_flag=True, default=False, callback=lambda context, option, value: not value)
"""A flag `--no-...`, whose field is true without it."""

_LANGUAGES = [
    _language(
        "sources",
        "--from",
        metavar="LANGUAGE",
        type=Languages(auto=True),
        shell_complete=complete_language,
        help="Spoken language: a code or a name; auto detects it. A key switches between several, as in en,fr,auto.",
    ),
    _language(
        "targets",
        "--to",
        metavar="LANGUAGE",
        type=Languages(),
        shell_complete=complete_language,
        help="Language of the captions: a code or a name. Several, as de,fr, are made at once: the screen and lines "
        "have the first, and a key shows the next.",
    ),
]

_MODELS = [
    _file(
        "recogniser.model",
        "--asr",
        example="whisper-small",
        envvar=RECOGNISER_VARIABLE,
        help="Recogniser: a faster-whisper folder, a whisper.cpp file, or a name from `livetrans models`.",
    ),
    _file(
        "language_model.model",
        "--mt",
        example="hy-mt2-1.8b",
        envvar=TRANSLATOR_VARIABLE,
        help="Translator: a GGUF file, or a name from `livetrans models`.",
    ),
    _model(
        "language_model.prompt",
        "--prompt",
        type=click.Choice(PROMPTS),
        show_default="the one that fits the translator",
        example="hymt",
        help="Prompt template.",
    ),
    _model(
        "language_model.context_tokens",
        "--context",
        metavar="TOKENS",
        type=CountRange(32, 131_072),
        help="Context window of the translator, in tokens.",
    ),
    _model(
        "draft_model.model",
        "--draft-model",
        metavar="MODEL",
        type=click.Path(path_type=Path),
        example="/models/Qwen3-0.6B-Q8_0.gguf",
        help="Small translator of the same vocabulary, which proposes tokens to the translator. The text stays the "
        "same; it pays where the translator is 10 times larger or more, and checks several tokens in little more than "
        "the time of one.",
    ),
    _model(
        "draft_model.gamma",
        "--gamma",
        metavar="N|auto",
        type=Gamma(),
        default=str(GAMMA),
        help=f"Tokens that the draft model proposes at a time, 1 to {MOST_GAMMA}; auto chooses by measured times.",
    ),
    _threads("language_model.threads", "--threads", help="Threads of the translator; 0 takes half of the cores."),
    _threads("recogniser.threads", "--asr-threads", help="Threads of the recogniser; 0 chooses by model and machine."),
    _model(
        "recogniser.engine",
        "--engine",
        type=click.Choice(ENGINES),
        help="What computes the recogniser, each with models of its own: faster-whisper, or whisper.cpp, which uses a "
        "GPU (on Apple Silicon too). auto takes whisper.cpp where it is installed with a GPU and has a model here.",
    ),
]

_TRANSLATION = [
    _translation(
        "",
        "--calm",
        type=click.Choice(list(CALM)),
        default=Settings().calm,
        help="What may change on screen: still keeps shown words and is fastest, balanced changes them where it is "
        "worth it, above all in finals, faithful looks at whole captions. Single options below take precedence.",
    ),
    _translation(
        "decoding.method",
        "--method",
        type=click.Choice([*DECODERS, PAPER_METHOD]),
        help=f"Decoder: {_DECODERS}; paper is ssbd with the paper's settings, whatever --calm is.",
    ),
    _single(
        "decoding.bias",
        "--bias",
        metavar="0..1",
        type=NumberRange(0, 1),
        help=f"Preference for the draft, for {_BIASED}: more is calmer and faster; from 0.5 on the whole draft is "
        "accepted. With ssbd, 0 gives the output of rt. window needs no bias; one holds for its live window only.",
    ),
    _single(
        "decoding.window",
        "--live-window",
        metavar="TOKENS",
        type=CountRange(min=0),
        help="Last tokens of the draft that window verifies; those before them do not change.",
    ),
    _single(
        "decoding.final",
        "--final",
        type=click.Choice(FINALS),
        help="How a final is decoded: careful (with window only) may change more of the caption than an update, where "
        "the model clearly prefers another text; fresh decodes it anew; partial decodes it like any update.",
    ),
    _translation(
        "prompt.history",
        "--history",
        metavar="N",
        type=CountRange(0, 20),
        help=f"Earlier sentences in the prompt, each with its translation; the default of --context grows by "
        f"{PAIR_TOKENS} tokens for each.",
    ),
    _translation(
        "prompt.glossary",
        "--glossary",
        metavar="FILE",
        type=Terms(),
        example="/home/me/terms.tsv",
        help="Terms: a line each, with a tab or a comma and the translation. Those that occur are put into the "
        "translator's prompt; the recogniser gets the terms as hot words, which can also change other words.",
    ),
    _single(
        "mask.mode",
        "--mask",
        type=click.Choice(["display", "output", "none"]),
        help="Hide the last tokens of unfinished captions. display: from the viewer only; output: from the next draft "
        "too.",
    ),
    _single(
        "mask.k",
        "--mask-k",
        metavar="TOKENS",
        type=CountRange(min=0),
        help="Number of tokens that the mask hides.",
    ),
]

_LISTENING = [
    _listening(
        "gate.aggressiveness",
        "--vad",
        metavar="0..3",
        type=CountRange(0, 3),
        help="Strictness of the voice-activity gate: 0 lets most sound through, 3 least.",
    ),
    _listening_seconds("gate.pause", "--pause", help="Seconds of silence that end a segment."),
    _listening_seconds(
        "transcriber.step",
        "--step",
        help="Seconds of new audio per recognition pass; a slow machine takes more.",
    ),
    _listening(
        "recogniser.window",
        "--window",
        type=click.Choice(["full", "partials", "always"]),
        example="partials",
        show_default="what the recogniser was trained for; full for OpenAI's models",
        help="Length of sound that the recogniser encodes in a pass: full is 30 s; always is the length of "
        "the speech, which is faster; partials is that too, but full for the last pass of a segment.",
    ),
]

_OUTPUT = [
    _output(
        "output.plain",
        "--plain",
        is_flag=True,
        help="Write lines instead of the screen; always so where the output is not a terminal.",
    ),
    _output(
        "output.partials",
        "--partials",
        is_flag=True,
        help="With plain lines: write a caption's words as they come, not once it is final. New words are added to its "
        "line; where shown words change, the caption is written again on a new line.",
    ),
    _output(
        "output.show_source",
        "--show-source/--hide-source",
        example=True,
        show_default="on the screen only",
        help="Show the recognised text with its translation.",
    ),
    _output(
        "output.source_line",
        "--source-line",
        type=click.Choice(SOURCE_LINES),
        help="Where the recognised text stands; with --partials it is below, because the caption grows first.",
    ),
    _output(
        "output.panel",
        "--panel",
        type=click.Choice(PANELS),
        help="Panel at start: people (lag, calm, keys), research (all figures) or off.",
    ),
    _output(
        "output.theme",
        "--theme",
        type=click.Choice(THEMES),
        metavar="NAME",
        example="textual-light",
        show_default="textual-dark",
        help=f"Colours of the screen: {', '.join(THEMES)}.",
    ),
    _output(
        "output.jsonl",
        "--jsonl",
        metavar="[FILE]",
        example="events.jsonl",
        is_flag=False,
        flag_value="-",
        callback=checked_jsonl,
        show_default=False,
        help="Write every event as a JSON line to FILE, which ends in .jsonl; without FILE, or with -, to standard "
        "output.",
    ),
    _output(
        "output.session",
        "--session",
        metavar="FOLDER",
        example="/home/me/talk",
        type=click.Path(file_okay=False, path_type=Path),
        show_default="a new one in the user's data folder",
        help="Folder that this session is recorded in.",
    ),
    _output(
        "output.name",
        "--name",
        metavar="NAME",
        example="standup",
        show_default="the time",
        help="Name of this session, for `livetrans sessions` and the commands that take one.",
    ),
    _without("output.record_session", "--no-session", help="Record no session."),
    _without(
        "output.speedup",
        "--no-speedup",
        help="Do not measure the speedup over re-translation (at most 5 % of a core, while the run is idle).",
    ),
    _output(
        "output.keep_audio",
        "--keep-audio",
        is_flag=True,
        help="Record the sound with the session: a WAV file for each track.",
    ),
    _output(
        "output.keep_sessions",
        "--keep-sessions",
        metavar="DAYS",
        example=365,
        type=CountRange(min=1),
        show_default="all are kept",
        help="After a run that is recorded, remove older sessions from the user's data folder.",
    ),
    config_option,
]

SHARED_OPTIONS = [*_LANGUAGES, *_MODELS, *_TRANSLATION, *_LISTENING, *_OUTPUT]
"""In the order of the help; each adds itself to a command's function."""
