"""The numbers beside the captions, or below them as two lines where the terminal is narrow."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from livetrans.metrics.snapshot import Snapshot
from livetrans.text import visible
from livetrans.tui import numbers
from livetrans.tui.numbers import GROUPS, Number

LABEL, HEADING, FULL, EMPTY = "dim", "bold $text-accent", "$text-success", "dim"
"""Styles of the panel's parts; dim rather than a colour, because it works in every theme and without colour."""

ROOMY_HEIGHT = 32
"""Height from which the panel has room for headings."""


class Figures(Static):
    """The panel's text: labels to the left, numbers to the right."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shown: tuple[Snapshot, int, bool] | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Draw the numbers again if they, or the room for them, have changed."""
        roomy = self.screen.size.height >= ROOMY_HEIGHT
        now = (snapshot, self.content_size.width, roomy)
        if now == self._shown or self.content_size.width == 0:
            return
        self._shown = now
        self.update(draw(snapshot, self.content_size.width, roomy))


def draw(snapshot: Snapshot, width: int, roomy: bool) -> Content:
    """The panel in lines of `width` cells; with headings where there is room."""
    lines = [meter_row(snapshot, width)]
    for index, group in enumerate(GROUPS):
        if roomy:
            lines += [Content(""), Content.styled(group.title, HEADING)]
        elif index:
            lines.append(Content(""))
        lines += [row(number, snapshot, width) for number in group.numbers]
    return Content("\n").join(lines)


def meter_row(snapshot: Snapshot, width: int) -> Content:
    word = "● speech " if snapshot.speaking else "○ silent "
    full, empty = numbers.meter(snapshot.level, max(0, width - len(word)))
    return Content.assemble((word, "" if snapshot.speaking else LABEL), (full, FULL), (empty, EMPTY))


def row(number: Number, snapshot: Snapshot, width: int) -> Content:
    value = visible(number.write(snapshot))
    gap = " " * max(1, width - cell_len(number.label) - cell_len(value))
    return Content.assemble((number.label + gap, LABEL), value)


class Panel(VerticalScroll, can_focus=False):
    """The side panel."""

    def compose(self) -> ComposeResult:
        yield Figures()

    def show(self, snapshot: Snapshot) -> None:
        if self.display:
            self.query_one(Figures).show(snapshot)


class Strip(Static):
    """The most important numbers, in two lines."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._shown = ""

    def show(self, snapshot: Snapshot) -> None:
        text = strip_text(snapshot)
        if text != self._shown:
            self._shown = text
            self.update(Content(text))


def strip_text(snapshot: Snapshot) -> str:
    """Two lines for a narrow terminal."""
    first = (
        "● speech" if snapshot.speaking else "○ silent",
        numbers.heard(snapshot),
        f"lag {numbers.seconds(snapshot.lag_last)}",
        f"bias {numbers.ratio(snapshot.bias)}",
        f"k {snapshot.mask_k}",
    )
    second = (
        f"NE {numbers.ratio(snapshot.ne_raw)}→{numbers.ratio(snapshot.ne_shown)}",
        numbers.estimate(snapshot.speedup_estimate),
        f"A/D {numbers.percent(snapshot.accepted_per_draft)}",
        f"RTF {numbers.ratio(snapshot.real_time_factor)}",
        f"{numbers.rate(snapshot.tokens_per_second)} tok/s",
    )
    return "  ".join(first) + "\n" + "  ".join(second)
