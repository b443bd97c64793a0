"""Runs `mic`, `listen` and `replay` on the screen or as lines, and ends them on signals."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import LivetransError, SessionError
from livetrans.base.text import counted, duration
from livetrans.cli.messages import LinesAbove, discard_output, progress_bar, say
from livetrans.cli.options import wants_screen
from livetrans.config import OutputSettings, Settings
from livetrans.events import Notice, Record, RunEnded, SourceProgress
from livetrans.lm.server.transport import privacy
from livetrans.metrics.monitor import Snapshot
from livetrans.run.opening import open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.resuming import Rest, Resuming, open_rest
from livetrans.run.runner import OpenListening, OpenTranslating, PlainLoop, Run
from livetrans.run.signals import end_without_terminal, ending_signals
from livetrans.run.summary import RunSummary, measured
from livetrans.serve.address import parse_serve_address
from livetrans.session.export import LastCaptions
from livetrans.session.recorded import Unfinished
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import Sink, open_lines, open_records
from livetrans.session.store import older_than, remove, shell_name

if TYPE_CHECKING:
    from rich.progress import Progress

    from livetrans.audio.file import AudioFile
    from livetrans.run.listening import Source
    from livetrans.serve.hub import HubPublisher
    from livetrans.serve.sending import PlatformCaptions
    from livetrans.serve.server import CaptionServer
    from livetrans.tui.readers import Outlet, Served

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
    """The warning of `embedded_notice`, whose fact the screen shows throughout."""
    audio: AudioFile | None = None
    """None for anything but a file of sound."""
    capturing: Sequence[Source] = ()
    """What is heard while models load."""
    as_recorded: OpenTranslating | None = None
    """What shows captions as they were recorded; None where a translator is loaded."""
    inputs: Sequence[Path] = ()
    """Files and sessions that the command reads: none of them is removed for its age."""


class Ended(NamedTuple):
    """A run that is over."""

    stopped_at: str | None
    """How much of the source was heard, such as `0:08 of 1:23`, where the user ended the run before its end."""
    by_signal: bool
    """Whether a signal asked for the end."""
    was_left: bool
    """Whether the user left at once, before what was heard was translated."""


class ScreenFailed(LivetransError):
    """The screen has gone, and the run goes on."""


def run_live(source: OpenSource, captions: LastCaptions | None = None, *, writes_subtitles: bool = False) -> Ended:
    """Run in two threads, on the screen or as lines, until the source ends or the user quits.

    `captions` gets those of the run. `writes_subtitles`: the caller makes subtitles of them.
    """
    settings, clock = source.settings, source.clock
    on_screen = wants_screen(settings.output)
    with serving(settings.output) as server, publishing(settings.output, server) as hub, sending(settings) as outlets:
        records = open_records(settings.output)
        for session in (one for one in records if isinstance(one, SessionRecorder)):
            for outlet in outlets:
                outlet.note_in(session)
        summary = RunSummary(say, records, writes_subtitles=writes_subtitles)
        shared = hub or server
        sinks: list[Sink] = [summary, *([shared.lines] if shared else []), *outlets]
        translating = source.as_recorded or partial(open_translating, settings, clock)
        with summary:
            captions = captions or (LastCaptions(settings) if on_screen else None)
            sinks += [captions] if captions else []
            if not on_screen:
                sinks.append(open_lines(settings))
                _say_which_language(settings)
            pipeline = Pipeline(settings, source.open_listening, translating, clock, sinks, records, source.capturing)
            if server and not hub:
                server.on_read = pipeline.readers
            if hub:
                hub.notify = pipeline.publish
                pipeline.readers(settings.targets)  # Nobody knows what a hub's readers read.
            for outlet in outlets:
                outlet.start(pipeline.publish)
            if on_screen and captions:
                by_signal = False
                try:
                    summary.was_left = not _run_on_screen(
                        pipeline,
                        source,
                        pipeline.monitor.snapshot,
                        captions.save,
                        hub or server,  # The code is for those who are elsewhere.
                        [*([server] if hub and server else []), *outlets],
                    )
                    summary.lag = pipeline.monitor.snapshot().lag_median
                except ScreenFailed as fault:
                    say(f"{fault} The captions continue as lines.")
                    pipeline.add(open_lines(settings))
                    by_signal = _run_as_lines(pipeline, summary)
            else:
                if server:
                    say(f"Captions for readers on {server.who_can_read}: {server.address}")
                if hub:
                    say(f"Captions for readers everywhere: {hub.address}")
                for outlet in outlets:
                    say(f"Finished captions go to {outlet.name}.")
                by_signal = _run_as_lines(pipeline, summary)
    _say_outcomes(outlets, waits=not summary.was_left)
    if not on_screen:
        _say_figures(pipeline)
    _remove_old(settings.output, source.inputs)
    return Ended(summary.stopped_at, by_signal, summary.was_left)


def run_at_once(source: OpenSource, captions: LastCaptions | None = None, *, writes_subtitles: bool = False) -> Ended:
    """Run in one plain loop, as fast as the machine can, always as lines; the arguments are those of `run_live`."""
    settings, clock = source.settings, source.clock
    records = open_records(settings.output)
    translating = source.as_recorded or partial(open_translating, settings, clock)
    with RunSummary(say, records, writes_subtitles=writes_subtitles) as summary, _lines_and_bar(settings) as sinks:
        _say_which_language(settings)
        kept = [captions] if captions else []
        run = PlainLoop(settings, source.open_listening, translating, clock, [*sinks, summary, *kept], records)
        by_signal = _run_as_lines(run, summary)
    _say_figures(run)
    _remove_old(settings.output, source.inputs)
    return Ended(summary.stopped_at, by_signal, summary.was_left)


@contextlib.contextmanager
def serving(output: OutputSettings) -> Iterator[CaptionServer | None]:
    """Serve captions as long as the context lasts, if the settings say so."""
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


@contextlib.contextmanager
def publishing(output: OutputSettings, server: CaptionServer | None) -> Iterator[HubPublisher | None]:
    """Publish captions as long as the context lasts, if the settings say so: the lines of the server, if any."""
    if output.publish is None:
        yield None
        return
    from livetrans.serve.hub import HubPublisher
    from livetrans.serve.lines import SharedLines

    hub = HubPublisher(output.publish, server.lines if server else SharedLines(), lambda notice: say(notice.text))
    hub.start()
    try:
        yield hub
    finally:
        if not hub.stop():
            say(f"The last captions did not reach {hub.address}: readers there do not have them.")


@contextlib.contextmanager
def sending(settings: Settings) -> Iterator[list[PlatformCaptions]]:
    """Open the links of `--captions-to` as long as the context lasts, for sinks that have not begun yet."""
    if not settings.output.captions_to:
        yield []
        return
    from livetrans.serve.sending import PlatformCaptions, open_links

    links = open_links(settings.output.captions_to, settings.targets)
    try:
        yield [PlatformCaptions(link, settings) for link in links]
    finally:
        for link in links:
            link.close()


def _say_outcomes(outlets: Sequence[PlatformCaptions], *, waits: bool = True) -> None:
    for outlet in outlets:
        if waits:
            outlet.close()  # It is closed already, but where nothing was run.
        say(outlet.outcome())


def _say_which_language(settings: Settings) -> None:
    """Say which of several languages a run with plain lines has: only the screen has keys for the others."""
    if settings.between:
        return
    if len(settings.sources) > 1:
        say(f"Plain output hears {settings.source_language} only (first of --from {','.join(settings.sources)}).")
    output = settings.output
    if len(settings.targets) > 1 and output.jsonl != "-":
        kept = "; the session has all" if output.record_session else ""
        say(f"Plain output shows {settings.target_language} only (first of --to {','.join(settings.targets)}){kept}.")


def run_resumed(
    settings: Settings,
    unfinished: Unfinished,
    rests: Sequence[Rest],
    recorder: SessionRecorder,
    outlets: Sequence[PlatformCaptions],
) -> bool:
    """Finish a session in its own folder, as lines. One that is unfinished and lacks nothing gets its end.

    Return whether the user ended it before that.
    """
    if not rests and not unfinished.transcripts({}):
        say(f"Nothing to resume in {unfinished.folder.name}: each sentence that was heard is translated.")
        _say_outcomes(outlets)
        if recorder.summary.state == "unfinished":
            recorder.write(Record(unfinished.at, RunEnded(unfinished.heard, "end of source")))
        return False
    clock = SystemClock(unfinished.at)
    summary = RunSummary(say, [recorder], has_words=unfinished.has_words)
    listening = partial(open_rest, settings, clock, unfinished, rests)
    translating = partial(open_translating, settings, clock)
    with summary, _lines_and_bar(replace(settings, output=OutputSettings())) as sinks:
        run = Resuming(settings, listening, translating, clock, [*sinks, summary, *outlets], [recorder])
        run.unfinished = unfinished
        for outlet in outlets:
            outlet.notify = run.publish
        _run_as_lines(run, summary)
    _say_outcomes(outlets)
    if summary.stopped_at and not summary.was_left:
        say(f"Stopped; for the rest: livetrans resume {shell_name(unfinished.folder)}")
    return summary.stopped_at is not None


def _say_figures(run: Run) -> None:
    if text := measured(run.monitor.snapshot()):
        say(text)


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


def _run_as_lines(run: Run, summary: RunSummary) -> bool:
    """Run until the end; the first ending signal stops the run, the second leaves it. Return whether one came."""
    with ending_signals() as count:
        if not run.is_started:
            run.start()
        while not run.join(_POLL_SECONDS):
            if count() > 1:
                summary.was_left = True
                break
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
    server: Served | None,
    outlets: Sequence[Outlet] = (),
) -> bool:
    """Run until the user leaves; return whether the run ended before that."""
    from livetrans.tui.app import LivetransApp

    with ending_signals(on_terminal=True) as count:
        asked = threading.Event()

        def signals() -> int:
            asked.set()
            return count()

        limits = (
            "synthetic voices only" if source.embedded else "",
            "captions as recorded" if source.as_recorded else "",
            privacy(pipeline.settings.language_model.server),
        )
        app = LivetransApp(
            pipeline,
            snapshot,
            source.title,
            save=save,
            ending_signals=signals,
            limit=", ".join(filter(None, limits)),
            server=server,
            outlets=outlets,
        )
        has_left = threading.Event()
        guard = partial(end_without_terminal, pipeline, count, asked, has_left)
        threading.Thread(target=guard, name="guarding", daemon=True).start()
        failure = app.run()
        has_left.set()
    if app.return_code and not failure:
        raise ScreenFailed("The screen failed, as printed above; please report it.")
    pipeline.stop()
    # A second q does not wait for the last captions; the session file has everything until then.
    has_ended = pipeline.join(timeout=_LAST_WAIT)
    if failure:
        raise LivetransError(failure)
    return has_ended


class HeardProgress:
    """A sink that shows on a bar how much of a source was heard."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("heard", total=None)

    def write(self, record: Record) -> None:
        event = record.event
        if isinstance(event, SourceProgress):
            description = f"heard {duration(event.heard)}"
            if event.total:
                description += f" of {duration(event.total)}"
            self._progress.update(self._task, description=description, completed=event.heard, total=event.total)

    def close(self) -> None:
        """Do nothing: the bar belongs to its caller."""
