"""What state the run is in: the bar above, the line below, and the progress while models load."""

from __future__ import annotations

from enum import Enum

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import ProgressBar, Static

from livetrans.text import visible
from livetrans.tui import numbers

SECONDS_SHOWN = {"info": 6.0, "warning": 20.0}
"""How long a sentence stays; an error stays until another sentence comes."""


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
    """Models are being read: a quiet bar and what is being loaded."""

    def __init__(self) -> None:
        super().__init__(id="loading")
        self._text = Static("starting ...", markup=False)

    def compose(self) -> ComposeResult:
        yield self._text
        yield ProgressBar(total=None, show_percentage=False, show_eta=False)

    def say(self, text: str) -> None:
        self._text.update(visible(text))


class StatusLine(Static):
    """One line: a passing sentence, or else what the state asks the reader to know."""

    def __init__(self) -> None:
        super().__init__("", id="status", markup=False)
        self._standing = ""
        self._passing = False
        self._timer: Timer | None = None

    def stand(self, text: str) -> None:
        """Show `text` whenever no passing sentence is shown; a state worth a sentence ends a passing one."""
        self._standing = text
        if text or not self._passing:
            self._rest()

    def say(self, text: str, level: str = "info") -> None:
        """Show a sentence for a while: `info`, `warning` or `error`."""
        self._rest()
        self._passing = True
        self._draw(text, level)
        shown = SECONDS_SHOWN.get(level)
        self._timer = self.set_timer(shown, self._rest) if shown else None

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._passing = False
        self._draw(self._standing, "standing")

    def _draw(self, text: str, level: str) -> None:
        for name in ("info", "warning", "error", "standing"):
            self.set_class(name == level, f"-{name}")
        sign = {"warning": "! ", "error": "error: "}.get(level, "")
        self.update(sign + visible(text) if text else "")
