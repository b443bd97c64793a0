"""Runs a composed pipeline on a screen or as lines; shared by `mic` and `replay`."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType

from livetrans.cli.compose import load_model, make_translation, prepare_prompt
from livetrans.cli.options import RunOptions
from livetrans.clock import Clock
from livetrans.config import Settings
from livetrans.errors import LivetransError, SessionError
from livetrans.events import AudioChunk, Caption, Notice, Record
from livetrans.files import create
from livetrans.loop import PlainLoop
from livetrans.metrics.monitor import Monitor
from livetrans.metrics.snapshot import Snapshot
from livetrans.pipeline import Pipeline
from livetrans.session.expendable import Expendable
from livetrans.session.jsonl import JsonLinesOutput
from livetrans.session.plain import PlainOutput
from livetrans.session.recorder import SessionRecorder, default_session_folder
from livetrans.session.sink import Sink
from livetrans.sides import Hearing, TranslatingSide
from livetrans.stages import Publish

OpenHearing = Callable[[Publish, Callable[[AudioChunk], None] | None], Hearing]
"""Builds the listening side, on the thread that will own it; the second argument keeps the sound, where that was
asked.
"""

_HANGUP = getattr(signal, "SIGHUP", None)
"""What a terminal sends when it closes; Windows has no such signal."""

_ENDING_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([_HANGUP] if _HANGUP else [])]

_LAST_WAIT = 3.0
"""Seconds given to the threads after the screen has gone."""


def wants_screen(options: RunOptions) -> bool:
    """A screen needs a terminal on both ends that can draw it, and nothing else may write to it."""
    if options.plain or options.jsonl == "-" or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return False
    return os.environ.get("TERM") != "dumb" and codecs.lookup(sys.stdout.encoding).name.startswith("utf")


def run_live(options: RunOptions, settings: Settings, clock: Clock, title: str, open_hearing: OpenHearing) -> None:
    """Run in two threads, on the screen or as lines, until the source ends or the listener quits."""
    with _kept(options) as kept:
        hear, speak = _sides(settings, clock, open_hearing, kept)
        if wants_screen(options):
            _run_on_screen(options, settings, clock, title, hear, speak, kept.sinks)
        else:
            _run_as_lines(Pipeline(hear, speak, clock, [*kept.sinks, *_lines(options)]))


def run_at_once(options: RunOptions, settings: Settings, clock: Clock, open_hearing: OpenHearing) -> None:
    """Run in one plain loop, as fast as the machine can, always as lines."""
    with _kept(options) as kept:
        hear, speak = _sides(settings, clock, open_hearing, kept)
        _run_as_lines(PlainLoop(hear, speak, clock, [*kept.sinks, *_lines(options)]))


class _Kept:
    """What keeps the run: its sinks, and what keeps its sound."""

    def __init__(self) -> None:
        self.sinks: list[Expendable] = []
        self.on_audio: Callable[[AudioChunk], None] | None = None
        self.publish: Publish | None = None

    def add(self, sink: Sink) -> Expendable:
        self.sinks.append(Expendable(sink, self._tell))
        return self.sinks[-1]

    def _tell(self, notice: Notice) -> None:
        if self.publish:
            self.publish(notice)


def _sides(
    settings: Settings, clock: Clock, open_hearing: OpenHearing, kept: _Kept
) -> tuple[Callable[[Publish], Hearing], Callable[[Publish], TranslatingSide]]:
    def hear(publish: Publish) -> Hearing:
        kept.publish = publish
        return open_hearing(publish, kept.on_audio)

    def speak(publish: Publish) -> TranslatingSide:
        model = load_model(settings, clock, publish)
        try:
            return make_translation(model, prepare_prompt(model, settings), settings)
        except BaseException:
            model.close()
            raise

    return hear, speak


@contextlib.contextmanager
def _kept(options: RunOptions) -> Iterator[_Kept]:
    """What keeps the run, made before models load, so that a bad place is seen at once.

    Raises:
        SessionError: a place that cannot be written, at once; or, at the end, a record that is incomplete.
    """
    kept = _Kept()
    with contextlib.ExitStack() as stack:
        if not options.no_session:
            folder = options.session.expanduser() if options.session else default_session_folder(datetime.now())
            recorder = SessionRecorder(folder, keep_audio=options.keep_audio)
            sink = kept.add(recorder)
            kept.on_audio = sink.guarded(recorder.write_audio) if options.keep_audio else None
        if options.jsonl and options.jsonl != "-":
            file = create(Path(options.jsonl).expanduser(), "--jsonl")
            # Every line was flushed: closing fails only where writing has failed before.
            stack.enter_context(contextlib.suppress(OSError))
            stack.enter_context(file)
            kept.add(JsonLinesOutput(file))
        yield kept
    for sink in kept.sinks:
        if sink.failure:
            raise SessionError(f"The record of this run is incomplete: {sink.failure}")


def _lines(options: RunOptions) -> list[Sink]:
    if options.jsonl == "-":
        return [JsonLinesOutput(sys.stdout)]
    return [PlainOutput(sys.stdout, options.partials, bool(options.show_source))]


def _run_as_lines(run: Pipeline | PlainLoop) -> None:
    def ask() -> None:
        for kind in _ENDING_SIGNALS:
            signal.signal(kind, signal.default_int_handler)
        run.stop()

    with _signals_to(ask):
        run.start()
        run.join()
    if _reader_has_gone():
        # The interpreter's last flush must not fail on a pipe that nobody reads.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reader_has_gone() -> bool:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return True
    return False


@contextlib.contextmanager
def _signals_to(ask: Callable[[], None], *, on_terminal: bool = False) -> Iterator[None]:
    """Ctrl-C, a polite kill and a terminal that closes call `ask` instead of killing: what was heard is finished."""

    def handle(number: int, _frame: FrameType | None) -> None:
        if number == _HANGUP:
            _leave_terminal()
        ask()

    before = {kind: signal.getsignal(kind) for kind in _ENDING_SIGNALS}
    for kind in before:
        # `nohup` asks for hangups to be ignored; but a screen whose terminal has gone would read nothing for ever.
        if on_terminal or kind != _HANGUP or before[kind] is not signal.SIG_IGN:
            signal.signal(kind, handle)
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _leave_terminal() -> None:
    """Let what is still written to a terminal that has gone go nowhere, because a failing write would stop the rest."""
    import termios

    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            # Files and pipes say ENOTTY; a terminal can be there still, as after `kill -HUP`, and says nothing.
            if error.args[0] == errno.EIO:
                os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _run_on_screen(
    options: RunOptions,
    settings: Settings,
    clock: Clock,
    title: str,
    hear: Callable[[Publish], Hearing],
    speak: Callable[[Publish], TranslatingSide],
    sinks: Sequence[Sink],
) -> None:
    from livetrans.tui.app import LivetransApp

    decoding, mask = settings.decoding, settings.mask
    monitor = Monitor(Snapshot(method=decoding.method, bias=decoding.bias, mask_mode=mask.mode, mask_k=mask.k))
    finals = FinalsSink()
    pipeline = Pipeline(hear, speak, clock, [*sinks, monitor, finals])
    app = LivetransApp(
        controls=pipeline,
        snapshot=monitor.snapshot,
        start=pipeline.start,
        title=_heading(title, settings),
        mask_k=mask.k,
        bias=decoding.bias,
        show_source=options.show_source is not False,
        save=finals.save,
    )
    with _signals_to(app.quit_soon, on_terminal=True):
        failure = app.run()
    pipeline.stop()
    # Whoever pressed q twice does not wait for what was heard; everything until now is in the session file.
    pipeline.join(timeout=_LAST_WAIT)
    if failure:
        raise LivetransError(failure)


def _heading(title: str, settings: Settings) -> str:
    translator = settings.language_model.model.stem
    return f"{title} · {settings.source_language} → {settings.target_language} · {translator}"


class FinalsSink:
    """Keeps finals for the screen's save key: text, hence small even after hours."""

    def __init__(self) -> None:
        self._captions: list[Caption] = []

    def write(self, record: Record) -> None:
        if isinstance(record.event, Caption) and record.event.final and record.event.text:
            self._captions.append(record.event)

    def close(self) -> None:
        """Nothing: the screen may still save after the run has ended."""

    def save(self) -> Path:
        """Write source and translation to a new text file in the current folder; returns where.

        Raises:
            SessionError: nothing was said yet.
            OSError: the folder cannot be written.
        """
        captions = tuple(self._captions)
        if not captions:
            raise SessionError("nothing was said yet")
        path = Path(f"livetrans-{datetime.now():%Y-%m-%dT%H-%M-%S}.txt")
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{caption.source}\n{caption.text}\n\n" for caption in captions)
        return path.resolve()
