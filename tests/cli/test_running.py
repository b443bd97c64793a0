"""What the main thread does while a run goes on: it counts signals in the handler, and obeys them where it waits."""

from __future__ import annotations

import io
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from livetrans.base.clock import SystemClock
from livetrans.base.errors import LivetransError, SourceError
from livetrans.cli import messages, run, running
from livetrans.cli.messages import LinesAbove, progress_bar, say
from livetrans.cli.running import HeardProgress, OpenSource
from livetrans.config import OutputSettings, Settings
from livetrans.events import Caption, Notice, Record, RunStarted, SourceProgress, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.run.pipeline import Pipeline
from livetrans.run.runner import Run
from livetrans.run.summary import RunSummary
from livetrans.session.codec import to_line
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import PlainOutput
from livetrans.tui import app as tui_app
from tests.terminal import as_standard_error
from tests.tui.scripted import FULL


class InterruptedRun(Run):
    """A run whose main thread gets Ctrl-C while it holds a lock that `stop` needs; it ends after so many stops."""

    def __init__(self, stops: int) -> None:
        self.stops = 0
        self._stops_until_end = stops
        self._lock = threading.Lock()
        self.is_started = False

    def start(self, *sinks: object) -> None: ...

    def join(self, timeout: float | None = None) -> bool:
        if self.stops == self._stops_until_end:
            return True
        with self._lock:
            signal.raise_signal(signal.SIGINT)
        return False

    def stop(self) -> None:
        assert self._lock.acquire(timeout=5), "stopped inside the signal handler"
        self.stops += 1
        self._lock.release()

    def _work(self) -> dict[str, object]:  # type: ignore[override]
        raise NotImplementedError


def test_a_signal_is_obeyed_where_the_main_thread_holds_no_lock_and_a_second_one_leaves_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    run = InterruptedRun(stops=1)
    summary = RunSummary(say, [])
    assert running._run_as_lines(run, summary)
    assert (run.stops, summary.was_left) == (1, False)
    assert signal.getsignal(signal.SIGINT) is before
    run = InterruptedRun(stops=9)
    assert running._run_as_lines(run, summary)
    assert (run.stops, summary.was_left) == (1, True)


def test_the_bar_shows_how_much_was_heard_and_warnings_stand_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_standard_error(monkeypatch)
    monkeypatch.setattr(sys, "stdout", lines := io.StringIO())
    with progress_bar() as progress:
        output, bar = PlainOutput(sys.stdout), HeardProgress(progress)
        for heard in (0.0, 2.4, 60.0):
            bar.write(Record(heard, SourceProgress(heard, 60.0, True)))
        output.write(Record(60.0, Notice("warning", "The disk is full.")))
        output.write(Record(60.0, Caption(Transcript(0, 0, "Yes.", "", True, 0.0, 1.0), "Ja.")))
    assert "heard 1:00 of 1:00" in terminal.getvalue()
    assert "The disk is full.\n" in terminal.getvalue()
    assert lines.getvalue() == "Ja.\n"


def test_lines_on_a_terminal_stand_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_standard_error(monkeypatch)
    monkeypatch.setattr(sys, "stdout", terminal)
    with progress_bar() as progress:
        settings = Settings(output=OutputSettings(partials=True))
        output, bar = PlainOutput(LinesAbove(progress), settings), HeardProgress(progress)
        for number, text in enumerate(("Ja", "Ja, gern.")):
            bar.write(Record(number, SourceProgress(10.0 * number, 60.0, True)))
            progress.refresh()
            caption = Caption(Transcript(0, number, "Yes.", "", number == 1, 0.0, 1.0), text)
            output.write(Record(number, caption))
    written = terminal.getvalue()
    assert written.count("\x1b[2KJa") == 1, "the bar was cleared before the line"
    assert "Ja, gern.\n" in written
    assert "heard 0:00 of 1:00" in written and "heard 0:10 of 1:00" in written[written.index("Ja, gern.") :]


