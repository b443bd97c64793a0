"""`livetrans replay`: captions for recordings, for sound on standard input, or for a recorded transcript stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from livetrans.audio.source import WHOLE, Part, ReplayClock
from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import LivetransError, SessionError, UsageError, sentence
from livetrans.base.files import input_path, require_new_files, write_new
from livetrans.bench.tables import FORMATS
from livetrans.cli.declarations import CountRange, Parsed, complete_file_or_session, instant, was_given
from livetrans.cli.messages import say, warn
from livetrans.cli.options import RunOption, run_command, run_option, wants_screen
from livetrans.cli.running import Ended, OpenSource, run_at_once, run_live
from livetrans.cli.sessions import format_of
from livetrans.config import OutputSettings, Settings, with_field
from livetrans.events import Origin
from livetrans.models.chosen import choose_models, embedded_notice
from livetrans.run.listening import Listening, OnAudio, PostponedNotices
from livetrans.run.opening import from_file, from_live, open_recorded
from livetrans.run.publisher import Publish, warning_once
from livetrans.run.runner import RecordIncomplete
from livetrans.run.tracks import QueuedSource
from livetrans.session.export import LastCaptions, export, language_files
from livetrans.session.store import is_session, origin_of, path_or_session

STDIN, STDIN_NAME = "-", "standard input"
OFFLINE_STEP = 8.0
"""Seconds of new audio per recognition pass; pauses end segments before it is reached."""
_NOT_WITH_COMPARE = {
    "-o": "place", "--jsonl": "jsonl", "--session": "session", "--name": "name", "--keep-audio": "keep_audio",
    "--caption-file": "caption_file",
}  # fmt: skip
"""What a comparison does not write, with the names of the options' values."""


