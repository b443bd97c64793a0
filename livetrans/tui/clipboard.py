"""Copy text to the clipboard by the desktop's own program if there is one, otherwise by the terminal (OSC 52)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

ANSWER_SECONDS = 2.0
"""Longest wait for a clipboard program, which answers at once if it works."""


def clipboard_program(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[str] | None:
    """Return the command that copies its input to the user's clipboard; None if there is none, as over SSH."""
    if "SSH_CONNECTION" in environment:
        return None  # Its clipboard is that of the far machine.
    candidates = {
        "pbcopy": (["pbcopy"], platform == "darwin"),
        "wl-copy": (["wl-copy"], "WAYLAND_DISPLAY" in environment),
        "xclip": (["xclip", "-selection", "clipboard"], "DISPLAY" in environment),
    }
    return next((command for name, (command, fits) in candidates.items() if fits and shutil.which(name)), None)


def copy_text(text: str, what: str, to_terminal: Callable[[str], None]) -> str:
    """Copy the text; return a sentence that says what was done with `what`, and promises no more."""
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
