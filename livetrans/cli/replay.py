"""`livetrans replay`: captions for recordings, for sound on standard input, or for a recorded transcript stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import click

from livetrans.audio.source import Part, ReplayClock
from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import LivetransError, MissingModel, ModelError, SessionError, UsageError, sentence
from livetrans.base.files import input_path, require_new_files, write_new
from livetrans.bench.tables import FORMATS
from livetrans.cli.declarations import CountRange, Parsed, complete_file_or_session, instant, was_given
from livetrans.cli.messages import say, warn
from livetrans.cli.options import choose_for, run_command, run_option, wants_screen
from livetrans.cli.running import Ended, OpenSource, run_at_once, run_live
from livetrans.cli.sessions import format_of
from livetrans.config import RECORDED_METHOD, DecodingSettings, PromptSettings, Settings, with_field
from livetrans.events import Gap, Notice, Origin
from livetrans.models.chosen import embedded_notice
from livetrans.run.effect import PIPE, SOUND, TRANSCRIPT
from livetrans.run.opening import from_file, from_live, from_transcripts
from livetrans.run.places import check_places
from livetrans.run.postponed import Postponed
from livetrans.run.publisher import warning_once
from livetrans.run.runner import RecordIncomplete
from livetrans.run.tracks import QueuedSource
from livetrans.session.export import LastCaptions, export, language_files
from livetrans.session.store import is_session, origin_of, path_or_session

STDIN, STDIN_NAME = "-", "standard input"
OFFLINE_STEP = 8.0
"""Seconds of new audio per recognition pass; pauses end segments before it is reached."""


def _kind(file: str) -> str:
    """Return what a file is, as `livetrans.run.effect` calls it."""
    if file == STDIN:
        return PIPE
    return TRANSCRIPT if Path(file).suffix == ".jsonl" or is_session(Path(file)) else SOUND


def _found(name: str) -> str:
    return name if name == STDIN else str(path_or_session(str(input_path(name))))


@run_command("replay", sources=lambda files, **_: [*map(_kind, files)])
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=Parsed(_found), shell_complete=complete_file_or_session
)
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
@run_option(
    "--as-recorded",
    is_flag=True,
    everyday=True,
    help="Show the captions of a session again. No model is needed, and nothing is translated or measured.",
)
@run_option("--force", is_flag=True, help="With -o: overwrite FILE if it exists.")
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
    help="With --compare: how often everything is done; the table shows medians and spread.",
)
@run_option(
    "--format", "format_", type=click.Choice(FORMATS), default="text", help="With --compare: how the table is written."
)
def command(
    settings: Settings,
    files: tuple[str, ...],
    speed: str,
    offline: bool,
    place: str | None,
    as_recorded: bool,
    force: bool,
    start: float | None,
    end: float | None,
    compare: str | None,
    repeats: int,
    format_: str,
) -> int:
    """Show captions for FILE: sound, video, a session (.jsonl), or - for a pipe.

    Name a session as `livetrans sessions` lists it, or by the beginning of its name; `last` is the newest. Standard
    input is a recording, or raw PCM: 16 kHz, mono, 16 bits. If a file is damaged, everything readable is shown and the
    exit code is 1. Several files, with --offline or --speed max, have a session each. Ctrl-C keeps what was heard; of
    a replay with -o or at full speed the exit code is 130.
    """
    is_fast = offline or speed == "max" or compare is not None
    plan = Plan(
        _resolve(settings, is_fast=is_fast, is_offline=offline, compares=compare is not None),
        files,
        not is_fast,
        compare is not None,
        Part(start or 0.0, end),
        _output_files(place, files) if place is not None else {},
        force,
        as_recorded,
    )
    _check(plan)
    code = 0
    for number, file in enumerate(files):
        try:
            if len(files) > 1:
                say(f"{Path(file).name}:")
            source = replace(_open(plan, file), inputs=tuple(map(Path, files)))
            if compare is not None:
                from livetrans.cli.bench_run import compare_methods

                compare_methods(source, compare, repeats, format_)
                continue
            stopped, is_damaged = _run(plan, file, source, files[number + 1 :])
            if stopped:
                return 130
            code = max(code, int(is_damaged))
        except LivetransError as error:
            if len(files) == 1 or isinstance(error, UsageError):
                raise
            say(f"livetrans: {sentence(error)}")
            code = 1
    return code


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command line asks for, before any file is opened."""

    settings: Settings
    files: tuple[str, ...]
    real_time: bool
    compares: bool
    part: Part
    outputs: Mapping[str, Path]
    """The file of -o by recording; empty without -o."""
    force: bool
    as_recorded: bool
    said: set[str] = field(default_factory=set)
    """The warnings about models that were given for an earlier file; they are not given again."""


