"""`livetrans resume`: finishes what a session heard and did not translate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import click

from livetrans.cli.common import say, warn
from livetrans.cli.completing import complete_session
from livetrans.cli.running import run_resumed
from livetrans.clock import SystemClock
from livetrans.config import (
    CALM,
    DraftModelSettings,
    GateSettings,
    LanguageModelSettings,
    PromptSettings,
    RecogniserSettings,
    Settings,
    TranscriberSettings,
)
from livetrans.errors import SessionError
from livetrans.languages import AUTO, parse_language
from livetrans.models.find import find_draft_model, find_recogniser, find_translator
from livetrans.session.store import LAST, find_session
from livetrans.session.unfinished import Unfinished, read_unfinished

_Settings = TypeVar("_Settings")

_LARGEST = 100_000
"""Of a number in a signature: a session may come from a stranger."""
_SHORTEST_STEP = 0.1


@click.command()
@click.argument("session", default=LAST, shell_complete=complete_session)
@click.option("--asr", metavar="MODEL", help="Recogniser; by default the one that the session was recognised with.")
@click.option("--mt", metavar="MODEL", help="Translator; by default the one that the session was translated with.")
def command(session: str, asr: str | None, mt: str | None) -> None:
    """Finish SESSION: translate what was heard and not translated, and add it to the session.

    Of a session with --keep-audio, sound that was recorded and not recognised is recognised too. SESSION is a name
    from `livetrans sessions` or its beginning, or a session's folder; without it, or with `last`, it is the newest
    session with captions. Settings are those of the session.
    """
    folder = find_session(session)
    if not folder.is_dir():
        raise SessionError(f"{folder} is not a session's folder: name one, or `last`.")
    unfinished = read_unfinished(folder, warn)
    clock = SystemClock(unfinished.at)
    run_resumed(_settings(unfinished, asr, mt), clock, unfinished)


def _settings(unfinished: Unfinished, asr: str | None, mt: str | None) -> Settings:
    """The settings that the session was recorded with."""
    signed = unfinished.signature
    source = str(signed.get("source_language", AUTO))
    target = parse_language(str(signed.get("target_language", "de"))).code
    translator = find_translator(mt or _text(signed, "translator"), target=target)
    recogniser = None
    if unfinished.has_sound:
        found = find_recogniser(asr or _text(signed, "recogniser"))
        spoken = None if source == AUTO else parse_language(source).whisper_code
        recogniser = RecogniserSettings(
            found.path, found.languages[0] if found.languages else spoken, window=_text(signed, "encoder_window")
        )
    preset = CALM.get(str(signed.get("calm")), CALM["balanced"])
    transcriber = _changed(TranscriberSettings(), signed)
    draft_model, gamma = _text(signed, "draft_model"), signed.get("gamma")
    if signed.get("glossary_terms"):
        say("livetrans: the session does not hold its glossary; what is finished here is translated without it.")
    return Settings(
        recogniser=recogniser,
        language_model=_changed(LanguageModelSettings(translator.path, prompt=_text(signed, "prompt")), signed),
        prompt=_changed(PromptSettings(), signed),
        draft_model=DraftModelSettings(find_draft_model(draft_model), gamma if isinstance(gamma, int) else None)
        if draft_model
        else None,
        source_language=source,
        target_language=target,
        gate=_changed(GateSettings(), signed),
        transcriber=replace(transcriber, step=max(transcriber.step, _SHORTEST_STEP), adaptive=False),
        decoding=_changed(preset.decoding, signed),
        mask=_changed(preset.mask, {name.removeprefix("mask_"): value for name, value in signed.items()}),
    )


def _changed(settings: _Settings, signed: Mapping[str, Any]) -> _Settings:
    """The settings with each field that the signature names: numbers for numbers, text for text."""
    changes: dict[str, Any] = {}
    for name in (field.name for field in fields(settings)):  # type: ignore[arg-type]
        value, default = signed.get(name), getattr(settings, name)
        if isinstance(value, bool) or isinstance(default, bool):
            continue
        if isinstance(value, int | float) and isinstance(default, int | float) and 0 <= value <= _LARGEST:
            changes[name] = type(default)(value)
        elif isinstance(value, str) and isinstance(default, str):
            changes[name] = value
    return replace(settings, **changes)  # type: ignore[type-var]


def _text(signed: dict[str, Any], name: str) -> str | None:
    value = signed.get(name)
    return value if isinstance(value, str) and value else None
