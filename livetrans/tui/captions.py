"""Captions: the history, which scrolls, and the current one, in a pane whose height depends on the terminal alone.

While a sentence grows no shown word moves to another row: source and translation have rows of their own, and what has
no room in them begins a new page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from math import ceil
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Input

from livetrans.base.text import join_text, reads_right_to_left, track_label, visible
from livetrans.captions import key_of
from livetrans.events import Caption
from livetrans.tui.board import HISTORY_CAPTIONS, Board, Source
from livetrans.tui.wrapped import WrappedText, drawn, in_lines

SENTENCE_CELLS = 280
"""Cells of a long sentence's translation: 40 words, the most that a segment has."""
MAXIMUM_WIDTH = 104
"""Columns of a line that can still be read with ease, margins included; also in the style sheet."""
PANE_SHARE = 0.6
"""Most of the rows between the bars that the current caption may take, where there are more than a few."""
CAPTION_ROWS = 3
"""Rows that the current caption has wherever the terminal has them."""

SOURCE, PARTIAL_SOURCE = "$quiet", "$quiet italic"
"""Committed and partial source."""

UNTRANSLATED = ">"
"""Stands before text that is shown as it was heard."""

NEW, NEW_WITHOUT_COLOUR = "$loud", "underline"
"""Words that an update brought onto the screen; what was shown before stays plain."""


def caption_content(caption: Caption, new_style: str = "", standing: int = 0) -> Content:
    """Return a caption's text, in `new_style` but for its first `standing` characters, which were shown before."""
    text = visible(caption.text)
    label = (track_label(caption.track) if text else "", SOURCE)
    if caption.untranslated and text:
        return Content.assemble((f"{UNTRANSLATED} ", SOURCE), label, text)
    shown = len(visible(caption.text[:standing]))
    return Content.assemble(label, text[:shown], (text[shown:], new_style))


def source_content(source: Source) -> Content:
    """Return a source line, the part that may still change in italics, repaired names underlined."""
    # Made visible as a whole, so that no escape sequence is divided.
    text = source.committed + source.partial
    whole, cut = visible(text), len(visible(source.committed))
    content = Content.assemble((whole[:cut], SOURCE), (whole[cut:], PARTIAL_SOURCE))
    for begin, end in source.repaired:
        content = content.stylize("underline", len(visible(text[:begin])), len(visible(text[:end])))
    return content


class FinishedCaption(WrappedText):
    """A finished caption with its source."""

    def __init__(self, caption: Caption, show_source: bool, source_line: str) -> None:
        super().__init__()
        self.caption = caption
        self._source_line = source_line
        self._show_source = show_source

    def is_before(self, other: FinishedCaption) -> bool:
        """Return whether it is of another track than `other`, and began before it."""
        return self.caption.track != other.caption.track and self.caption.start < other.caption.start

    def contains(self, text: str) -> bool:
        return text.casefold() in f"{self.caption.source}\n{self.caption.text}".casefold()

    def show_source(self, shown: bool) -> None:
        self._show_source = shown
        self.change()

    def wrap(self, width: int) -> list[Content]:
        caption, source = self.caption, self.caption.source
        lines = in_lines(caption_content(caption), width, caption.right_to_left)
        if not self._show_source or not source or caption.untranslated:
            return lines
        repaired = tuple((one.begin, one.end) for one in caption.transcript.repairs)
        of_source = in_lines(source_content(Source(source, "", repaired)), width, reads_right_to_left(source))
        return of_source + lines if self._source_line == "above" else lines + of_source


