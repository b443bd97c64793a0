"""What shows the numbers: the panel at the side, and the strip of a narrow terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from livetrans.metrics.monitor import Snapshot
from livetrans.text import visible
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
    """Whether speech is heard, in eight cells."""
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
    """Two lines for a narrow terminal."""
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
