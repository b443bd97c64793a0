"""The help: how to read a caption, every key and every number, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from livetrans.tui.captions import in_lines
from livetrans.tui.keys import COMMANDS
from livetrans.tui.numbers import GROUPS

LABEL_WIDTH = 15

READING = Content.assemble(
    "In the last caption, plain words were kept from the translation before, of which the last were hidden, and ",
    ("underlined words", "underline"),
    " (coloured, where the terminal has colours) were written by this update. In the source, ",
    ("words in italics", "italic"),
    " may still change. A dash means that there is no measurement yet.",
)


class HelpScreen(ModalScreen[None]):
    """The explanations of keys and numbers, from the number with the label `at` on; any of the usual keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter", "dismiss", "Close")]
    AUTO_FOCUS = "#help"

    def __init__(self, at: str = "") -> None:
        super().__init__()
        self._at = at

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as page:
            page.border_title = "Help"
            page.border_subtitle = "esc closes · arrows scroll"
            yield Explanations(self._at)


class Explanations(Static):
    """The text of the help. Its lines depend on its width, which it knows when it is laid out."""

    def __init__(self, at: str) -> None:
        super().__init__(markup=False)
        self._at = at
        self._width = 0

    def on_resize(self) -> None:
        if self.content_size.width == self._width:
            return
        is_first, self._width = not self._width, self.content_size.width
        content, rows = draw(self._width)
        self.update(content)
        if is_first:
            page = self.screen.query_one("#help")
            self.call_after_refresh(page.scroll_to, y=rows.get(self._at, 0), animate=False)


def draw(width: int) -> tuple[Content, dict[str, int]]:
    """Return the help in lines of `width` cells, and the row at which each label stands.

    It is one text, because a widget for each entry takes half a second to open.
    """
    lines = [*heading("Captions"), *in_lines(READING, width, right_to_left=False)]
    rows: dict[str, int] = {}
    for title, entries in sections():
        lines += heading(title)
        for label, sentence in entries:
            rows[label] = len(lines)
            # What stands between backquotes is typed.
            parts = [(part, "bold" if index % 2 else "") for index, part in enumerate(sentence.split("`"))]
            wrapped = in_lines(Content.assemble(*parts), max(width - LABEL_WIDTH, 1), right_to_left=False)
            for number, line in enumerate(wrapped):
                start = "" if number else label
                lines.append(Content.assemble((start.ljust(LABEL_WIDTH), "bold"), line))
    return Content("\n").join(lines), rows


def heading(title: str) -> list[Content]:
    return [Content(""), Content.styled(title, "bold $loud")]


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the headings, each with its entries: a label and a sentence."""
    yield (
        "Keys",
        [
            *((command.keys, f"{command.title}. {command.meaning}") for command in COMMANDS),
            ("page up/down", "Scroll the captions. End goes back to the newest and follows them again."),
            ("ctrl+z", "Suspends livetrans; `fg` in the shell resumes it."),
            ("ctrl+p", "Command palette. All of these and every number by name, and themes."),
        ],
    )
    explained: set[str] = set()
    for group in GROUPS:
        numbers = [number for number in group.numbers if number.label not in explained]
        explained |= {number.label for number in numbers}
        yield f"Numbers: {group.title.lower()}", [(number.label, number.meaning) for number in numbers]