class History(VerticalScroll):
    """Finished captions, newest last. It follows the end unless the reader scrolled up.

    A reader who scrolled up keeps their caption in view, in any other size of the terminal and when the oldest captions
    go.
    """

    @dataclass
    class Below(Message):
        """The number of captions that came below while the reader was further up."""

        count: int

    def __init__(self, show_source: bool, source_line: str) -> None:
        super().__init__(id="history")
        self._source_line = source_line
        self._lines: list[FinishedCaption] = []
        self._show_source = show_source
        self._is_at_end = True
        self._below = self._most_rows = 0
        self._laid_out = Size()
        """The size in which the reader last scrolled."""
        self._reading: tuple[FinishedCaption, int] | None = None
        """The caption at the top, and how many of its rows are above it; None at the end."""

    def follow(self, rows: int | None = None) -> None:
        """Take the rows of the captions from the top on, and follow the end once they take more than the most.

        `rows` are the most from now on. (Textual's `auto` has a row too many, and its anchor misses where a height
        changes.)
        """
        self._most_rows = self._most_rows if rows is None else rows
        width = self.scrollable_content_region.width - 1
        wanted = sum(len(line.lines(width)) + 1 for line in self._lines)
        self.styles.height = min(wanted, self._most_rows)
        if self._is_at_end and wanted > self._most_rows:
            self.anchor()
        elif self._is_at_end:
            self.release_anchor()

    @property
    def captions(self) -> list[Caption]:
        return [line.caption for line in self._lines]

    async def extend(self, captions: Iterable[Caption]) -> None:
        """Add captions, of two tracks in the order in which their speech began. Return once they are laid out."""
        new = [FinishedCaption(caption, self._show_source, self._source_line) for caption in captions]
        if new and not self._is_at_end:
            self._count_below(self._below + len(new))
        mounting = []
        for line in new:
            later = list(takewhile(line.is_before, reversed(self._lines)))
            mounting.append(self.mount(line, before=later[-1] if later else None))
            self._lines.insert(len(self._lines) - len(later), line)
        self.follow()
        oldest = self._lines[:-HISTORY_CAPTIONS]
        self._lines = self._lines[-HISTORY_CAPTIONS:]
        rows = self._lines[0].virtual_region.y - oldest[0].virtual_region.y if oldest else 0
        for line in oldest:
            await line.remove()
        for mounted in mounting:
            await mounted
        if rows and self._reading:
            self._laid_out = Size()
            self.scroll_to(y=self.scroll_y - rows, animate=False, immediate=True)
            self.call_after_refresh(self._keep_reading)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.size != self._laid_out:
            return  # Another size moved the rows, not the reader.
        self._is_at_end = new_value >= self.max_scroll_y
        if self._is_at_end:
            self._reading = None
            self._count_below(0)
            return
        for line in self._lines:
            if line.virtual_region.bottom > new_value:
                self._reading = line, int(new_value) - line.virtual_region.y
                return

    def on_resize(self) -> None:
        self.call_after_refresh(self._keep_reading)

    def _keep_reading(self) -> None:
        if self._reading and self._reading[0] in self._lines:
            line, above = self._reading
            self.release_anchor()
            rows_above = min(above, max(line.virtual_region.height - 1, 0))
            self._laid_out = Size()
            self.scroll_to(y=line.virtual_region.y + rows_above, animate=False, immediate=True)
        self._laid_out = self.size

    def _count_below(self, count: int) -> None:
        if count != self._below:
            self._below = count
            self.post_message(self.Below(count))

    def show_source(self, shown: bool) -> None:
        self._show_source = shown
        for line in self._lines:
            line.show_source(shown)

    def clear(self) -> None:
        """Remove all captions and follow the end again."""
        self._lines.clear()
        self.remove_children()
        self._count_below(0)
        self._is_at_end, self._reading = True, None
        self.follow()

    async def replace(self, captions: Sequence[Caption]) -> None:
        """Show other captions, the newest in view."""
        self.clear()
        await self.extend(captions[-HISTORY_CAPTIONS:])

    def correct(self, captions: Iterable[Caption]) -> None:
        """Show the new forms of captions that have changed."""
        right = {key_of(caption): caption for caption in captions}
        for line in self._lines:
            if caption := right.get(key_of(line.caption)):
                line.caption = caption
                line.change()
        self.follow()

    def find(self, text: str, before: FinishedCaption | None = None) -> FinishedCaption | None:
        """Scroll to the newest caption that contains the text, of those `before` another one; return it."""
        self.query(".-found").remove_class("-found")
        earlier = takewhile(lambda line: line is not before, self._lines)
        found = next((line for line in reversed(list(earlier)) if line.contains(text)), None)
        if found:
            found.add_class("-found")
            self.release_anchor()
            found.scroll_visible(animate=False, immediate=True)
        return found

    def end_search(self) -> None:
        """Go back to the newest caption and follow it."""
        self.query(".-found").remove_class("-found")
        self.scroll_end(animate=False)


