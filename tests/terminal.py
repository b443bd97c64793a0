"""A terminal for what draws on standard error."""

from __future__ import annotations

import io

import pytest


class Terminal(io.StringIO):
    """Keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def as_standard_error(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal of 80 columns without colours; called in the test, as pytest captures it anew."""
    for name, value in {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    return terminal