def _resolve(settings: Settings, *, is_fast: bool, is_offline: bool, compares: bool) -> Settings:
    """Return the settings of a replay, whatever a listener has set in the configuration file."""
    if is_fast:
        settings = with_field(settings, "transcriber.adaptive", False)
    if is_offline and not was_given("step"):
        settings = with_field(settings, "transcriber.step", OFFLINE_STEP)
    return replace(settings, prompt=PromptSettings()) if compares else settings


def _output_files(place: str, files: Sequence[str]) -> dict[str, Path]:
    """Return the output file of each recording, as -o names it."""
    if place == STDIN:
        raise UsageError("-o names a file; leave it out for captions on standard output")
    names_folder = Path(place).is_dir() or place.endswith(os.sep)
    if names_folder:
        place = str(Path(place) / "{name}.srt")
    outputs = {file: Path(place.replace("{name}", Path(STDIN_NAME if file == STDIN else file).stem)) for file in files}
    for path in outputs.values():
        if not path.parent.is_dir() and not (names_folder and path.parent.parent.is_dir()):
            raise UsageError(f"there is no folder {path.parent}; create it, or choose another one for -o")
    return outputs


def _check(plan: Plan) -> None:
    """Refuse what cannot be done, before the run, which may take hours."""
    settings, part = plan.settings, plan.part
    if plan.real_time and len(plan.files) > 1:
        raise UsageError("several files are replayed with --offline or --speed max; add one of them, or name one file")
    if part.end is not None and part.end <= part.start:
        raise UsageError("--end is not after --start; choose a later one")
    if plan.compares and len(settings.targets) > 1:
        raise UsageError(f"--compare translates into one language; give one of {', '.join(settings.targets)} with --to")
    if len({*plan.files}) < len(plan.files):
        raise UsageError("a recording is named twice; name it once")
    outputs = []
    for path in plan.outputs.values():
        format_of(path)
        places = [*language_files(path, settings.targets).values()]
        require_new_files(places, "-o", force=plan.force)
        outputs += [("-o", place) for place in places]
    check_places(settings, map(Path, plan.files), outputs)


def _run(plan: Plan, file: str, source: OpenSource, left: Sequence[str]) -> tuple[bool, bool]:
    """Run on one source; return whether the user ended the command, and whether the recording is damaged.

    `left`: the files that come after it.
    """
    output = plan.outputs.get(file)
    subtitles = output is not None and format_of(output) in ("srt", "vtt")
    captions = LastCaptions(source.settings) if output else None
    try:
        ended = (run_live if plan.real_time else run_at_once)(source, captions, writes_subtitles=subtitles)
    except Exception as error:
        if output and captions and not captions.is_empty:
            with suppress(SessionError):
                _write(output, captions, plan.force)  # The session may lack them: it may be what failed.
            if not isinstance(error, RecordIncomplete):
                say("That is what was translated before the failure.")
        raise
    unheard = left if ended.by_signal else ()
    is_part = ended.stopped_at and (output or (ended.by_signal and not plan.real_time))
    if is_part or unheard:
        _keep_part(ended, output, captions, unheard, plan.force)
    elif output and captions:
        _write(output, captions, plan.force)
    if ended.was_left or (ended.by_signal and (is_part or unheard)):
        return True, False
    damage = source.audio.damage if source.audio else ""
    if damage and plan.real_time and wants_screen(source.settings.output):
        say(f"livetrans: {damage}")  # The screen has gone, and its warning with it.
    return False, bool(damage)


