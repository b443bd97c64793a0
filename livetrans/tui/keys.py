"""Every key and what it does, in one table that the footer, the command palette and the help screen read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from livetrans.tui.numbers import GROUPS


@dataclass(frozen=True, slots=True)
class Command:
    """An action of the screen."""

    keys: str
    """Textual's key names, separated by commas."""
    action: str
    written: str
    """The keys as the help shows them."""
    title: str
    """Plain name, for the palette and the help screen."""
    meaning: str
    footer: str = ""
    """Word in the footer; empty leaves the command out of it."""
    group: str = ""
    """Commands of a group share one word in the footer."""


COMMANDS = (
    Command("space", "pause", "space", "Pause or resume", "Sound is ignored while paused.", "Pause"),
    Command("s", "source", "s", "Show or hide the source", "The recognised text above each translation.", "Source"),
    Command(
        "a", "calm", "a", "Next calm setting", "Still, balanced or faithful: what may change on the screen.", "Calm"
    ),
    Command(
        "m,left_square_bracket",
        "mask(-1)",
        "m  [",
        "Mask fewer tokens",
        "Captions come sooner and flicker more.",
        group="Mask",
    ),
    Command(
        "M,right_square_bracket",
        "mask(1)",
        "M  ]",
        "Mask more tokens",
        "Captions come later and are calmer.",
        group="Mask",
    ),
    Command("b,comma", "bias(-1)", "b  ,", "Lower the bias", "The translation changes more readily."),
    Command("B,full_stop", "bias(1)", "B  .", "Raise the bias", "The translation changes less."),
    Command("c", "copy", "c", "Copy the last caption", "Or the text selected with the mouse.", "Copy"),
    Command("C", "copy_all", "C", "Copy all captions", "Everything in the history on the screen."),
    Command("w", "save", "w", "Save the transcript", "As a text file in the current folder.", "Save"),
    Command("ctrl+l", "clear", "ctrl+l", "Clear the screen", "The session still has everything."),
    Command("p", "panel", "p", "Show or hide the numbers", "The panel beside the captions.", "Panel"),
    Command("question_mark", "help", "?", "Explain keys and numbers", "One sentence each.", "Help"),
    Command("q", "stop", "q", "Quit", "The last captions are finished first; a second press quits at once.", "Quit"),
)


def bindings() -> list[BindingType]:
    """The commands as Textual's bindings."""
    groups = {name: Binding.Group(name, compact=True) for name in ("Mask",)}
    made: list[BindingType] = []
    for command in COMMANDS:
        first, *others = command.keys.split(",")
        made.append(
            Binding(
                first,
                command.action,
                command.footer or command.title,
                show=bool(command.footer or command.group),
                group=groups.get(command.group),
                key_display=command.written.split()[0],
            )
        )
        made += [Binding(key, command.action, command.title, show=False) for key in others]
    # Ctrl-C must end the run even while the palette or the help screen is open.
    made.append(Binding("ctrl+c", "stop", "Quit", show=False, priority=True))
    return made


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
        "In the last caption, plain words were accepted from the draft and ",
        ("underlined words", "underline"),
        " (coloured, where the terminal has colours) are new in this update. In the source, ",
        ("words in italics", "italic"),
        " may still change. A dash means that there is no measurement yet.",
    )


def entry(label: str, sentence: str) -> ComposeResult:
    with Horizontal(classes="entry"):
        yield Static(Content.styled(label, "bold"), classes="label", markup=False)
        yield Static(sentence, classes="text", markup=False)
