"""`livetrans resume`: finishes what a session heard and did not translate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from livetrans.audio.source import Part
from livetrans.cli.declarations import Terms, complete_session
from livetrans.cli.messages import say, warn
from livetrans.cli.options import OPTIONS, option_text
from livetrans.cli.running import run_resumed
from livetrans.clock import SystemClock
from livetrans.config import SETTINGS, DecodingSettings, RecogniserSettings, Settings, with_field
from livetrans.errors import SessionError, UsageError
from livetrans.models.chosen import choose_models
from livetrans.session.recorded import Unfinished, read_unfinished
from livetrans.session.store import LAST, find_session, origin_of
from livetrans.text import duration


@click.command()
@click.argument("session", default=LAST, shell_complete=complete_session)
@click.option("--asr", metavar="MODEL", help="Recogniser; by default the one that the session was recognised with.")
@click.option("--mt", metavar="MODEL", help="Translator; by default the one that the session was translated with.")
def command(session: str, asr: str | None, mt: str | None) -> None:
    """Finish SESSION: translate what was heard and not translated, and add it to the session.

    Of a session with --keep-audio, sound that was recorded and not recognised is recognised too; of a recording whose
    replay was ended before its end, the rest is, if its file is still there and the same. SESSION is a name
    from `livetrans sessions` or its beginning, or a session's folder; without it, or with `last`, it is the newest
    session with captions. Settings are those of the session.
    """
    folder = find_session(session)
    if not folder.is_dir():
        raise SessionError(f"{folder} is not a session's folder: name one, or `last`.")
    unfinished = read_unfinished(folder, warn)
    if unfinished.lacks_glossary:
        say("livetrans: The glossary is not stored in the session; the remaining sentences are translated without it.")
    _go_on_with_the_file(unfinished)
    run_resumed(choose_models(_settings(unfinished, asr, mt), warn), SystemClock(unfinished.at), unfinished)


def _go_on_with_the_file(unfinished: Unfinished) -> None:
    """Take the rest of a recording from its file; say so, or why that cannot be."""
    origin = unfinished.origin
    if not unfinished.unheard or origin is None or unfinished.total is None:
        return
    rest = f"{duration(unfinished.heard)} of {duration(unfinished.total)} of {origin.name} were heard"
    path = Path(origin.path or "")
    if unfinished.settings.recogniser is None or not origin.path:
        say(f"livetrans: Only {rest}; replay it again for the rest.")
    elif not path.is_file():
        say(f"livetrans: Only {rest}, and it is no longer at {path}; the rest is left out.")
    elif replace(origin_of(path), start=origin.start, end=origin.end) != origin:
        say(f"livetrans: Only {rest}, and {path} was changed since; the rest is left out.")
    else:
        from livetrans.audio.file import AudioFile

        say(f"{rest[0].upper()}{rest[1:]}; going on with it.")
        part = Part(origin.start, origin.end)
        unfinished.sound = lambda: iter(AudioFile(path, SystemClock(), False, warn, part))


def _settings(unfinished: Unfinished, asr: str | None, mt: str | None) -> Settings:
    """Return the settings of the session, with the models that were named.

    Raises:
        SessionError: a value that no run takes: a session may come from a stranger.
    """
    settings = unfinished.settings
    recogniser = (settings.recogniser or RecogniserSettings()) if unfinished.sound else None
    tokens = min(settings.decoding.maximum_output_tokens, DecodingSettings().maximum_output_tokens)
    decoding = replace(settings.decoding, maximum_output_tokens=tokens)
    transcriber = replace(settings.transcriber, adaptive=False)
    settings = replace(settings, recogniser=recogniser, decoding=decoding, transcriber=transcriber)
    for key, option in OPTIONS.items():
        value = option_text(SETTINGS[key].of(settings))
        if isinstance(option.type, Terms):
            continue
        try:
            if value is not None:
                option.type.convert(value, option, None)
        except (click.BadParameter, UsageError) as error:
            text = error.message.rstrip(".") if isinstance(error, click.BadParameter) else str(error)
            raise SessionError(f"The settings of {unfinished.folder} cannot be used: --{key}: {text}") from None
    if asr and settings.recogniser:
        settings = with_field(settings, "recogniser.model", Path(asr))
    if mt:
        settings = with_field(settings, "language_model.model", Path(mt))
    return settings
