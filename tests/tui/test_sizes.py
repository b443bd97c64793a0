"""Another size of the terminal, and the ways about in the history: what was on the screen comes back."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from livetrans.tui import captions as module
from livetrans.tui.captions import History
from tests.tui.scripted import SENTENCES, Stage, caption, conversation, drawn_rows, finals, on_stage, settle, started

pytestmark = pytest.mark.asyncio

SIZES = st.tuples(st.integers(20, 180), st.integers(5, 60))


def top(stage: Stage) -> str:
    """The first words of the history that are in view."""
    rows = drawn_rows(stage.app)
    return rows[min(rows)]


def shown(stage: Stage) -> str:
    """The screen without the scrollbar, the length of which Textual rounds."""
    return re.sub("[▁▂▃▄▅▆▇█]", " ", stage.text)


@settings(max_examples=settings().max_examples // 20, deadline=None, phases=[Phase.explicit, Phase.generate])
@example(visited=[(20, 5)], scrolled=0)
@given(visited=st.lists(SIZES, min_size=1, max_size=4), scrolled=st.integers(0, 6))
async def test_resizing_back_and_forth_ends_in_the_same_screen(visited: list[tuple[int, int]], scrolled: int) -> None:
    """Also for a reader who has scrolled up."""
    long = [caption(9 + number, text, final=True, source=source) for number, (source, text) in enumerate(SENTENCES)]
    async with on_stage(*conversation(), *long, size=(100, 30)) as stage:
        await stage.press(*["pageup"] * (scrolled // 3), *["up"] * (scrolled % 3))
        before = shown(stage)
        for size in visited:
            await stage.resize(*size)
        await stage.resize(100, 30)
        assert shown(stage) == before


async def test_a_reader_further_up_keeps_the_caption_in_another_size() -> None:
    events = [caption(number, f"Wort{number} " * 24, final=True) for number in range(30)]
    async with on_stage(started(), *events, size=(100, 30)) as stage:
        history = stage.app.query_one(History)
        for key in ("home", "pagedown"):  # One after the other: a key on the way to the top would end at the bottom.
            await stage.press(key)
            while history.is_vertical_scroll_end or history.scroll_y != history.scroll_target_y:
                await stage.pilot.pause(0.001)
        await settle(stage.pilot)
        first = top(stage).split()[0]
        for size in ((60, 30), (160, 20)):
            await stage.resize(*size)
            assert top(stage).split()[0] == first


async def test_the_history_follows_again_after_it_was_cleared() -> None:
    async with on_stage(started(), *finals(30)) as stage:
        await stage.press("home")
        await stage.play(*finals(30, 33))
        assert "3 new below" in stage.text
        await stage.press("ctrl+l")
        assert "below" not in stage.text
        await stage.play(*finals(33, 60))
        assert "below" not in stage.text and "Satz 58." in stage.text


async def test_find_moves_no_word_to_another_row_and_keeps_its_place_while_captions_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "HISTORY_CAPTIONS", 20)
    async with on_stage(*conversation(), size=(100, 30)) as stage:
        wrapped = drawn_rows(stage.app)
        await stage.press("slash", *"Morgen", "enter")
        found = drawn_rows(stage.app)
        assert len(found) > 9 and set(found.values()) <= set(wrapped.values())
    async with on_stage(started(), *finals(21), size=(100, 30)) as stage:
        await stage.press("slash", *"Satz", "enter", "enter")
        search = stage.app.query_one("Search")
        assert search.found.caption.text == "Satz 18."  # type: ignore[attr-defined]
        await stage.play(*finals(21, 26))
        await stage.press("enter")
        assert search.found.caption.text == "Satz 17."  # type: ignore[attr-defined]
