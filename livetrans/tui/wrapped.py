"""Text that is broken into lines for the width it gets, and the pages that open above the captions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget

from livetrans.base.text import END_ISOLATE, RIGHT_TO_LEFT, display_width, line_spans

Drawn = TypeVar("Drawn")


@dataclass
class NotDrawn(Message):
    """A widget failed to draw what it has."""

    widget: str
    fault: Exception


def drawn(widget: Widget, draw: Callable[[], Drawn], nothing: Drawn) -> Drawn:
    """Return what `draw` returns; `nothing` where it fails, and the app says so: one widget must not end a run."""
    try:
        return draw()
    except Exception as fault:  # Whatever it is.
        # Not by way of the widget: what the screen sends while it draws would end at the screen.
        widget.app.post_message(NotDrawn(type(widget).__name__, fault))
        return nothing


def in_lines(content: Content, width: int, right_to_left: bool = False) -> list[Content]:
    """Return the content in lines of `width` columns.

    Textual breaks Thai inside letters, so it does not do this. A line that reads from right to left ends at the right
    edge and is a directional isolate, because terminals take all lines for left to right.
    """
    lines = [content[begin:end] for begin, end in line_spans(content.plain, width)]
    if not right_to_left:
        return lines
    margins = [" " * (width - display_width(line.plain)) for line in lines]
    return [
        Content.assemble(margin, RIGHT_TO_LEFT, line, END_ISOLATE) for margin, line in zip(margins, lines, strict=True)
    ]


class WrappedText(Widget):
    """A text whose lines follow from its width alone: no size that it had before leaves a trace."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._wrapped: tuple[int, list[Content]] = (0, [])

    @abstractmethod
    def wrap(self, width: int) -> list[Content]:
        """Return the lines for this width in cells."""

    def change(self, *, layout: bool = True) -> None:
        """Draw the text again; `layout` if it may need another number of rows."""
        self._wrapped = (0, [])
        self.refresh(layout=layout)

    def lines(self, width: int) -> list[Content]:
        if width != self._wrapped[0]:
            nothing: list[Content] = []
            self._wrapped = (width, drawn(self, lambda: self.wrap(width), nothing) if width > 0 else nothing)
        return self._wrapped[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def render(self) -> Content:
        return Content("\n").join(self.lines(self.content_size.width))


class Sheet(ModalScreen[None]):
    """A page above the captions. Any key that opens or closes one closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter,question_mark,n,r", "dismiss", "Close")]
    AUTO_FOCUS = "#sheet"
    HEADING = ""

    @abstractmethod
    def body(self) -> ComposeResult:
        """Yield the widgets of the page."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="sheet") as page:
            page.border_title = self.HEADING
            page.border_subtitle = "esc closes · arrows scroll"
            yield from self.body()
