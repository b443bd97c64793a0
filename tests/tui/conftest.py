"""The tests of the screen leave the clipboard of the machine alone, and wait for messages instead of the clock."""

from __future__ import annotations

import asyncio

import pytest

from livetrans.tui import keys


@pytest.fixture(autouse=True)
def no_clipboard_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "clipboard_program", lambda: None)


@pytest.fixture(autouse=True)
def no_wait_for_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a pressed key be handled, without waiting until the processor idles: `settle` waits for the screen."""

    async def handle_messages(*_: float) -> None:
        await asyncio.sleep(0.001)

    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", handle_messages)