@run_command("replay")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_file_or_session)
@run_option(
    "--speed",
    type=click.Choice(["real", "max"]),
    default="real",
    help="real: at the pace of speech. max: as fast as possible, as lines, the same ones every time. An hour takes "
    "minutes with the models in the tree, and up to hours with large ones on a CPU.",
)
@run_option(
    "--offline",
    is_flag=True,
    everyday=True,
    help=f"For files: as fast as possible. That is --speed max with few long recognition passes (--step "
    f"{OFFLINE_STEP:g}) instead of a listener's.",
)
@run_option(
    "-o",
    "--output",
    "place",
    metavar="FILE",
    everyday=True,
    help="Write to FILE too: srt, vtt, txt or jsonl. Its ending is the format. {name} in it stands for "
    "the recording's name; a folder stands for {name}.srt in it. With several languages in --to there is a file for "
    "each, such as talk.de.srt.",
)
@run_option("--force", is_flag=True, needs="place", help="With -o: overwrite FILE if it exists.")
@run_option(
    "--start", type=Parsed(instant), metavar="[H:]M:S", everyday=True, help="Begin there. Times are the recording's."
)
@run_option("--end", type=Parsed(instant), metavar="[H:]M:S", everyday=True, help="End there.")
@run_option(
    "--compare",
    metavar="METHODS",
    everyday=True,
    help="Print a table of methods, such as rt,ssbd@0.2,cd. Each translates the same updates.",
)
@run_option(
    "--repeats",
    type=CountRange(1, 99),
    default=1,
    needs="compare",
    help="With --compare: how often everything is done; the table shows medians and spread.",
)
@run_option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    needs="compare",
    help="With --compare: how the table is written.",
)
def command(
    settings: Settings,
    files: tuple[str, ...],
    speed: str,
    offline: bool,
    place: str | None,
    force: bool,
    start: float | None,
    end: float | None,
    compare: str | None,
    repeats: int,
    format_: str,
) -> int:
    """Show captions for FILE: audio or video, a session or .jsonl of transcripts, or - for standard input.

    Name a session as `livetrans sessions` lists it, or by the beginning of its name; `last` is the newest. Standard
    input is a recording, or raw PCM: 16 kHz, mono, signed 16 bits, little-endian. If a file is damaged, everything
    readable is shown and the exit code is 1. Several files are replayed one after the other, each with its own session.
    If Ctrl-C ends a replay with -o or at full speed, what was heard is kept, and the exit code is 130.
    """
    if offline and speed == "real" and was_given("speed"):
        raise UsageError("--offline replays as fast as the machine can; drop --speed real, or --offline")
    real_time = speed == "real" and compare is None and not offline
    if not real_time:
        settings = with_field(settings, "transcriber.adaptive", False)
    if offline and not was_given("step"):  # One in the configuration file is a listener's.
        settings = with_field(settings, "transcriber.step", OFFLINE_STEP)
    if not real_time and was_given("serve"):
        raise UsageError(
            "--serve is for captions at the pace of speech; drop it, or --speed max, --offline or --compare"
        )
    part = Part(start or 0.0, end)
    if end is not None and end <= part.start:
        raise UsageError("--end is not after --start; choose a later one")
    if len(files) > 1:
        _refuse_for_several(settings.output, real_time, compare)
    files = tuple(file if file == STDIN else str(path_or_session(str(input_path(file)))) for file in files)
    if all(map(_is_recorded, files)):
        _refuse_options_of_sound()
    outputs = _output_files(place, files, settings.targets, force) if place is not None else {}
    if compare is not None and settings.between:
        raise UsageError("--compare measures one direction; give its languages with --from and --to, not --between")
    if compare is not None and len(settings.targets) > 1:
        raise UsageError(f"--compare translates into one language; give one of {', '.join(settings.targets)} with --to")
    unused = [option for option, name in _NOT_WITH_COMPARE.items() if was_given(name)]
    if compare is not None and unused:
        raise UsageError(f"--compare only prints its table; drop {' and '.join(unused)}")
    code, said = 0, set[str]()
    for number, file in enumerate(files, 1):
        try:
            if len(files) > 1:
                say(f"{Path(file).name}:")
            source = replace(_open_source(file, settings, part, real_time, said), inputs=tuple(map(Path, files)))
            if compare is not None:
                from livetrans.cli.bench_run import compare_methods

                compare_methods(source, compare, repeats, format_)
                continue
            output = outputs.get(file)
            subtitles = output is not None and format_of(output) in ("srt", "vtt")
            captions = LastCaptions(source.settings) if output else None
            try:
                ended = (run_live if real_time else run_at_once)(source, captions, writes_subtitles=subtitles)
            except Exception as error:
                if output and captions and not captions.is_empty:
                    with suppress(SessionError):
                        _write(output, captions, force)  # The session may lack them: it may be what failed.
                    if not isinstance(error, RecordIncomplete):
                        say("That is what was translated before the failure.")
                raise
            if ended.stopped_at and (output or (ended.by_signal and not real_time)):
                _keep_part(ended, output, captions, files[number:], force)
                if ended.by_signal:
                    return 130
            elif output and captions:
                _write(output, captions, force)
            if source.audio is not None and source.audio.damage:
                code = 1
                if real_time and wants_screen(settings.output):
                    say(f"livetrans: {source.audio.damage}")  # The screen has gone, and its warning with it.
        except LivetransError as error:
            if len(files) == 1 or isinstance(error, UsageError):
                raise
            say(f"livetrans: {sentence(error)}")
            code = 1
    return code


def _refuse_for_several(output: OutputSettings, real_time: bool, compare: str | None) -> None:
    """Refuse options that make sense for a single recording only."""
    if real_time:
        raise UsageError("several files are replayed with --offline or --speed max; add one of them, or name one file")
    if compare is not None or output.session or output.name or output.jsonl not in (None, "-"):
        raise UsageError("--compare, --session, --name and --jsonl FILE are for one file; drop them, or name one file")


def _is_recorded(file: str) -> bool:
    """Return whether a file is a recorded transcript stream."""
    return file != STDIN and (Path(file).suffix == ".jsonl" or is_session(Path(file)))


def _refuse_options_of_sound() -> None:
    """Refuse the options of recognition on the command line: transcripts are not recognised again."""
    for option in click.get_current_context().command.params:
        if isinstance(option, RunOption) and option.setting and was_given(option.name or ""):
            stage = option.setting.field.partition(".")[0]
            if stage in ("recogniser", "gate", "transcriber") or option.setting.key == "keep-audio":
                raise UsageError(f"{option.opts[-1]} is for sound, and this is a recorded transcript; drop it")


