"""`livetrans resume`: finishes what a session heard and did not translate."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.text import duration
from livetrans.cli.declarations import NumberRange, complete_session
from livetrans.cli.messages import say, warn
from livetrans.cli.options import KINDS, OPTIONS, option_text, refuse_without_effect, server_options
from livetrans.cli.running import run_resumed, sending
from livetrans.config import SETTINGS, UNNAMED, OutputSettings, RecogniserSettings, Settings, with_field
from livetrans.models.chosen import choose_models
from livetrans.run.effect import Way
from livetrans.run.resuming import unheard_sound
from livetrans.session.codec import read_records
from livetrans.session.recorded import Unfinished, read_unfinished
from livetrans.session.recorder import SessionRecorder
from livetrans.session.store import LAST, find_session, last_unfinished, origin_of

_CAPTIONS_TO = "Send the captions that a platform lacks, by the link in FILE, as the run was to."
_CAPTIONS_DELAY = "How much later than the speech a stream's picture is sent."


@click.command()
@click.argument("session", default=LAST, shell_complete=complete_session)
@click.option("--asr", metavar="MODEL", help="Recogniser; by default the one that the session was recognised with.")
@click.option("--mt", metavar="MODEL", help="Translator; by default the one that the session was translated with.")
@click.option("--captions-to", metavar="[LANG=]@FILE", type=KINDS["link"], multiple=True, help=_CAPTIONS_TO)
@click.option("--captions-delay", metavar="SECONDS", type=NumberRange(-60, 600), default=0.0, help=_CAPTIONS_DELAY)
@server_options
def command(
    session: str,
    asr: str | None,
    mt: str | None,
    captions_to: tuple[str, ...],
    captions_delay: float,
    mt_server: str,
    mt_model: str,
    mt_key_file: Path | None,
) -> int:
    """Finish SESSION: translate what was heard and not translated, and add it to the session.

    If the session has its sound (--keep-audio), sound that was not recognised is recognised too. If the replay of a
    recording ended before the recording did, the rest follows, provided that the file is still there and unchanged.
    SESSION is a name from `livetrans sessions` or its beginning, or a session's folder. Without it, or with `last`, it
    is the newest unfinished session. Languages, models and translation settings are those of the session.
    """
    folder = (last_unfinished() if session == LAST and not Path(LAST).exists() else None) or find_session(session)
    if not folder.is_dir():
        raise SessionError(f"{folder} is not a session's folder: name one, or `last`.")
    with closing(SessionRecorder(folder, append=True)) as recorder:  # Which makes its files of sound whole again.
        unfinished = read_unfinished(folder, warn)
        recording = _recording(unfinished)
        rests = unheard_sound(unfinished, recording, warn) if unfinished.settings.recogniser else []
        settings = _on_server(_settings(unfinished, asr, mt, recognises=bool(rests)), mt, mt_server)
        settings = with_field(settings, "language_model.server_model", mt_model)
        settings = choose_models(with_field(settings, "language_model.key_file", mt_key_file or UNNAMED), warn)
        output = OutputSettings(captions_to=captions_to, captions_delay=captions_delay)
        with sending(replace(settings, output=output)) as outlets:
            before = list(read_records(folder)) if outlets else []
            for outlet in outlets:
                outlet.note_in(recorder)
                outlet.start(warn, before)
            return 130 if run_resumed(settings, unfinished, rests, recorder, outlets) else 0


def _on_server(settings: Settings, mt: str | None, given: str) -> Settings:
    """Return the settings with the server that the user named: one that a session names is a stranger's, perhaps.

    Raises:
        UsageError: the session was translated on a server, and no translator is named.
    """
    recorded = settings.language_model.server
    refuse_without_effect(Way(with_field(settings, "language_model.server", given)), "mt mt-model mt-key-file")
    if recorded and not (mt or given):
        raise UsageError(
            f"the session was translated by the server {recorded}; give --mt-server {recorded} to continue with it, or "
            "another translator with --mt"
        )
    if recorded and mt and settings.decoding.method == "prefix":
        settings = with_field(settings, "decoding.method", Settings().decoding.method)
    return with_field(settings, "language_model.server", given)


def _recording(unfinished: Unfinished) -> Path | None:
    """Return the file of a recording whose rest was not heard; say that it goes on, or why the rest is left out."""
    origin = unfinished.origin
    if not unfinished.is_unheard or origin is None or unfinished.total is None:
        return None
    heard, total = duration(unfinished.heard), duration(unfinished.total)
    unheard = f"Only {heard} of {total} of {origin.name} were heard"
    if heard == total:
        unheard = f"The last words of {origin.name} were not recognised"
    path = Path(origin.path or "")
    if not origin.path or unfinished.settings.recogniser is None:
        say(f"livetrans: {unheard}; replay it again for the rest.")
    elif not path.is_file():
        say(f"livetrans: {unheard}, and it is no longer at {path}; the rest is left out.")
    elif replace(origin_of(path), start=origin.start, end=origin.end) != origin:
        say(f"livetrans: {unheard}, and {path} was changed since; the rest is left out.")
    else:
        say(f"{unheard}; continuing with it.")
        return path
    return None


def _settings(unfinished: Unfinished, asr: str | None, mt: str | None, *, recognises: bool) -> Settings:
    """Return the settings of a resumed run: those of the session that options can set, checked as options are.

    Raises:
        SessionError: a value that no run takes: a session may come from a stranger.
    """
    recorded = unfinished.settings
    settings = Settings(draft_model=recorded.draft_model, meeting=recorded.meeting, between=recorded.between)
    for key, setting in SETTINGS.items():
        stage = setting.field.partition(".")[0]
        if stage == "output" or key == "calm" or getattr(recorded, stage) is None:
            continue
        value, option = setting.of(recorded), OPTIONS[key]
        if key == "glossary":  # A session holds its terms; the file may have others now.
            settings = with_field(settings, "prompt.glossary", recorded.prompt.glossary)
            continue
        text = option_text(value)
        if text is None and value is not None:
            continue  # Nothing was named.
        try:
            if text is not None:
                value = option.type.convert(text, option, None)
        except (click.BadParameter, UsageError) as error:
            reason = error.message.rstrip(".") if isinstance(error, click.BadParameter) else str(error)
            raise SessionError(f"The settings of {unfinished.folder} cannot be used: --{key}: {reason}") from None
        settings = with_field(settings, setting.field, value)
    settings = with_field(settings, "transcriber.adaptive", False)
    settings = replace(settings, recogniser=(settings.recogniser or RecogniserSettings()) if recognises else None)
    if asr and settings.recogniser:
        settings = with_field(settings, "recogniser.model", Path(asr))
    if mt:
        settings = with_field(settings, "language_model.model", Path(mt))
    return settings
