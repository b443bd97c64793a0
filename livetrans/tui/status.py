"""What shows the state of a run around its captions: the top bar, the loading bar, the status line, panel and strip."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Click
from textual.timer import Timer
from textual.widgets import ProgressBar, Static

from livetrans.installation import as_started
from livetrans.metrics.monitor import Snapshot
from livetrans.text import duration, visible
from livetrans.tui.numbers import (
    CUSTOM,
    GROUPS,
    LISTENER,
    RESEARCH,
    Number,
    flicker,
    heard,
    keeping_up,
    left_out,
    meter,
    percent,
    ratio,
    seconds,
    speedup,
)

SECONDS_SHOWN = {"info": 6.0, "warning": 20.0}
"""How long a sentence is shown; an error is shown until the next sentence."""

LABEL, HEADING, FULL, EMPTY = "$quiet", "bold $loud", "$good", "$quiet"
"""Styles of the panel's parts; `$quiet` and `$loud` are the app's own, readable in every theme."""

ROOMY_HEIGHT = 38
"""Height from which the panel has room for headings."""
SPACED_HEIGHT = 29
"""Height from which it has room for empty lines between the groups."""
KEY_WIDTH = 7
"""Cells of a key in the panel's list of keys."""

Keys = Sequence[tuple[str, str]]
"""Keys that the panel lists, each with its word."""


class Phase(Enum):
    """Where a run is."""

    LOADING = "loading"
    RUNNING = "listening"
    FINISHING = "finishing"
    ENDED = "ended"

    def sentence(self, paused: bool, known_length: bool) -> str:
        """Return what the status line says as long as nothing else is said; empty while all is usual."""
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
        self.visible = False  # Until its rows are known.

    def compose(self) -> ComposeResult:
        yield self._text
        yield ProgressBar(total=None, show_percentage=False, show_eta=False)

    def show(self, text: str) -> None:
        self._text.update(visible(text))

    def take(self, rows: int) -> None:
        """Take the rows that captions will have."""
        self.styles.height, self.visible = rows, True


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


class Figures(Static):
    """The panel's text: labels to the left, numbers to the right. A click on a number opens its explanation."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shown: tuple[Snapshot, str, Keys, int, int] | None = None

    def show(self, snapshot: Snapshot, panel: str, keys: Keys) -> None:
        """Draw the numbers again if they, or the room for them, have changed."""
        now = (snapshot, panel, keys, self.content_size.width, self.screen.size.height)
        if now == self._shown or self.content_size.width == 0:
            return
        self._shown = now
        self.update(draw(*now))

    async def on_click(self, event: Click) -> None:
        line = self.render_line(event.y).text
        labels = [number.label for group in GROUPS for number in group.numbers if line.startswith(f"{number.label} ")]
        if labels:
            await self.run_action(f"app.help({labels[0]!r})")


def draw(snapshot: Snapshot, panel: str, keys: Keys, width: int, height: int) -> Content:
    """Return the panel `people` or `research` in lines of `width` cells, with empty ones where `height` has room."""
    lines = [meter_row(snapshot, width)]
    if snapshot.settings.meeting:
        lines.append(Content.styled(f"figures of {visible(snapshot.settings.meeting.names[1])}"[:width], LABEL))
    if panel == "people":
        lines += [Content(""), *(row(number, snapshot, width) for number in LISTENER.numbers), Content("")]
        lines += [Content.assemble(f"{key:<{KEY_WIDTH}}", (word.ljust(width - KEY_WIDTH), LABEL)) for key, word in keys]
        return Content("\n").join(lines)
    for index, group in enumerate(RESEARCH):
        if height >= ROOMY_HEIGHT:
            lines += [Content(""), Content.styled(group.title, HEADING)]
        elif index and height >= SPACED_HEIGHT:
            lines.append(Content(""))
        lines += [row(number, snapshot, width) for number in group.numbers]
    return Content("\n").join(lines)


def meter_row(snapshot: Snapshot, width: int) -> Content:
    word, level = hearing(snapshot) + " ", 0.0 if snapshot.paused else snapshot.level
    full, empty = meter(level, max(0, width - len(word)))
    return Content.assemble((word, "" if snapshot.speaking else LABEL), (full, FULL), (empty, EMPTY))


def hearing(snapshot: Snapshot) -> str:
    """Return whether speech is heard, in eight cells."""
    return "‖ paused" if snapshot.paused else "● speech" if snapshot.speaking else "○ silent"


def row(number: Number, snapshot: Snapshot, width: int) -> Content:
    label, value = number.label_now(snapshot) or number.label, visible(number.write(snapshot))
    gap = " " * max(1, width - cell_len(label) - cell_len(value))
    return Content.assemble((label + gap, LABEL), value)


class Strip(Static):
    """The most important numbers, in two lines."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._shown = ""

    def show(self, snapshot: Snapshot, panel: str) -> None:
        text = strip_text(snapshot, panel)
        if text != self._shown:
            self._shown = text
            self.update(Content(text))


def strip_text(snapshot: Snapshot, panel: str) -> str:
    """Return two lines for a narrow terminal."""
    first = [hearing(snapshot), heard(snapshot), f"calm {snapshot.settings.calm or CUSTOM}"]
    flickers = f"flicker {flicker(snapshot, '/')}"
    if panel == "people":
        first.append(f"speedup {speedup(snapshot)}")
        second = [
            f"lag {seconds(snapshot.lag_growing)}",
            flickers,
            f"{left_out(snapshot) or 'keeping up'} {keeping_up(snapshot)}",
        ]
    else:
        first += [f"lag {seconds(snapshot.seen_lag_median)}", f"k {snapshot.settings.mask.k}"]
        second = [
            f"NE {ratio(snapshot.ne_shown)}",
            flickers,
            f"A/D {percent(snapshot.accepted_per_draft)}",
            speedup(snapshot),
        ]
    return "  ".join(first) + "\n" + "  ".join(second)
