"""`livetrans replay`: captions for a recording, for sound on standard input, or for a recorded transcript stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from livetrans.audio.source import AudioSource
from livetrans.cli.compose import AudioHearing, RecordedHearing
from livetrans.cli.grouped import GroupedCommand
from livetrans.cli.options import RunOptions, run_options, settings_from
from livetrans.cli.running import OpenHearing, run_at_once, run_live
from livetrans.clock import Clock, SystemClock
from livetrans.config import Settings
from livetrans.errors import UsageError
from livetrans.events import AudioChunk, Notice
from livetrans.sides import Hearing
from livetrans.stages import Publish

STDIN = "-"


@click.command(cls=GroupedCommand)
@click.argument("file", metavar="FILE")
@click.option(
    "--speed",
    type=click.Choice(["real", "max"]),
    default="real",
    show_default=True,
    help="The pace of speech, or as fast as the machine can: max writes lines, and the same lines every time.",
)
@click.option(
    "--compare",
    metavar="METHODS",
    help="Run several methods on the same updates and print a table: rt,ssbd or rt,ssbd@0.1,ssbd@0.3,cd.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 99),
    default=1,
    show_default=True,
    help="Runs of a comparison; the median counts.",
)
@run_options
def command(options: RunOptions, file: str, speed: str, compare: str | None, repeats: int) -> None:
    """Show captions for FILE: sound or video, a session or .jsonl of transcripts, or - for raw PCM on standard input.

    Raw PCM is 16 kHz, mono, signed 16 bits, little-endian.
    """
    clock = SystemClock()
    recorded = file != STDIN and is_recorded(Path(file))
    settings = settings_from(options, recogniser=not recorded)
    real_time = speed == "real" and compare is None
    if not real_time:
        settings = replace(settings, transcriber=replace(settings.transcriber, adaptive=False))
    hearing = open_source(file, settings, clock, recorded=recorded, real_time=real_time)
    if compare is not None:
        if options.jsonl or options.session or options.keep_audio:
            raise UsageError("--compare only prints its table; drop --jsonl, --session and --keep-audio")
        from livetrans.cli.comparing import compare_methods

        compare_methods(settings, clock, hearing, compare, repeats)
    elif real_time:
        title = "standard input" if file == STDIN else Path(file).name
        run_live(options, settings, clock, title, hearing)
    else:
        run_at_once(options, settings, clock, hearing)


def is_recorded(path: Path) -> bool:
    """A session folder or a .jsonl file; anything else is tried as sound."""
    return path.suffix == ".jsonl" or (path / "events.jsonl").is_file()


def open_source(file: str, settings: Settings, clock: Clock, *, recorded: bool, real_time: bool) -> OpenHearing:
    """Open the source now, so that a bad file is told before anything is loaded; the rest is built on its own
    thread.
    """
    notices = Postponed()
    if recorded:
        from livetrans.speech.recorded import RecordedTranscripts

        transcripts = RecordedTranscripts(Path(file), clock, real_time, notices)

        def hear_recorded(publish: Publish, on_audio: Callable[[AudioChunk], None] | None) -> Hearing:
            notices.deliver_to(publish)
            return RecordedHearing(transcripts)

        return hear_recorded
    if file == STDIN:
        from livetrans.audio.pcm import PcmStream

        if sys.stdin.isatty():
            raise UsageError("standard input is a terminal; pipe raw PCM into `livetrans replay -` or name a file")
        # Unbuffered: a reading thread would hold the buffer's lock, and the interpreter could not exit.
        source: AudioSource = PcmStream(open(sys.stdin.fileno(), "rb", 0, closefd=False), clock, notices)
    else:
        from livetrans.audio.file import AudioFile

        source = AudioFile(Path(file), clock, real_time, notices)

    def hear(publish: Publish, on_audio: Callable[[AudioChunk], None] | None) -> Hearing:
        notices.deliver_to(publish)
        return AudioHearing(source, settings, clock, publish, on_audio)

    return hear


class Postponed:
    """Keeps notices until there is somebody to tell."""

    def __init__(self) -> None:
        self._kept: list[Notice] = []
        self._publish: Publish | None = None

    def __call__(self, notice: Notice) -> None:
        if self._publish:
            self._publish(notice)
        else:
            self._kept.append(notice)

    def deliver_to(self, publish: Publish) -> None:
        self._publish = publish
        for notice in self._kept:
            publish(notice)
        self._kept.clear()