@pytest.mark.parametrize("forced", ["", "1"])
def test_there_is_no_bar_where_standard_error_is_a_file(
    forced: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    with progress_bar() as progress:
        HeardProgress(progress).write(Record(1.0, SourceProgress(1.0, 2.0, True)))
        say("The disk is full.", above=progress)
    assert capfd.readouterr() == ("", "The disk is full.\n")


def test_a_bar_shows_the_time_left_only_where_it_can_be_estimated_and_never_hides_the_cursor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that is killed could not show the cursor again."""
    terminal = as_standard_error(monkeypatch)
    with progress_bar() as progress:
        bar = HeardProgress(progress)
        for heard in (2.0, 4.0):
            bar.write(Record(heard, SourceProgress(heard, None, True)))
            progress.refresh()
        assert "heard 0:04" in terminal.getvalue() and "left" not in terminal.getvalue()
        bar.write(Record(6.0, SourceProgress(6.0, 6.0, True)))
        progress.refresh()
        assert "0:00 left" in terminal.getvalue() and "\x1b[?25l" not in terminal.getvalue()


def test_ending_a_resumed_run_that_added_nothing_keeps_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path)
    folder = tmp_path / "sessions" / "2026-01-01T10-00-00"
    for again in (False, True):
        recorder = SessionRecorder(folder, append=again)
        with RunSummary(say, [recorder]):
            if not again:
                recorder.write(Record(0.0, Caption(Transcript(0, 0, "Yes.", "", True, 0.0, 1.0), "Ja.")))
        recorder.close()
        assert capsys.readouterr().err.startswith(f"1 caption is kept in {folder}")
    recorder.has_failed = True
    with RunSummary(say, [recorder]):
        pass
    assert capsys.readouterr().err.startswith(f"Only 1 caption is kept in {folder}")
    assert (folder / "events.jsonl").stat().st_size > 0


@pytest.mark.parametrize(("has_failed", "said"), [(False, "The session is"), (True, "Only a part of the session is")])
def test_a_session_without_captions_is_said_to_be_whole_only_if_it_is(
    has_failed: bool, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    SessionRecorder(tmp_path).close()
    recorder = SessionRecorder(tmp_path, append=True)
    recorder.has_failed = has_failed
    with RunSummary(say, [recorder]):
        pass
    recorder.close()
    assert capsys.readouterr().err == f"{said} kept in {tmp_path}\n"


def test_a_run_without_a_screen_says_at_its_end_what_the_panel_would_show(capsys: pytest.CaptureFixture[str]) -> None:
    one_sentence = replace(FULL, segments=1, speedup=None, ne_compared=None, lag_median=None)
    estimated = replace(FULL, speedup=None, ne_compared=None, speedup_estimate=1.26)
    for snapshot in (Snapshot(), one_sentence, FULL, estimated):
        monitor = SimpleNamespace(snapshot=lambda shown=snapshot: shown)
        running._say_figures(cast(Run, SimpleNamespace(monitor=monitor)))
    compared = "NE in 23 compared updates 0.14, with re-translation 1.14; speedup 2.4× (23), measured"
    assert capsys.readouterr().err.splitlines() == [
        f"Figures: median lag 1.40 s, 95 % within 2.84 s; NE of the screen 0.12; {compared}",
        "Figures: median lag 1.40 s, 95 % within 2.84 s; NE of the screen 0.12; speedup ≈1.3×, estimated",
    ]


def test_a_run_that_failed_is_not_said_to_have_heard_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    summary = RunSummary(say, [])
    for event in (RunStarted({}), SourceProgress(0.5, None, False)):
        summary.write(Record(0.0, event))
    with pytest.raises(SourceError), summary:
        raise SourceError("no sound")
    assert capsys.readouterr().err == ""
    with summary:
        pass
    assert "No speech was heard." in capsys.readouterr().err


def test_a_new_run_without_a_word_leaves_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path)
    folder, elsewhere = tmp_path / "sessions" / "2026-01-01T10-00-00", tmp_path / "mine"
    for place in (folder, elsewhere):
        with RunSummary(say, [SessionRecorder(place)]):
            pass
    assert not folder.exists()
    assert elsewhere.exists(), "the user named it"


def test_the_screen_shows_the_warning_and_its_failure_is_one_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[object] = []
    code = 0

    class Screen:
        def __init__(self, *_positional: object, limit: str, **_named: object) -> None:
            shown.append(limit)

        def run(self) -> None:
            self.return_code = code

    class Over:
        settings = Settings()

        def stop(self) -> None: ...

        def join(self, timeout: float) -> None: ...

    def source(notice: Notice | None) -> OpenSource:
        return OpenSource(Settings(), SystemClock(), "title", lambda *_: pytest.fail("it was opened"), notice)

    monkeypatch.setattr(tui_app, "LivetransApp", Screen)
    for notice in (Notice("warning", "It understands no people."), None):
        running._run_on_screen(cast(Pipeline, Over()), source(notice), Snapshot, Path, None)
    assert shown == ["synthetic voices only", ""]
    assert capsys.readouterr().err == ""
    code = 1
    with pytest.raises(LivetransError, match="screen failed"):
        running._run_on_screen(cast(Pipeline, Over()), source(None), Snapshot, Path, None)


def test_a_line_is_cut_between_words_and_a_command_is_not_cut() -> None:
    text = "12 captions are kept in /home/ana/.local/share/livetrans/sessions/lecture of today, the third of the week"
    lines = messages._wrapped(text, 40).splitlines()
    assert " ".join(lines) == text and max(len(line) for line in lines if "/" not in line) <= 40 and len(lines) == 3
    command = "livetrans export 'my talk' -o captions.srt --to de,fr"
    assert messages._wrapped(f"For subtitles: {command}", 40).splitlines() == ["For subtitles:", command]
    advice = "fetch one with `livetrans models pull small --from en --to de`, or name one"
    assert "`livetrans models pull small --from en --to de`," in messages._wrapped(advice, 30).splitlines()
    assert messages._wrapped(text, 0) == text


@pytest.mark.usefixtures("translator_path")
@pytest.mark.parametrize("has_begun", [False, True])
def test_a_run_whose_screen_fails_goes_on_as_lines(
    has_begun: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Screen:
        return_code = 1

        def __init__(self, run: Pipeline, *_positional: object, **_named: object) -> None:
            self._run = run

        def run(self) -> None:
            if has_begun:
                self._run.start()

    monkeypatch.setattr(tui_app, "LivetransApp", Screen)
    monkeypatch.setattr(running, "wants_screen", lambda output: True)
    talk = tmp_path / "talk.jsonl"
    heard = (Transcript(number, 0, "Good morning.", "", True, 0.3 * number, 0.3 * number + 0.1) for number in range(3))
    talk.write_text("".join(f"{to_line(Record(0.0, one))}\n" for one in heard), encoding="utf-8")
    code = run(["replay", str(talk), "--no-session"])
    shown = capsys.readouterr()
    assert (code, shown.err.count("The captions continue as lines.")) == (0, 1), shown.err
    assert len(shown.out.splitlines()) >= 2, "the first may have come before the screen was gone"
