"""`livetrans replay`: captions for a recording, for raw PCM on standard input, or for a recorded transcript stream."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from livetrans.bench.layout import FORMATS
from livetrans.cli.common import GroupedCommand, say, warn
from livetrans.cli.completing import complete_file_or_session
from livetrans.cli.run_options import run_options, wants_screen, was_given
from livetrans.cli.running import from_audio, run_at_once, run_live
from livetrans.clock import Clock, SystemClock
from livetrans.config import Settings
from livetrans.errors import UsageError
from livetrans.events import Notice, Origin
from livetrans.files import input_path
from livetrans.models.chosen import choose_models, embedded_notice
from livetrans.run.listening import Listening, OnAudio, PostponedNotices, open_recorded
from livetrans.run.publisher import Publish
from livetrans.run.runner import OpenListening
from livetrans.session.codec import EVENTS_FILE
from livetrans.session.store import origin_of, path_or_session

if TYPE_CHECKING:
    from livetrans.audio.file import AudioFile

STDIN, STDIN_NAME = "-", "standard input"
OFFLINE_STEP = 8.0
"""Seconds of new audio per recognition pass; pauses end segments before it is reached."""


@click.command(cls=GroupedCommand)
@click.argument("file", metavar="FILE", shell_complete=complete_file_or_session)
@click.option(
    "--speed",
    type=click.Choice(["real", "max"]),
    default="real",
    show_default=True,
    help="real: at the pace of speech; max: as fast as possible, as lines, the same ones every time. An hour takes "
    "minutes with the models in the tree, and up to hours with large ones on a CPU.",
)
@click.option(
    "--offline",
    is_flag=True,
    help=f"For files: --speed max, with few long recognition passes (--step {OFFLINE_STEP:g}) instead of a listener's.",
)
@click.option(
    "--compare",
    metavar="METHODS",
    help="Translate the same updates by several methods and print a table: rt,ssbd or rt,ssbd@0.1,ssbd@0.3,cd.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 99),
    default=1,
    show_default=True,
    help="With --compare: how often everything is done; the table shows medians and spread.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="With --compare: how the table is written.",
)
@run_options
def command(
    settings: Settings, file: str, speed: str, offline: bool, compare: str | None, repeats: int, format_: str
) -> int:
    """Show captions for FILE: audio or video, a session or .jsonl of transcripts, or - for raw PCM on standard input.

    A session is named as `livetrans sessions` lists it, or by the beginning of that; `last` is the newest. Raw PCM is
    16 kHz, mono, signed 16 bits, little-endian. If the file is damaged, everything readable is shown and the exit code
    is 1.
    """
    _refuse_without_compare(compare)
    if offline and speed == "real" and was_given("speed"):
        raise UsageError("--offline replays as fast as the machine can; drop --speed real, or --offline")
    clock = SystemClock()
    if file != STDIN:
        file = str(path_or_session(str(input_path(file))))
    recorded = file != STDIN and is_recorded(Path(file))
    settings = choose_models(replace(settings, recogniser=None) if recorded else settings, warn)
    real_time = speed == "real" and compare is None and not offline
    if not real_time:
        settings = replace(settings, transcriber=replace(settings.transcriber, adaptive=False))
    if offline and click.get_current_context().get_parameter_source("step") is ParameterSource.DEFAULT:
        settings = replace(settings, transcriber=replace(settings.transcriber, step=OFFLINE_STEP))
    notice = None if recorded else embedded_notice(settings, None if file == STDIN else Path(file))
    open_listening, audio = open_source(file, settings, clock, notice, recorded=recorded, real_time=real_time)
    title = STDIN_NAME if file == STDIN else Path(file).name
    if compare is not None:
        if settings.output.jsonl or settings.output.session or settings.output.keep_audio:
            raise UsageError("--compare only prints its table; drop --jsonl, --session and --keep-audio")
        from livetrans.cli.comparing import compare_methods

        compare_methods(settings, clock, open_listening, title, compare, repeats, format_)
    elif real_time:
        run_live(settings, clock, title, open_listening, notice)
    else:
        run_at_once(settings, clock, open_listening)
    if audio is None or not audio.damage:
        return 0
    if real_time and wants_screen(settings.output):
        say(f"livetrans: {audio.damage}")  # The screen has gone, and its warning with it.
    return 1


def _refuse_without_compare(compare: str | None) -> None:
    """Refuse the options of --compare where it is not given."""
    for name in ("repeats", "format_"):
        if compare is None and was_given(name):
            option = f"--{name.rstrip('_')}"
            raise UsageError(f"{option} needs --compare; add --compare METHODS (such as rt,ssbd), or drop {option}")


def is_recorded(path: Path) -> bool:
    """Whether the path is a session folder or a .jsonl file; anything else is opened as audio."""
    return path.suffix == ".jsonl" or (path / EVENTS_FILE).is_file()


def open_source(
    file: str, settings: Settings, clock: Clock, notice: Notice | None, *, recorded: bool, real_time: bool
) -> tuple[OpenListening, AudioFile | None]:
    """Open the source now, so that a bad file is reported before anything is loaded; the rest is built on its own
    thread.

    The second is the source where it is a file of sound.
    """
    notices = PostponedNotices()
    if recorded:
        from livetrans.session.recorded import RecordedTranscripts

        transcripts = RecordedTranscripts(Path(file), clock, real_time, notices)

        def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
            notices.publish_to(publish)
            return open_recorded(transcripts, publish, origin_of(Path(file)))

        return open_listening, None
    if notice is not None and file != STDIN:
        notices(notice)
    if file == STDIN:
        from livetrans.audio.pcm import PcmStream

        if sys.stdin.isatty():
            raise UsageError("standard input is a terminal; pipe raw PCM into `livetrans replay -` or name a file")
        # Unbuffered: a reading thread would hold the buffer's lock, and the interpreter could not exit.
        stream = open(sys.stdin.fileno(), "rb", 0, closefd=False)
        pcm = PcmStream(stream, clock, partial(notices, notice) if notice else None)
        return from_audio(pcm, Origin(STDIN_NAME), settings, clock, notices, live=real_time), None
    from livetrans.audio.file import AudioFile

    audio = AudioFile(Path(file), clock, real_time, notices)
    return from_audio(audio, origin_of(Path(file)), settings, clock, notices), audio
