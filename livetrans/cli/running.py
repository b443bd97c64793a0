"""Runs `mic` and `replay` on the screen or as lines, and ends them on signals."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from livetrans.cli.messages import LinesAbove, discard_output, progress_bar, say
from livetrans.cli.options import wants_screen
from livetrans.clock import Clock, SystemClock
from livetrans.config import OutputSettings, Settings
from livetrans.errors import LivetransError, SessionError
from livetrans.events import Caption, Event, Notice, Record, RunEnded, RunStarted, SourceProgress, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.run.opening import open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.resuming import Rest, Resuming, open_rest
from livetrans.run.runner import OpenListening, PlainLoop, Run
from livetrans.serve.address import parse_serve_address
from livetrans.session.export import Finals
from livetrans.session.recorded import Unfinished
from livetrans.session.recorder import AUDIO_FILE, SessionRecorder
from livetrans.session.sinks import Sink, open_lines, open_records
from livetrans.session.store import older_than, remove, sessions_folder, shell_name
from livetrans.text import counted, duration

if TYPE_CHECKING:
    from rich.progress import Progress

    from livetrans.audio.file import AudioFile
    from livetrans.serve.server import CaptionServer

_HANGUP = getattr(signal, "SIGHUP", None)
"""What a terminal sends when it closes; Windows has no such signal."""

_ENDING_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([_HANGUP] if _HANGUP else [])]

_POLL_SECONDS = 0.1
_LAST_WAIT = 3.0
"""Seconds given to the threads after the screen has gone."""


@dataclass(frozen=True, slots=True)
class OpenSource:
    """An open source, with the settings of its run."""

    settings: Settings
    clock: Clock
    title: str
    open_listening: OpenListening
    embedded: Notice | None = None
    """The warning of `embedded_notice`: the screen shows its fact throughout, and it is said again after the screen has
    gone."""
    audio: AudioFile | None = None
    """None for anything but a file of sound."""
    inputs: Sequence[Path] = ()
    """Files and sessions that the command reads: none of them is removed for its age."""


class Ended(NamedTuple):
    """A run that is over."""

    session: Path | None
    """Its folder, which is gone where nothing was heard."""
    was_stopped: bool
    """Whether a signal ended it."""


def run_live(source: OpenSource, *, writes_subtitles: bool = False) -> Ended:
    """Run in two threads, on the screen or as lines, until the source ends or the user quits.

    `writes_subtitles`: the caller writes them after the run.
    """
    settings, clock = source.settings, source.clock
    on_screen = wants_screen(settings.output)
    with serving(settings.output) as server:
        records, heard = open_records(settings.output), Heard()
        sinks: list[Sink] = [heard, server.lines] if server else [heard]
        translating = partial(open_translating, settings, clock)
        with _summary_at_the_end(records, heard, writes_subtitles):
            finals = Finals(settings)
            if on_screen:
                sinks.append(finals)
            else:
                sinks.append(open_lines(settings))
                _say_which_language(settings)
            pipeline = Pipeline(settings, source.open_listening, translating, clock, sinks, records)
            if server:
                server.on_read = pipeline.readers
            if on_screen:
                _run_on_screen(pipeline, source, pipeline.monitor.snapshot, finals.save, server)
                was_stopped = False
            else:
                if server:
                    say(f"Captions for readers on {server.who_can_read}: {server.address}")
                was_stopped = _run_as_lines(pipeline)
    _remove_old(settings.output, source.inputs)
    return Ended(_session(records), was_stopped)


def run_at_once(source: OpenSource, *, writes_subtitles: bool = False) -> Ended:
    """Run in one plain loop, as fast as the machine can, always as lines.

    `writes_subtitles`: the caller writes them after the run.
    """
    settings, clock = source.settings, source.clock
    records, heard = open_records(settings.output), Heard()
    translating = partial(open_translating, settings, clock)
    with _summary_at_the_end(records, heard, writes_subtitles), _lines_and_bar(settings) as sinks:
        _say_which_language(settings)
        run = PlainLoop(settings, source.open_listening, translating, clock, [*sinks, heard], records)
        was_stopped = _run_as_lines(run)
    _remove_old(settings.output, source.inputs)
    return Ended(_session(records), was_stopped)


@contextlib.contextmanager
def serving(output: OutputSettings) -> Iterator[CaptionServer | None]:
    """Serve captions as long as the context lasts, if the settings say so.

    Raises:
        LivetransError: the place cannot be opened.
    """
    if output.serve is None:
        yield None
        return
    from livetrans.serve.server import CaptionServer

    server = CaptionServer(parse_serve_address(output.serve))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _say_which_language(settings: Settings) -> None:
    """Say which of several languages a run as lines has: the keys that go to the next one are on the screen."""
    if len(settings.sources) > 1:
        codes = ",".join(settings.sources)
        say(f"Of --from {codes}, {settings.source_language} is used: only the screen has a key for the others.")
    output = settings.output
    if len(settings.targets) > 1 and output.jsonl != "-":
        kept = "; the session has all" if output.record_session else ""
        say(f"Of --to {','.join(settings.targets)}, lines show {settings.target_language}{kept}.")


def _session(records: Sequence[Sink]) -> Path | None:
    return next((record.folder for record in records if isinstance(record, SessionRecorder)), None)


def run_resumed(settings: Settings, unfinished: Unfinished, rests: Sequence[Rest], recorder: SessionRecorder) -> None:
    """Finish a session in its own folder, as lines. One that was cut off and lacks nothing gets its end."""
    if not rests and not unfinished.transcripts({}):
        say(f"Nothing to resume: each sentence of {unfinished.folder.name} is translated.")
        if not unfinished.ended:
            recorder.write(Record(unfinished.at, RunEnded(unfinished.heard, "stopped")))
        return
    clock, heard = SystemClock(unfinished.at), Heard()
    heard.words = unfinished.has_words
    listening = partial(open_rest, settings, clock, unfinished, rests)
    translating = partial(open_translating, settings, clock)
    with _summary_at_the_end([recorder], heard), _lines_and_bar(replace(settings, output=OutputSettings())) as sinks:
        run = Resuming(settings, listening, translating, clock, [*sinks, heard], [recorder])
        run.unfinished = unfinished
        _run_as_lines(run)


@contextlib.contextmanager
def _lines_and_bar(settings: Settings) -> Iterator[list[Sink]]:
    """Open the sinks of a run at full speed: lines, and a bar that shows how much was heard."""
    on_terminal, as_json = sys.stdout.isatty(), settings.output.jsonl == "-"
    # Warnings on standard error go above the bar, which has replaced it when the lines are opened.
    with progress_bar(hidden=on_terminal and as_json) as progress:
        stream = LinesAbove(progress) if on_terminal else None
        yield [open_lines(settings, stream), HeardProgress(progress)]


def _remove_old(output: OutputSettings, inputs: Sequence[Path]) -> None:
    """After a run that was recorded, remove the sessions that are older than the user keeps them, and say so."""
    days = output.keep_sessions
    if days is None or not output.record_session:
        return
    for folder in older_than(days, inputs):
        with contextlib.suppress(SessionError):
            remove(folder)
            say(f"The session {folder.name} was removed: it is older than {counted(days, 'day')} (--keep-sessions).")


@contextlib.contextmanager
def _summary_at_the_end(records: Sequence[Sink], heard: Heard, writes_subtitles: bool = False) -> Iterator[None]:
    """Say on standard error what was heard and kept, however the run ends, and leave no session without words.

    `writes_subtitles`: the caller writes them after a run that was neither left nor failed.
    """
    error: BaseException | None = None
    try:
        yield
    except BaseException as fault:
        error = fault
        raise
    finally:
        was_left, failed = isinstance(error, KeyboardInterrupt), isinstance(error, Exception)
        with contextlib.suppress(OSError):  # The terminal may have gone.
            if heard.nothing and not failed:
                say(heard.nothing)
            for record in records:
                if isinstance(record, SessionRecorder):
                    _say_kept(record, heard, was_left, advises=was_left or failed or not writes_subtitles)


def _say_kept(recorder: SessionRecorder, heard: Heard, was_left: bool, *, advises: bool) -> None:
    """Say what is kept of a session; remove one that holds nothing.

    `was_left`: the run was left at once, before what it heard was translated. `advises`: how to get subtitles.
    """
    folder = recorder.folder
    named = shell_name(folder)
    captions = recorder.summary.captions
    if captions:
        say(f"{counted(captions, 'caption')} {'is' if captions == 1 else 'are'} kept in {folder}")
        if advises:
            say(f"For subtitles: livetrans export {named} -o captions.srt")
    elif heard.words or not recorder.is_new or (folder / AUDIO_FILE).exists():
        say(f"The session is kept in {folder}")
    elif folder.parent == sessions_folder():
        recorder.close()
        with contextlib.suppress(SessionError):
            remove(folder)
        return
    if was_left and heard.words:
        say(f"To translate the rest: livetrans resume {named}")


def _run_as_lines(run: Run) -> bool:
    """Run until the end; the first ending signal stops the run, the second leaves at once. Return whether one came."""
    with _ending_signals() as count:
        run.start()
        while not run.join(_POLL_SECONDS):
            if count() > 1:
                raise KeyboardInterrupt
            if count():
                run.stop()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    return count() > 0


def _run_on_screen(
    pipeline: Pipeline,
    source: OpenSource,
    snapshot: Callable[[str], Snapshot],
    save: Callable[[], Sequence[Path]],
    server: CaptionServer | None,
) -> None:
    from livetrans.tui.app import LivetransApp

    with _ending_signals(on_terminal=True) as count:
        app = LivetransApp(
            pipeline,
            snapshot,
            source.title,
            save=save,
            ending_signals=count,
            limit="synthetic voices only" if source.embedded else "",
            server=server,
        )
        failure = app.run()
    if source.embedded:
        say(source.embedded.text)
    pipeline.stop()
    # A second q does not wait for the last captions; the session file has everything until then.
    pipeline.join(timeout=_LAST_WAIT)
    if failure or app.return_code:
        raise LivetransError(failure or "The screen failed, as printed above; please report it.")


@contextlib.contextmanager
def _ending_signals(*, on_terminal: bool = False) -> Iterator[Callable[[], int]]:
    """Count Ctrl-C, SIGTERM and hang-ups instead of ending the process; yield a function that reads the count.

    The handlers do nothing else: they interrupt the main thread anywhere, also where it holds a lock.
    """
    received = 0

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal received
        received += 1
        if number == _HANGUP:
            _leave_terminal()

    before = {kind: signal.getsignal(kind) for kind in _ENDING_SIGNALS}
    for kind in before:
        # `nohup` ignores hang-ups; but a screen whose terminal has gone would wait for ever.
        if on_terminal or kind != _HANGUP or before[kind] is not signal.SIG_IGN:
            signal.signal(kind, handle)
    try:
        yield lambda: received
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _leave_terminal() -> None:
    """Point what is written to a terminal that has gone at nothing, because a failing write would end the run.

    In the signal handler, as the next write may come before anything else runs; these are system calls without locks.
    """
    import termios

    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            # Files and pipes give ENOTTY; a terminal can be there still, as after `kill -HUP`, and gives no error.
            if error.args[0] == errno.EIO:
                os.dup2(nowhere, descriptor)
    os.close(nowhere)


class HeardProgress:
    """A sink that shows on a bar how much of a source was heard."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("heard", total=None)

    def write(self, record: Record) -> None:
        self.show(record.event)

    def show(self, event: Event) -> None:
        if isinstance(event, SourceProgress):
            description = f"heard {duration(event.heard)}"
            if event.total:
                description += f" of {duration(event.total)}"
            self._progress.update(self._task, description=description, completed=event.heard, total=event.total)

    def close(self) -> None:
        """Do nothing: the bar belongs to its caller."""


class Heard:
    """A sink that keeps whether anything was heard, for the sentence at the end of a run."""

    def __init__(self) -> None:
        self._began = False
        self._voices = False
        self.words = False
        """Whether a word was recognised."""

    def write(self, record: Record) -> None:
        match record.event:
            case RunStarted():
                self._began = True
            case SourceProgress(speaking=True):
                self._voices = True
            case Transcript() | Caption():
                self.words = True
            case _:
                pass

    def close(self) -> None:
        """Do nothing: it is asked after the run has ended."""

    @property
    def nothing(self) -> str:
        """What to say of a run that listened and recognised nothing; empty for any other."""
        if not self._began or self.words:
            return ""
        return "Speech was heard, but no words were recognised." if self._voices else "No speech was heard."
