"""What is around captions and numbers: the bar above, the loading bar, and the line below for a sentence."""

from __future__ import annotations

from enum import Enum

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import ProgressBar, Static

from livetrans.installation import as_started
from livetrans.metrics.monitor import Snapshot
from livetrans.text import duration, visible
from livetrans.tui.numbers import left_out

SECONDS_SHOWN = {"info": 6.0, "warning": 20.0}
"""How long a sentence is shown; an error is shown until the next sentence."""


class Phase(Enum):
    """Where a run is."""

    LOADING = "loading"
    RUNNING = "listening"
    FINISHING = "finishing"
    ENDED = "ended"

    def sentence(self, paused: bool, known_length: bool) -> str:
        """What the status line says as long as nothing else is said; empty while all is usual."""
        match self:
            case Phase.ENDED:
                return f"{'end of file' if known_length else 'the source has ended'} · w saves · q quits"
            case Phase.FINISHING:
                return "finishing the last captions … · q again quits at once"
            case Phase.RUNNING if paused:
                return "paused · space resumes"
            case _:
                return ""


class TopBar(Horizontal):
    """The run's name to the left; to the right its state, and its `limit` where it has one."""

    def __init__(self, title: str, limit: str) -> None:
        super().__init__(id="top")
        self._limit = Static(f"! {limit}  " if limit else "", id="limit", markup=False)
        self._title = Static(visible(title), id="title", markup=False)
        self._state = Static("", id="state", markup=False)

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._limit
        yield self._state

    def rename(self, title: str) -> None:
        self._title.update(visible(title))

    def show(self, phase: Phase, paused: bool, snapshot: Snapshot) -> None:
        state = "paused" if paused and phase is Phase.RUNNING else phase.value
        sign = {"paused": "‖ ", "listening": "● "}.get(state, "")
        text = f"{sign}{state}" if phase is Phase.LOADING else f"{sign}{state}  {duration(snapshot.heard)}"
        if left_out(snapshot) and phase in (Phase.RUNNING, Phase.FINISHING):
            text = f"{snapshot.behind_seconds:.0f} s behind, {snapshot.pressure}  {text}"
        if text != self._state.content:
            self._state.update(text)


class Loading(Vertical):
    """While models load: a bar, and what is being loaded."""

    def __init__(self) -> None:
        super().__init__(id="loading")
        self._text = Static("starting ...", markup=False)

    def compose(self) -> ComposeResult:
        yield self._text
        yield ProgressBar(total=None, show_percentage=False, show_eta=False)

    def show(self, text: str) -> None:
        self._text.update(visible(text))


class StatusLine(Static):
    """A sentence for a while, otherwise the state of the run."""

    def __init__(self) -> None:
        super().__init__("", id="status", markup=False)
        self._state_text = ""
        self._is_passing = False
        self._warnings: list[str] = []
        self._timer: Timer | None = None

    def show_state(self, text: str) -> None:
        """Show `text` whenever no other sentence is shown; if not empty, it ends that one, or stands below warnings."""
        self._state_text = text
        if self._warnings:
            self._draw(self._warnings, "warning")
        elif text or not self._is_passing:
            self._end_passing()

    def show(self, text: str, level: str = "info") -> None:
        """Show a sentence for a while; `level` is `info`, `warning` or `error`. A warning stays above the next one."""
        text = as_started(text)
        before = [warning for warning in self._warnings if warning != text]
        self._end_passing()
        self._is_passing = True
        if level == "warning":
            self._warnings = [*before[-1:], text]
        self._draw(self._warnings or [text], level)
        shown = SECONDS_SHOWN.get(level)
        self._timer = self.set_timer(shown, self._end_passing) if shown else None

    def end_info(self) -> None:
        """End a sentence that is neither a warning nor an error."""
        if self.has_class("-info"):
            self._end_passing()

    def _end_passing(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._is_passing = False
        self._warnings = []
        self._draw([self._state_text], "standing")

    def _draw(self, lines: list[str], level: str) -> None:
        for name in ("info", "warning", "error", "standing"):
            self.set_class(name == level, f"-{name}")
        sign = {"warning": "! ", "error": "error: "}.get(level, "")
        shown = [sign + visible(line) for line in lines if line]
        if level == "warning" and self._state_text:
            shown.append(self._state_text)
        self.update("\n".join(shown))
