"""Copying by the program of the desktop, or by the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from livetrans.tui import clipboard
from livetrans.tui.clipboard import clipboard_program, copy_text


@pytest.mark.parametrize(
    ("environment", "platform", "command"),
    [
        ({}, "darwin", "pbcopy"),
        ({"SSH_CONNECTION": "1"}, "darwin", None),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", "wl-copy"),
        ({"DISPLAY": ":0"}, "linux", "xclip"),
        ({}, "linux", None),
    ],
)
def test_the_program_of_the_desktop(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], platform: str, command: str | None
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    found = clipboard_program(environment, platform)
    assert (found and found[0]) == command
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert clipboard_program(environment, platform) is None


@pytest.mark.parametrize(("script", "says"), [("cat > {}", "copied"), ("exit 1", "sent to the terminal")])
def test_what_is_said_is_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    target, sent = tmp_path / "clipboard", []
    command = ["sh", "-c", script.format(target)]
    monkeypatch.setattr(clipboard, "clipboard_program", lambda: command)
    assert says in copy_text("Grüße", "last caption", sent.append)
    assert (target.read_text() if target.exists() else sent[0]) == "Grüße"
