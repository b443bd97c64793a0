"""A meeting on the screen: a pane for each track, its name before each caption, the order of speech in the history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livetrans.config import MeetingSettings, Settings
from livetrans.events import Caption, Gap, RunStarted, Transcript
from livetrans.tui.board import Boards

from .scripted import FULL, Screenplay, make_app, screen_text, settle

SETTINGS = Settings(meeting=MeetingSettings())


def said(track: str, segment: int, text: str, start: float, *, final: bool = True) -> Caption:
    language = "de" if track == "them" else "en"
    transcript = Transcript(segment, 0, "", f"source {segment}", final, start, start + 1.0, track=track)
    return Caption(transcript, text, language=language)


MEETING = (
    said("them", 0, "Guten", 1.0, final=False),
    said("me", 1, "Hello.", 2.0),
    said("them", 0, "Guten Morgen.", 1.0),
    said("them", 2, "Fangen wir an?", 4.0),
    said("me", 3, "Yes, let us", 6.0, final=False),
)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (50, 16)])
async def test_both_tracks_are_current_each_in_its_place(size: tuple[int, int]) -> None:
    app = make_app(Screenplay(RunStarted({}, SETTINGS), *MEETING), settings=SETTINGS)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        lines = [line for line in screen_text(app).splitlines() if "them: " in line or "me: " in line]
        texts = [text for text in ("them: Fangen wir an?", "me: Yes, let us") if any(text in line for line in lines)]
        places = [next(row for row, line in enumerate(lines) if text in line) for text in texts]
        assert len(texts) == 2
        assert places == sorted(places)
        assert "them: Guten Morgen." in screen_text(app)


async def test_the_panel_says_whose_figures_it_has() -> None:
    app = make_app(Screenplay(RunStarted({}, SETTINGS)), settings=SETTINGS, snapshot=replace(FULL, settings=SETTINGS))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "figures of them" in screen_text(app)
        assert "en → de, me: de → en" in screen_text(app)


def test_history_is_in_the_order_of_speech() -> None:
    boards = Boards(SETTINGS)
    finished = [caption.text for event in MEETING for caption in boards.feed(event)]
    finished += [caption.text for caption in boards.feed(said("them", 4, "Gut.", 8.0))]
    assert finished == ["Guten Morgen.", "Hello.", "Fangen wir an?"] == [caption.text for caption in boards.history]
    assert [caption.text for caption in boards.captions] == ["Gut.", "Yes, let us"]


async def test_a_caption_that_began_earlier_stands_above_one_of_the_other_track() -> None:
    meeting = [
        said("them", 0, "Ein langer", 1.0, final=False),
        said("me", 1, "Yes.", 2.0),
        said("me", 2, "I see.", 3.0),
        said("them", 0, "Ein langer Satz.", 1.0),
        Gap(9.0, 11.0, "output", "them"),
    ]
    app = make_app(Screenplay(RunStarted({}, SETTINGS), *meeting), settings=SETTINGS)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        shown = [caption.text for caption in app._history.captions]
        assert shown == ["Ein langer Satz.", "Yes.", "I see.", "[2 s without sound]"]
