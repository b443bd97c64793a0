"""The help: how to read a caption, every key and every number, one sentence each."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from livetrans.tui.keys import COMMANDS
from livetrans.tui.numbers import GROUPS


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
            yield Static("Captions", classes="heading", markup=False)
            yield Static(reading(), id="reading", markup=False)
            yield Static("Keys", classes="heading", markup=False)
            for command in COMMANDS:
                yield from entry(command.written, f"{command.title}. {command.meaning}")
            yield from entry("page up/down", "Scroll the captions. End goes back to the newest and follows them again.")
            yield from entry("ctrl+z", "Suspends livetrans; `fg` in the shell resumes it.")
            yield from entry("ctrl+p", "Command palette. All of these and every number by name, and themes.")
            explained: set[str] = set()
            for group in GROUPS:
                numbers = [number for number in group.numbers if number.label not in explained]
                explained |= {number.label for number in numbers}
                yield Static(f"Numbers: {group.title.lower()}", classes="heading", markup=False)
                for number in numbers:
                    yield from entry(number.label, number.meaning)

    def on_mount(self) -> None:
        self.call_after_refresh(self._scroll_to_entry)

    def _scroll_to_entry(self) -> None:
        for row in self.query(".entry"):
            if row.name == self._at:
                self.query_one("#help").scroll_to_widget(row, top=True, animate=False)


def reading() -> Content:
    """Return the text on how to read the current caption."""
    return Content.assemble(
        "In the last caption, plain words were there in the update before, and ",
        ("underlined words", "underline"),
        " (coloured, where the terminal has colours) are new in this update. In the source, ",
        ("words in italics", "italic"),
        " may still change. A dash means that there is no measurement yet.",
    )


def entry(label: str, sentence: str) -> ComposeResult:
    """Yield a row of the help; what stands between backquotes in the sentence is typed, and bold."""
    parts = [(part, "bold" if index % 2 else "") for index, part in enumerate(sentence.split("`"))]
    with Horizontal(classes="entry", name=label):
        yield Static(Content.styled(label, "bold"), classes="label", markup=False)
        yield Static(Content.assemble(*parts), classes="text", markup=False)
