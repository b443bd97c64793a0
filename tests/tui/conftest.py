"""The tests of the screen leave the clipboard of the machine alone."""

from __future__ import annotations

import pytest

from livetrans.tui import clipboard


@pytest.fixture(autouse=True)
def no_clipboard_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "program", lambda: None)
