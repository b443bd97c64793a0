"""What the main thread does while a run goes on: it counts signals in the handler, and obeys them where it waits."""

from __future__ import annotations

import io
import signal
import sys
import threading

import pytest

from livetrans.cli import running
from livetrans.cli.common import ProgressBar
from livetrans.events import Record, SourceProgress
from livetrans.run.runner import Run


class InterruptedRun(Run):
    """A run whose main thread gets Ctrl-C while it holds a lock that `stop` needs; it ends after so many stops."""

    def __init__(self, stops: int) -> None:
        self.stops = 0
        self._stops_until_end = stops
        self._lock = threading.Lock()

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


def test_a_signal_is_obeyed_where_the_main_thread_holds_no_lock() -> None:
    before = signal.getsignal(signal.SIGINT)
    run = InterruptedRun(stops=1)
    running._run_as_lines(run)
    assert run.stops == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_leaves_at_once() -> None:
    run = InterruptedRun(stops=9)
    with pytest.raises(KeyboardInterrupt):
        running._run_as_lines(run)
    assert run.stops == 1


def test_the_progress_bar_shows_how_much_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = ProgressBar()
    for heard in (0.0, 2.4, 7.6, 10.0):
        bar.write(Record(heard, SourceProgress(heard, 10.0, True)))
    bar.write(Record(11.0, SourceProgress(11.0, None, False)))
    bar.close()
    assert "10/10" in terminal.getvalue()
    assert "Traceback" not in terminal.getvalue()
