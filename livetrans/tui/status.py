"""The state of the run: the bar above, the line below, and the progress while models load."""

from __future__ import annotations

from enum import Enum

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import ProgressBar, Static

from livetrans.text import visible
from livetrans.tui import numbers

SECONDS_SHOWN = {"info": 6.0, "warning": 20.0}
"""How long a sentence is shown; an error is shown until the next sentence."""


class Phase(Enum):
    """Where a run is."""

    LOADING = "loading"
    RUNNING = "listening"
    FINISHING = "finishing"
    ENDED = "ended"


class TopBar(Horizontal):
    """The run's name to the left, its state to the right."""

    def __init__(self, title: str) -> None:
        super().__init__(id="top")
        self._title = visible(title)
        self._state = Static("", id="state", markup=False)

    def compose(self) -> ComposeResult:
        yield Static(self._title, id="title", markup=False)
        yield self._state

    def show(self, phase: Phase, paused: bool, heard: float) -> None:
        state = "paused" if paused and phase is Phase.RUNNING else phase.value
        sign = {"paused": "‖ ", "listening": "● "}.get(state, "")
        text = f"{sign}{state}" if phase is Phase.LOADING else f"{sign}{state}  {numbers.clock(heard)}"
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
    """One line: a sentence for a while, otherwise the state of the run."""

    def __init__(self) -> None:
        super().__init__("", id="status", markup=False)
        self._state_text = ""
        self._is_passing = False
        self._timer: Timer | None = None

    def show_state(self, text: str) -> None:
        """Show `text` whenever no other sentence is shown; text that is not empty ends the other one."""
        self._state_text = text
        if text or not self._is_passing:
            self._end_passing()

    def show(self, text: str, level: str = "info") -> None:
        """Show a sentence for a while; `level` is `info`, `warning` or `error`."""
        self._end_passing()
        self._is_passing = True
        self._draw(text, level)
        shown = SECONDS_SHOWN.get(level)
        self._timer = self.set_timer(shown, self._end_passing) if shown else None

    def _end_passing(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._is_passing = False
        self._draw(self._state_text, "standing")

    def _draw(self, text: str, level: str) -> None:
        for name in ("info", "warning", "error", "standing"):
            self.set_class(name == level, f"-{name}")
        sign = {"warning": "! ", "error": "error: "}.get(level, "")
        self.update(sign + visible(text) if text else "")
