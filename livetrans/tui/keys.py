"""Every key and what it does, in one table that the footer, the command palette and the help screen read."""

from __future__ import annotations

from collections.abc import Iterator
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
    short: str = ""
    """What the panel says where it has no room for the title; of the commands that are not in the footer."""


COMMANDS = (
    Command("question_mark", "help", "?", "Explain everything", "Keys and numbers, one sentence each.", "Help"),
    Command("q", "stop", "q", "Quit", "The last captions are finished first; a second press quits at once.", "Quit"),
    Command(
        "space",
        "pause",
        "space",
        "Pause or resume",
        "While paused, nothing is heard from a microphone; a file waits.",
        "Pause",
    ),
    Command("s", "source", "s", "Show, hide source", "The recognised text beside each translation.", "Source"),
    Command(
        "a", "calm", "a", "Next calm setting", "Still, balanced or faithful: what may change on the screen.", "Calm"
    ),
    Command(
        "t",
        "target",
        "t",
        "Next caption language",
        "Of those that `--to de,fr` names; from the next sentence on.",
        short="To language",
    ),
    Command(
        "f",
        "spoken",
        "f",
        "Next spoken language",
        "Of those that `--from en,auto` names, and of those detected.",
        short="From language",
    ),
    Command("c", "copy", "c", "Copy last caption", "Or the text selected with the mouse.", "Copy"),
    Command(
        "w",
        "save",
        "w",
        "Save as text",
        "All finished captions of this run, as a text file in the current folder.",
        "Save",
    ),
    Command("p", "panel", "p", "Next panel", "For people, for research, or none; `--panel` sets the first.", "Panel"),
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
    Command(
        "b,comma", "bias(-1)", "b  ,", "Lower the bias", "The translation changes more readily.", short="Lower bias"
    ),
    Command("B,full_stop", "bias(1)", "B  .", "Raise the bias", "The translation changes less.", short="Raise bias"),
    Command(
        "C",
        "copy_all",
        "C",
        "Copy all captions",
        "All captions on the screen, above what is in view too.",
        short="Copy all",
    ),
    Command(
        "ctrl+l",
        "clear",
        "ctrl+l",
        "Clear the screen",
        "The sentence being spoken stays. What is cleared is still saved by w, and in the session.",
        short="Clear",
    ),
)
"""Help and quitting come first, as a narrow footer shows the first ones only."""

LISTED = tuple(command for command in COMMANDS if not (command.footer or command.group))
"""The keys that the panel for people lists: those that the footer has no room for."""


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
    made.append(Binding("ctrl+z", "suspend_process", "Stop the program", show=False, priority=True))
    # Ctrl-C must end the run even while the palette or the help screen is open.
    made.append(Binding("ctrl+c", "stop", "Quit", show=False, priority=True))
    return made


def palette() -> Iterator[tuple[str, str, str]]:
    """Title, meaning and action of every line of the command palette."""
    for command in COMMANDS:
        keys = " or ".join(command.written.split())
        yield command.title, f"{command.meaning} ({keys})", command.action
    for number in {number.label: number for group in GROUPS for number in group.numbers}.values():
        yield f"What is {number.label}?", number.meaning, f"help({number.label!r})"
    yield "Theme", "Change colours: light, dark, the terminal's own.", "change_theme"


class HelpScreen(ModalScreen[None]):
    """Explains keys and numbers, from the number with the label `at` on; any of the usual keys closes it."""

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
            yield from entry("ctrl+z", "Stop the program and its listening; the shell's `fg` continues both.")
            yield from entry("ctrl+p", "Command palette. All of these and every number by name, and themes.")
            explained: set[str] = set()
            for group in GROUPS:
                numbers = [number for number in group.numbers if number.label not in explained]
                explained |= {number.label for number in numbers}
                yield Static(f"Numbers: {group.title.lower()}", classes="heading", markup=False)
                for number in numbers:
                    yield from entry(number.label, number.meaning)

    def on_mount(self) -> None:
        self.call_after_refresh(self._show_asked)

    def _show_asked(self) -> None:
        for asked in self.query(".entry"):
            if asked.name == self._at:
                self.query_one("#help").scroll_to_widget(asked, top=True, animate=False)


def reading() -> Content:
    """How to read the current caption."""
    return Content.assemble(
        "In the last caption, plain words were there in the update before, and ",
        ("underlined words", "underline"),
        " (coloured, where the terminal has colours) are new in this update. In the source, ",
        ("words in italics", "italic"),
        " may still change. A dash means that there is no measurement yet.",
    )


def entry(label: str, sentence: str) -> ComposeResult:
    with Horizontal(classes="entry", name=label):
        yield Static(Content.styled(label, "bold"), classes="label", markup=False)
        yield Static(sentence, classes="text", markup=False)
