"""Pictures of the screen; `pytest --snapshot-update` draws them anew after a wanted change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livetrans.config import OutputSettings
from livetrans.events import Event, Notice
from livetrans.metrics.monitor import Snapshot
from livetrans.tui.app import LivetransApp
from tests.tui.scripted import FULL, Screenplay, caption, conversation, ended, make_app, settle

Compare = Callable[..., bool]


def still(*events: Event, snapshot: Snapshot = FULL, **output: str) -> LivetransApp:
    return make_app(Screenplay(*events), snapshot=snapshot, output=OutputSettings(**output))  # type: ignore[arg-type]


def at_the_end() -> list[Event]:
    source = "The water came up to the second step of my house before midnight."
    text = "Das Wasser stand vor Mitternacht bis zur zweiten Stufe meines Hauses."
    return [*conversation(), caption(5, text, final=True, source=source, committed=source), ended()]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 60)])
def test_captions(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(*conversation()), run_before=settle, terminal_size=size)


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
def test_themes(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(still(*conversation(), theme=theme), run_before=settle, terminal_size=(80, 24))


def test_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(still(*conversation()), run_before=settle, terminal_size=(80, 24))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
def test_research_panel(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(*conversation(), panel="research"), run_before=settle, terminal_size=size)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(*conversation()), run_before=settle, press=["question_mark"], terminal_size=size)


def test_loading(snap_compare: Compare) -> None:
    app = still(Notice("info", "loading the translator ..."), snapshot=Snapshot())
    assert snap_compare(app, run_before=settle, terminal_size=(80, 24))


def test_after_the_end(snap_compare: Compare) -> None:
    assert snap_compare(still(*at_the_end()), run_before=settle, terminal_size=(80, 24))
