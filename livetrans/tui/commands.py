"""Every key and what it does, in one table: the footer, the command palette and the help screen read it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Command:
    """An action of the screen."""

    keys: str
    """Textual's key names, separated by commas."""
    action: str
    written: str
    """The keys as a person writes them."""
    title: str
    """Plain name, for the palette and the help screen."""
    meaning: str
    footer: str = ""
    """Word in the footer; empty leaves the command out of it."""
    group: str = ""
    """Commands of a group share one word in the footer."""


COMMANDS = (
    Command("space", "pause", "space", "Pause or resume", "Sound isn't heard while paused.", "Pause"),
    Command("s", "source", "s", "Show or hide the source", "The recognised words above each translation.", "Source"),
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
        "b,comma", "bias(-1)", "b  ,", "Lower the bias", "The translation corrects itself more readily.", group="Bias"
    ),
    Command("B,full_stop", "bias(1)", "B  .", "Raise the bias", "The translation keeps to what it said.", group="Bias"),
    Command("c", "copy", "c", "Copy the last caption", "Or the text selected with the mouse.", "Copy"),
    Command("C", "copy_all", "C", "Copy all captions", "Everything in the history on the screen."),
    Command("w", "save", "w", "Save the transcript", "As a text file in the current folder.", "Save"),
    Command("ctrl+l", "clear", "ctrl+l", "Clear the screen", "The session file keeps everything."),
    Command("p", "panel", "p", "Show or hide the numbers", "The panel beside the captions.", "Panel"),
    Command("question_mark", "help", "?", "Explain keys and numbers", "One sentence each.", "Help"),
    Command("q", "stop", "q", "Quit", "What was heard is finished first; a second time quits at once.", "Quit"),
)


def bindings() -> list[BindingType]:
    """The commands as Textual's bindings."""
    groups = {name: Binding.Group(name, compact=True) for name in ("Mask", "Bias")}
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
