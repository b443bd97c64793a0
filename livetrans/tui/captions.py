"""Captions: the history, which scrolls, and the current one in a region whose height only grows."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from livetrans.events import DRAFT_MODEL, Caption, Span
from livetrans.text import (
    END_ISOLATE,
    RIGHT_TO_LEFT,
    display_width,
    has_unspaced_script,
    line_spans,
    reads_right_to_left,
    visible,
)

HISTORY_CAPTIONS = 500
"""Most captions in the history: memory must not grow with the hours, and the session has them all."""

SOURCE, PARTIAL_SOURCE = "dim", "dim italic"
"""Committed and partial source; dim rather than a colour, because it has to work without colour too."""

UNTRANSLATED = ">"
"""Stands before text that is shown as it was heard."""

NEW, NEW_WITHOUT_COLOUR = "$text-accent", "underline"
"""What is new in an update; text accepted from a draft stays plain (Table 7 of arXiv 2509.21740v2)."""


def caption_content(caption: Caption, new_style: str) -> Content:
    """A caption's text, new in `new_style` but for what was accepted from the previous output.

    What a draft model proposed and the translator accepted is new to the reader too; it is in italics.
    """
    text = visible(caption.text)
    if caption.untranslated and text:
        return Content.assemble((f"{UNTRANSLATED} ", SOURCE), text)
    parts: list[str | tuple[str, str]] = []
    shown = 0
    for span in (*caption.accepted, Span(len(caption.text), len(caption.text))):
        # A span that ends inside an escape sequence must not repeat what an earlier one has shown.
        begin = max(shown, len(visible(caption.text[: span.begin])))
        end = max(begin, len(visible(caption.text[: span.end])))
        accepted = (text[begin:end], f"{new_style} italic") if span.draft == DRAFT_MODEL else text[begin:end]
        parts += [(text[shown:begin], new_style), accepted]
        shown = end
    return Content.assemble(*parts)


def source_content(committed: str, partial: str) -> Content:
    """A source line, the part that may still change in italics."""
    committed, partial = visible_parts(committed + partial, len(committed))
    return Content.assemble((committed, SOURCE), (partial, PARTIAL_SOURCE))


def visible_parts(text: str, cut: int) -> tuple[str, str]:
    """The text before and after `cut`, made visible as a whole, so that no escape sequence is divided."""
    whole = visible(text)
    cut = len(visible(text[:cut]))
    return whole[:cut], whole[cut:]


def in_lines(content: Content, width: int, right_to_left: bool) -> Content:
    """The content broken into lines of `width` columns where Textual would break it wrongly.

    Textual breaks Thai inside letters. A line from right to left ends at the right edge, and is a directional isolate,
    because terminals take the lines of a screen for lines from left to right. Without a width nothing is changed.
    """
    text = content.plain
    if not width or not (right_to_left or has_unspaced_script(text)):
        return content
    lines = [content[begin:end] for begin, end in line_spans(text, width)]
    if right_to_left:
        margins = [" " * (width - display_width(line.plain)) for line in lines]
        lines = [
            Content.assemble(margin, RIGHT_TO_LEFT, line, END_ISOLATE)
            for margin, line in zip(margins, lines, strict=True)
        ]
    return Content("\n").join(lines)


class Line(Static):
    """A finished caption with its source."""

    def __init__(self, caption: Caption, show_source: bool, source_line: str) -> None:
        self.caption = caption
        self._source_line = source_line
        self._show_source = show_source
        self._width = 0
        super().__init__(self._content(), markup=False)

    def show_source(self, shown: bool) -> None:
        self._show_source = shown
        self.update(self._content())

    def on_resize(self) -> None:
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self.update(self._content())

    def _content(self) -> Content:
        caption, source = self.caption, self.caption.source
        text = in_lines(caption_content(caption, ""), self._width, caption.right_to_left)
        if not self._show_source or not source or caption.untranslated:
            return text
        both = (in_lines(source_content(source, ""), self._width, reads_right_to_left(source)), text)
        return Content("\n").join(both if self._source_line == "above" else reversed(both))


class History(VerticalScroll):
    """Finished captions, newest last; follows the end unless the reader scrolled up."""

    def __init__(self, show_source: bool, source_line: str) -> None:
        super().__init__(id="history")
        self._source_line = source_line
        self._lines: list[Line] = []
        self._show_source = show_source

    def on_mount(self) -> None:
        self.anchor()

    @property
    def captions(self) -> list[Caption]:
        return [line.caption for line in self._lines]

    def extend(self, captions: Iterable[Caption]) -> None:
        new = [Line(caption, self._show_source, self._source_line) for caption in captions]
        if not new:
            return
        self._lines += new
        self.mount(*new)
        surplus = self._lines[:-HISTORY_CAPTIONS]
        if surplus:
            del self._lines[: len(surplus)]
            for line in surplus:
                line.remove()

    def show_source(self, shown: bool) -> None:
        self._show_source = shown
        for line in self._lines:
            line.show_source(shown)

    def clear(self) -> None:
        self._lines.clear()
        self.remove_children()


class Steady(Static):
    """Text whose region grows but does not shrink until `settle`, so that nothing above it moves."""

    def __init__(self, least: int, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._least = least
        self._width = 0
        self._shown = (Content(""), False)
        self.styles.min_height = least

    def show(self, content: Content, right_to_left: bool = False) -> None:
        """Draw `content`; lay the screen out anew only for more lines, as that costs a pass over the history."""
        self._shown = (content, right_to_left)
        content = in_lines(content, self.content_size.width, right_to_left)
        grows = self._width == 0 or content.get_height({}, self._width) > self.size.height
        self.update(content, layout=grows)

    def settle(self) -> None:
        """Shrink to the least height: another segment begins."""
        self.styles.min_height = self._least

    def on_resize(self, event: Resize) -> None:
        if event.size.width != self._width:
            self._width = event.size.width
            self.settle()
            self.update(in_lines(self._shown[0], self.content_size.width, self._shown[1]))
        elif event.size.height > self._least:
            self.styles.min_height = event.size.height


class Current(VerticalScroll, can_focus=False):
    """The current caption: source and translation; where it is too high its end stays in view."""

    def __init__(self, show_source: bool, source_line: str) -> None:
        super().__init__(id="current", classes=f"-{source_line}")
        self._source_line = source_line
        self._source = Steady(1, id="source")
        # Above the source it takes the height of its text, as lines kept free for it would part the two; the style
        # sheet keeps them free below both.
        self._caption = Steady(3 if source_line == "above" else 1, id="caption")
        self._source.display = show_source
        self._segment_id: int | None = None

    def compose(self) -> ComposeResult:
        yield Vertical(*(self._source, self._caption)[:: 1 if self._source_line == "above" else -1], id="lines")

    def on_mount(self) -> None:
        self.anchor()

    def show(self, caption: Caption | None, source: tuple[str, str], waiting: str = "") -> None:
        """Draw the current caption, or the sentence `waiting` where there is none."""
        segment_id = None if caption is None else caption.segment_id
        if segment_id != self._segment_id:
            self._segment_id = segment_id
            self._source.settle()
            self._caption.settle()
        self._source.show(source_content(*source), reads_right_to_left("".join(source)))
        if caption is None:
            self._caption.show(Content.styled(waiting, PARTIAL_SOURCE))
        else:
            new_style = NEW_WITHOUT_COLOUR if self.app.no_color else NEW
            self._caption.show(caption_content(caption, new_style), caption.right_to_left)

    def show_source(self, shown: bool) -> None:
        self._source.display = shown
        # While it was hidden its text changed without being laid out.
        self._source.refresh(layout=True)
