"""Messages: they move nothing, none is lost, and a warning stands until it was read or is not true any more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.text import display_width
from livetrans.events import Notice
from livetrans.models.chosen import LIMIT
from livetrans.tui import status as module
from livetrans.tui.status import Messages
from tests.tui.scripted import Stage, caption, conversation, ended, on_stage

pytestmark = pytest.mark.asyncio

DISK_FULL = Notice("warning", "The disk is full: this session is not recorded any more.")
ZEROS = Notice(
    "warning",
    "The microphone gives nothing but zeros: it is muted, or this terminal may not use it; allow it in System "
    "Settings, Privacy & Security, Microphone, and start again.",
)
SIZES = [(160, 50), (80, 24), (60, 12), (40, 10), (20, 5)]


def rows_of_captions(stage: Stage) -> list[str]:
    """What stands above the row of messages, without panel and scrollbar."""
    captions = stage.app.query_one("#captions").region
    return [line[: captions.width - 2] for line in stage.lines[1 : captions.bottom - 1]]


@pytest.mark.parametrize("sizes", [SIZES[1::2], pytest.param(SIZES[::2], marks=pytest.mark.long)])
async def test_no_message_moves_a_caption(sizes: list[tuple[int, int]]) -> None:
    async with on_stage(*conversation()) as stage:
        for size in sizes:
            await stage.resize(*size)
            before = rows_of_captions(stage)
            for event in (Notice("info", "The microphone is back."), ZEROS, DISK_FULL):
                await stage.play(event)
                assert rows_of_captions(stage) == before
            for keys in (["c"], ["v"], ["slash", "§", "enter"], ["escape"], ["n"], ["escape"]):
                await stage.press(*keys)
                if keys != ["n"]:
                    assert rows_of_captions(stage) == before, keys


async def test_the_answer_to_a_key_does_not_remove_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)
    async with on_stage(*conversation(), DISK_FULL) as stage:
        assert "! The disk is full" in stage.text
        await stage.press("s")
        assert "! The disk is full" in stage.text
        while "source hidden" in stage.text:
            await stage.pilot.pause(0.01)
        assert "! The disk is full" in stage.text


@pytest.mark.parametrize("size", [SIZES[0], *(pytest.param(size, marks=pytest.mark.long) for size in SIZES[1:-1])])
async def test_the_newest_warning_is_shown_and_a_key_shows_all_of_each(size: tuple[int, int]) -> None:
    async with on_stage(*conversation(), DISK_FULL, ZEROS, ended(), size=size) as stage:
        shown = stage.lines[stage.app.query_one("#messages").region.y]
        assert "! The microphone" in shown and ("n: 2 warnings" in shown or size[0] < 80)
        assert "end of file" in shown or size[0] < 160
        await stage.press("n")
        sheet = stage.app.screen.query_one("#sheet")
        found = stage.unframed
        for _ in range(sheet.max_scroll_y):
            await stage.press("down")
            found += " " + stage.unframed
        assert "start again." in found and "any more." in found
        await stage.press("escape")
        assert "!" not in stage.lines[stage.app.query_one("#messages").region.y], "they were read"


async def test_a_warning_ends_when_it_is_not_true_any_more() -> None:
    waits = Notice("warning", "'zoom' plays nothing yet.", "output")
    async with on_stage(*conversation(), waits, DISK_FULL) as stage:
        await stage.press("n")
        await stage.play(waits)
        await stage.press("escape")
        assert "plays nothing yet" in stage.text
        await stage.play(Notice("info", "'zoom' is playing now.", "output"))
        assert "plays nothing yet" not in stage.text and "is playing now" in stage.text


async def test_a_fact_that_the_top_bar_says_throughout_is_in_the_row_for_some_seconds_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)
    notice = Notice("warning", "The bundled recogniser understands synthetic voices only.", LIMIT)
    async with on_stage(*conversation(), notice, limit="synthetic voices only", size=(120, 30)) as stage:
        while stage.text.count("synthetic voices only") != 1:
            await stage.pilot.pause(0.01)
        await stage.press("n")
        assert notice.text in stage.unframed


SAID = st.one_of(
    st.builds(
        Notice,
        st.sampled_from(["info", "warning", "error"]),
        st.text("ab \u6f22\u0301", min_size=1, max_size=90),
        st.sampled_from([None, "output"]),
    ),
    st.text("xy ", max_size=40),
)


@given(said=st.lists(SAID, max_size=8), width=st.integers(12, 120))
async def test_the_row_is_one_row_and_shows_the_newest_warning(said: list[Any], width: int) -> None:
    messages = Messages()
    for one in said:
        if isinstance(one, Notice):
            messages.add(one)
        else:
            messages.answer = one
        row = messages.row(width).plain
        assert "\n" not in row and display_width(row) <= width
        assert row.startswith("!") == bool(messages.warnings)
    assert [one for one in said if isinstance(one, Notice)] == list(messages.said)


@pytest.mark.parametrize(
    "drawing",
    [
        "panel.draw",
        "captions.caption_content",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("panel.strip_text", "status.top_row")),
    ],
)
async def test_a_widget_that_cannot_draw_shows_nothing_and_the_run_goes_on(
    drawing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_positional: object, **_named: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(f"livetrans.tui.{drawing}", fail)
    async with on_stage(*conversation(), size=(120, 40)) as stage:
        await stage.play(caption(7, "Danach.", final=True), caption(8, "Und weiter"))
        assert not stage.leaving and len(stage.app.not_drawn) >= (drawing != "panel.strip_text")
        assert "captions" in drawing or "Danach." in stage.text
        await stage.press("n")
        assert "ZeroDivisionError: a fault" in stage.unframed or drawing == "panel.strip_text"
        stage.app.not_drawn.clear()
