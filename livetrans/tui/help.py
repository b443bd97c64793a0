"""The help screen: one sentence for each key and each number."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from livetrans.tui.commands import COMMANDS
from livetrans.tui.numbers import GROUPS


class HelpScreen(ModalScreen[None]):
    """Explains keys and numbers; any of the usual keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as page:
            page.border_title = "Help"
            page.border_subtitle = "esc closes · arrows scroll"
            yield Static("Captions", classes="heading", markup=False)
            yield Static(reading(), id="reading", markup=False)
            yield Static("Keys", classes="heading", markup=False)
            for command in COMMANDS:
                yield from entry(command.written, f"{command.title}. {command.meaning}")
            yield from entry("ctrl+p", "Command palette. All of these by name, and themes.")
            for group in GROUPS:
                yield Static(group.title, classes="heading", markup=False)
                for number in group.numbers:
                    yield from entry(number.label, number.meaning)


def reading() -> Content:
    """How to read the current caption."""
    return Content.assemble(
        "In the last caption, plain words were kept from the draft and ",
        ("bold words", "bold"),
        " are new in this update. In the source, ",
        ("slanted words", "italic"),
        " may still change. A dash means: not measured yet.",
    )


def entry(label: str, sentence: str) -> ComposeResult:
    with Horizontal(classes="entry"):
        yield Static(Content.styled(label, "bold"), classes="label", markup=False)
        yield Static(sentence, classes="text", markup=False)