def _keep_part(
    ended: Ended, output: Path | None, captions: LastCaptions | None, left: Sequence[str], force: bool
) -> None:
    """Write what was heard before the user stopped, and say that this is a part, or which files were left out.

    Of a run that was left, what is finished is written: the last caption may be half of a sentence.
    """
    parts = [f"Stopped at {ended.stopped_at}"] if ended.stopped_at else []
    parts += ["not all of that is translated"] if ended.was_left else []
    if output and captions:
        try:
            _write(output, captions, force, finals_only=ended.was_left)
            names = " and ".join(file.name for file in language_files(output, captions.languages).values())
            what = "what is" if ended.was_left else "that"
            only = f"only {what}" if ended.stopped_at else "all of it"
            parts.append(f"{names} {'holds' if len(captions.languages) == 1 else 'hold'} {only}")
        except SessionError:
            parts.append(f"{output.name} was not written, as there are no captions")
    if left:
        names = ", ".join(Path(file).name for file in left)
        parts.append(f"{names} {'was' if len(left) == 1 else 'were'} not heard")
    say(f"{'; '.join(parts)}.")


def _write(path: Path, captions: LastCaptions, force: bool, *, finals_only: bool = False) -> None:
    if captions.is_empty:
        raise SessionError(f"{path} was not written: there are no captions.")
    path.parent.mkdir(exist_ok=True)
    for language, file in language_files(path, captions.languages).items():
        pieces = export(captions, format_of(path), language=language, finals_only=finals_only)
        write_new(file, pieces, "-o", force=force)
        say(f"Written: {file}")


def _open(plan: Plan, file: str) -> OpenSource:
    """Open a source before models are loaded, so that a bad file is reported at once."""
    settings, real_time = plan.settings, plan.real_time
    warn_once = warning_once(warn, plan.said)
    path = None if file == STDIN else Path(file)
    clock: Clock = ReplayClock(SystemClock()) if real_time else SystemClock()
    notices = Postponed[Notice | Gap]()
    if path is not None and _kind(file) == TRANSCRIPT:
        from livetrans.session.recorded import RecordedTranscripts

        if plan.as_recorded:
            return _open_as_recorded(plan, path, clock, notices)
        transcripts = RecordedTranscripts(path, clock, real_time, notices)
        settings = replace(settings, recogniser=None, meeting=transcripts.meeting)
        if transcripts.between and not (settings.between or was_given("from") or was_given("to")):
            pair = transcripts.between.languages
            if plan.compares:
                raise UsageError(
                    f"{path.name} is a conversation, and --compare measures one direction; add --from {pair[0]} --to "
                    f"{pair[1]}, or the other way round"
                )
            settings = replace(settings, between=transcripts.between, sources=pair, targets=pair)
        try:
            settings = choose_for(settings, warn_once)
        except MissingModel as error:
            with suppress(SessionError):
                RecordedTranscripts(path, clock, real_time, with_captions=True)
                raise ModelError(f"{error}; or add --as-recorded to see the captions in {path.name}") from None
            raise

        opener = from_transcripts(transcripts, origin_of(path), settings, notices)
        return OpenSource(settings, clock, path.name, opener)
    settings = choose_for(settings, warn_once)
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
        warning_once(notices, plan.said)(notice)
    audio = AudioFile(path, clock, real_time, notices, plan.part)
    origin = replace(origin_of(path), start=plan.part.start, end=plan.part.end)
    return OpenSource(settings, clock, path.name, from_file(audio, origin, settings, clock, notices), notice, audio)


def _open_as_recorded(plan: Plan, path: Path, clock: Clock, notices: Postponed[Notice | Gap]) -> OpenSource:
    """Open a session whose captions are shown as they were recorded: the run has no model, and records nothing."""
    from livetrans.run.translating import RecordedLane, Translating
    from livetrans.session.recorded import RecordedTranscripts

    transcripts = RecordedTranscripts(path, clock, plan.real_time, notices, with_captions=True)
    recorded, output = transcripts.recorded, replace(plan.settings.output, record_session=False)
    settings = Settings(
        None,
        sources=recorded.sources if transcripts.between else recorded.sources[:1],  # no key changes it
        targets=recorded.targets,
        meeting=transcripts.meeting,
        between=transcripts.between,
        decoding=DecodingSettings(RECORDED_METHOD),
        output=output,
    )
    if not (plan.real_time and wants_screen(output)):
        say(f"{path.name}: captions as they were recorded; nothing is translated.")
    translating = Translating(
        [RecordedLane(None, captions_of=transcripts.captions_of)], {"captions": RECORDED_METHOD}, lambda: None
    )
    opener = from_transcripts(transcripts, origin_of(path), settings, notices)
    return OpenSource(settings, clock, path.name, opener, as_recorded=lambda publish: translating)
