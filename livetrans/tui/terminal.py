"""What a terminal shows and takes: colours that can be read in every theme, and text for the clipboard.

The themes' own colours cannot all be read: in some, the footer and what is meant to be quiet have a contrast of 1 to 3,
and a terminal may show 256 colours only. Text goes to the clipboard by the desktop's own program where there is one,
otherwise by the terminal (OSC 52).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

from rich.color import ColorSystem
from textual.color import Color

TEXT_CONTRAST = 4.5
"""Least contrast of text (WCAG 2.2, success criterion 1.4.3)."""
RULE_CONTRAST = 2.0
"""Least contrast of rules and of the scrollbar, which carry no meaning of their own."""

WANTED = {
    "plain": ("foreground", 0.0, TEXT_CONTRAST),
    "quiet": ("foreground", 0.4, TEXT_CONTRAST),
    "loud": ("accent", 0.0, TEXT_CONTRAST),
    "good": ("success", 0.0, TEXT_CONTRAST),
    "caution": ("warning", 0.0, TEXT_CONTRAST),
    "fault": ("error", 0.0, TEXT_CONTRAST),
    "rule": ("foreground", 0.75, RULE_CONTRAST),
}
"""Our variable of the style sheet, the theme's colour, how far it is blended with the background, and its contrast."""


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2)."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: Color) -> float:
    """Return the relative luminance of an opaque colour, 0 to 1 (WCAG 2.2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def in_256(color: Color) -> Color:
    """Return what a terminal with 256 colours shows."""
    return Color.from_rich_color(Color.parse(color.hex6).rich_color.downgrade(ColorSystem.EIGHT_BIT))


def least_contrast(color: Color, background: Color) -> float:
    """Return the lower of the contrasts with all colours and with 256 of them."""
    return min(contrast(color, background), contrast(in_256(color), in_256(background)))


def readable(variables: Mapping[str, str]) -> dict[str, str]:
    """Return our variables of the style sheet from a theme's: each near the theme's colour, and with its contrast."""
    backgrounds = [Color.parse(variables[name]) for name in ("background", "surface")]
    if any(background.ansi is not None for background in backgrounds):
        # The terminal's own sixteen colours: nobody but the user knows them.
        muted = variables["text-muted"]
        return {name: muted if blend else variables[source] for name, (source, blend, _) in WANTED.items()}
    behind = backgrounds[0]
    end = max((Color.parse("black"), Color.parse("white")), key=lambda color: contrast(color, behind))
    made = {}
    for name, (source, blend, least) in WANTED.items():
        color = Color.parse(variables[source]).blend(behind, blend, 1.0)
        steps = (color.blend(end, step / 20, 1.0) for step in range(21))
        made[name] = next(
            (step for step in steps if min(least_contrast(step, one) for one in backgrounds) >= least), end
        ).hex6
    return made


ANSWER_SECONDS = 2.0
"""Longest wait for a clipboard program, which answers at once where it works."""


def clipboard_program(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[str] | None:
    """Return the command that takes a text for the user's clipboard; None where there is none, as over SSH."""
    if "SSH_CONNECTION" in environment:
        return None  # Its clipboard is that of the far machine.
    candidates = {
        "pbcopy": (["pbcopy"], platform == "darwin"),
        "wl-copy": (["wl-copy"], "WAYLAND_DISPLAY" in environment),
        "xclip": (["xclip", "-selection", "clipboard"], "DISPLAY" in environment),
    }
    return next((command for name, (command, fits) in candidates.items() if fits and shutil.which(name)), None)


def copy_text(text: str, what: str, to_terminal: Callable[[str], None]) -> str:
    """Copy the text; return the sentence that says what was done with `what`, and no more than that."""
    command = clipboard_program()
    if command:
        try:
            # wl-copy and xclip leave a process that holds the text: with a pipe to it, one would wait for its end.
            subprocess.run(
                command,
                input=text.encode(),
                check=True,
                timeout=ANSWER_SECONDS,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            return f"{what} copied"
        except (OSError, subprocess.SubprocessError):
            pass
    to_terminal(text)
    return f"{what} sent to the terminal; not every terminal puts it on the clipboard"