def _output_files(place: str, files: Sequence[str], languages: Sequence[str], force: bool) -> dict[str, Path]:
    """Return the output file of each recording, as -o names it. Called before the run, which may take hours.

    Raises:
        UsageError: it cannot be written, or several recordings would be written to one.
    """
    if place == STDIN:
        raise UsageError("-o names a file; leave it out for captions on standard output")
    names_folder = Path(place).is_dir() or place.endswith(os.sep)
    if names_folder:
        place = str(Path(place) / "{name}.srt")
    outputs = {file: Path(place.replace("{name}", Path(STDIN_NAME if file == STDIN else file).stem)) for file in files}
    for path in outputs.values():
        format_of(path)
        require_new_files(language_files(path, languages).values(), "-o", force=force)
        if not path.parent.is_dir() and not (names_folder and path.parent.parent.is_dir()):
            raise UsageError(f"there is no folder {path.parent}; create it, or choose another one for -o")
    if len(set(outputs.values())) < len(files):
        raise UsageError(f"-o {place} is the same file for two recordings; name a folder, or {{name}}.srt")
    return outputs


def _keep_part(
    ended: Ended, output: Path | None, captions: LastCaptions | None, left: Sequence[str], force: bool
) -> None:
    """Write what was heard before the user stopped the run, and say that this is a part."""
    parts = [f"Stopped at {ended.stopped_at}"]
    if output and captions:
        try:
            _write(output, captions, force)
            names = " and ".join(file.name for file in language_files(output, captions.languages).values())
            parts.append(f"{names} {'holds' if len(captions.languages) == 1 else 'hold'} only that")
        except SessionError:
            parts.append(f"{output.name} was not written, as there are no captions")
    if left:
        names = ", ".join(Path(file).name for file in left)
        parts.append(f"{names} {'was' if len(left) == 1 else 'were'} not heard")
    say(f"{'; '.join(parts)}.")


def _write(path: Path, captions: LastCaptions, force: bool) -> None:
    if captions.is_empty:
        raise SessionError(f"{path} was not written: there are no captions.")
    path.parent.mkdir(exist_ok=True)
    for language, file in language_files(path, captions.languages).items():
        write_new(file, export(captions, format_of(path), language=language), "-o", force=force)
        say(f"Written: {file}")


def _open_source(file: str, settings: Settings, part: Part, real_time: bool, said: set[str]) -> OpenSource:
    """Open the source before models are loaded, so that a bad file is reported at once.

    `said`: the warnings about models that were given for an earlier file; they are not given again.
    """
    warn_once = warning_once(warn, said)
    path = None if file == STDIN else Path(file)
    if (_is_recorded(file) or file == STDIN) and part != WHOLE:
        raise UsageError("--start and --end are for recordings of sound; drop them")
    clock: Clock = ReplayClock(SystemClock()) if real_time else SystemClock()
    notices = PostponedNotices()
    if path is not None and _is_recorded(file):
        from livetrans.session.recorded import RecordedTranscripts

        transcripts = RecordedTranscripts(path, clock, real_time, notices)
        settings = replace(settings, recogniser=None, meeting=transcripts.meeting)
        if transcripts.between and not (settings.between or was_given("from") or was_given("to")):
            pair = transcripts.between.languages
            settings = replace(settings, between=transcripts.between, sources=pair, targets=pair)
        settings = choose_models(settings, warn_once)

        def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
            notices.publish_to(publish)
            return open_recorded(transcripts, settings, publish, origin_of(path))

        return OpenSource(settings, clock, path.name, open_listening, None)
    settings = choose_models(settings, warn_once)
    notice = embedded_notice(settings, path)
    if path is None:
        from livetrans.audio.pcm import PcmStream

        if sys.stdin.isatty():
            raise UsageError("standard input is a terminal; pipe sound into `livetrans replay -` or name a file")
        # Unbuffered: a reading thread would hold the buffer's lock, and the interpreter could not exit.
        stream = open(sys.stdin.fileno(), "rb", 0, closefd=False)
        pcm = PcmStream(stream, clock, partial(notices, notice) if notice else None)
        origin = Origin(STDIN_NAME)
        if real_time:
            opener = from_live([(pcm, notices)], origin, settings, clock)
        else:
            opener = from_file(QueuedSource(pcm, notices), origin, settings, clock, notices)
        return OpenSource(settings, clock, STDIN_NAME, opener, notice)
    from livetrans.audio.file import AudioFile

    if notice is not None:
        warning_once(notices, said)(notice)
    audio = AudioFile(path, clock, real_time, notices, part)
    origin = replace(origin_of(path), start=part.start, end=part.end)
    return OpenSource(settings, clock, path.name, from_file(audio, origin, settings, clock, notices), notice, audio)