class Search(Input):
    """The box for a text to find in the history. The footer shows its keys while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Find upwards", key_display="enter"),
        Binding("escape", "app.end_search", "Close"),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder="find in captions", compact=True, id="search")
        self.found: FinishedCaption | None = None
        """The caption found last, before which the next is looked for; another text starts at the newest."""

    def on_input_changed(self) -> None:
        self.found = None


class FixedRows(WrappedText):
    """Text in a fixed number of rows; a longer text shows its last page."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._rows = 1
        self._shown = (Content(""), False)

    def show(self, content: Content, right_to_left: bool = False) -> None:
        self._shown = (content, right_to_left)
        self.change(layout=False)

    def set_rows(self, rows: int) -> None:
        """Set the number of rows, for another size of the terminal; 0 hides the text."""
        self._rows, self.styles.height, self.display = max(rows, 1), rows, rows > 0
        self.change(layout=False)

    def wrap(self, width: int) -> list[Content]:
        lines = in_lines(self._shown[0], width, self._shown[1])
        page = max(len(lines) - 1, 0) // self._rows
        return lines[page * self._rows :]


class Current(Vertical):
    """The current captions of a track: source and translation, each in rows of its own."""

    def __init__(self, show_source: bool, source_line: str, track: str | None, *, is_further: bool = False) -> None:
        super().__init__(classes=f"current -{source_line}{' -further' * is_further}")
        self._track = track
        self.show_source, self._source_line = show_source, source_line
        self._source, self._caption = FixedRows("source"), FixedRows("caption")

    def compose(self) -> ComposeResult:
        yield from (self._source, self._caption)[:: 1 if self._source_line == "above" else -1]

    def fit(self, width: int, height: int) -> int:
        """Divide the rows of a pane of at most this width and height in cells; return how many it takes.

        Captions come first: there is a source where three rows of captions fit beside it.
        """
        width = max(min(width, MAXIMUM_WIDTH) - self.gutter.width, 1)
        rows = max(height - self.gutter.height, 1)
        wanted = min(3 if width < 64 else 2, rows // 3) if self.show_source else 0
        source = wanted if rows - wanted >= CAPTION_ROWS else 0
        caption = min(max(ceil(SENTENCE_CELLS / width), CAPTION_ROWS), rows - source)
        self._source.set_rows(source)
        self._caption.set_rows(caption)
        return source + caption + self._caption.styles.margin.height + self.gutter.height

    def show(self, board: Board, waiting: str = "") -> None:
        """Draw the current captions as one text, or the sentence `waiting` where there is none."""
        captions, source = board.captions, board.source()
        self._source.show(source_content(source), reads_right_to_left(source.committed + source.partial))
        if not captions:
            self._caption.show(Content.assemble((track_label(self._track), SOURCE), (waiting, PARTIAL_SOURCE)))
            return
        new_style = NEW_WITHOUT_COLOUR if self.app.no_color else NEW
        text = Content("")
        for caption in captions:
            content = caption_content(caption, new_style, board.standing(caption))
            between = join_text(text.plain, content.plain)[len(text) : -len(content) or None]
            text = Content.assemble(text, between, content)
        self._caption.show(text, captions[0].right_to_left)


class Panes(Vertical):
    """The current captions, of each track in a pane that keeps its place."""

    def __init__(self, tracks: Sequence[str | None], show_source: bool, source_line: str) -> None:
        super().__init__(id="current")
        self._panes = [
            Current(show_source, source_line, track, is_further=number > 0) for number, track in enumerate(tracks)
        ]

    def compose(self) -> ComposeResult:
        yield from self._panes

    def show_source(self, shown: bool) -> None:
        for pane in self._panes:
            pane.show_source = shown

    def fit(self, room: Size) -> int:
        """Divide the rows, `room` is that of captions, history and messages; return how many the panes take."""
        least = min(CAPTION_ROWS, (room.height - 2) // len(self._panes))
        height = max(int(room.height * PANE_SHARE / len(self._panes)), least)
        return sum(pane.fit(room.width, height) for pane in self._panes)

    def show(self, boards: Sequence[Board], waiting: str = "") -> None:
        """Draw what is current on the board of each track; the sentence `waiting` where nothing ever was on any."""
        waiting = "" if any(board.has_shown_text for board in boards) else waiting
        for pane, board in zip(self._panes, boards, strict=True):
            drawn(pane, partial(pane.show, board, waiting), None)
