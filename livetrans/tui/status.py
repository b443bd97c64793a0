"""What the screen shows around the captions of a run: its phase, the top bar, and the bar while models load."""

from __future__ import annotations

from enum import Enum

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ProgressBar, Static

from livetrans.metrics.monitor import Snapshot
from livetrans.text import display_width, duration, fitted, visible
from livetrans.tui.panel import left_out


class Phase(Enum):
    """Where a run is."""

    LOADING = "loading"
    RUNNING = "listening"
    FINISHING = "finishing"
    ENDED = "ended"

    def sentence(self, paused: bool, known_length: bool) -> str:
        """Return what the row of messages says of the run; empty while all is usual."""
        match self:
            case Phase.ENDED:
                return f"{'end of file' if known_length else 'the source has ended'} · w saves · q quits"
            case Phase.FINISHING:
                return "finishing the last captions … · q again quits at once"
            case Phase.RUNNING if paused:
                return "paused · space resumes"
            case _:
                return ""


class TopBar(Widget):
    """The run's languages and name at the left; at the right its `limit`, if it has one, and its state."""

    def __init__(self, title: str, limit: str) -> None:
        super().__init__(id="top")
        self._title, self._limit = title, limit
        self._state = ("", "")

    def rename(self, title: str) -> None:
        self._title = title
        self.refresh()

    def show(self, phase: Phase, paused: bool, snapshot: Snapshot) -> None:
        state = "paused" if paused and phase is Phase.RUNNING else phase.value
        sign = {"paused": "‖ ", "listening": "● "}.get(state, "")
        time = "" if phase is Phase.LOADING else duration(snapshot.heard)
        text = f"{sign}{state}  {time}".rstrip()
        if left_out(snapshot) and phase in (Phase.RUNNING, Phase.FINISHING):
            text = f"{snapshot.behind_seconds:.0f} s behind, {snapshot.pressure}  {text}"
        if (text, sign + time) != self._state:
            self._state = text, sign + time
            self.refresh()

    def render(self) -> Content:
        return top_row(self._title, self._limit, *self._state, self.content_size.width)


def top_row(title: str, limit: str, state: str, short_state: str, width: int) -> Content:
    """Return the top bar in `width` cells.

    The state is never cut. In a small terminal the title gives way first, down to the languages with which it begins,
    then the limit.
    """
    title, limit = visible(title), f"! {limit}" if limit else ""
    languages = title.split(" · ")[0]
    if display_width(languages + state) + 2 > width:
        state = short_state or state
    room = max(width - display_width(state) - 2, 0)
    least = min(display_width(languages), room)
    if display_width(limit) > (limit_room := max(room - least - 2, 0)):
        limit = f"{limit[: limit_room - 1]}…" if limit_room else ""
    title_room = room - display_width(limit) - 2 * bool(limit)
    shown = fitted(title, title_room)
    title = shown if len(shown) > len(languages) + 3 else fitted(languages, title_room)
    gap = " " * (width - display_width(title + limit + state) - 2 * bool(limit))
    return Content.assemble((title, "bold"), gap, (limit, "$caution"), "  " * bool(limit), state)


class Loading(Vertical):
    """While models load: a bar, and what is being loaded."""

    def __init__(self) -> None:
        super().__init__(id="loading")
        self._text = Static("starting ...", markup=False)
        self.visible = False  # Until its rows are known.

    def compose(self) -> ComposeResult:
        yield self._text
        yield ProgressBar(total=None, show_percentage=False, show_eta=False)

    def show(self, text: str) -> None:
        self._text.update(visible(text))

    def set_rows(self, rows: int) -> None:
        """Set the rows that captions will have."""
        self.styles.height, self.visible = rows, True
