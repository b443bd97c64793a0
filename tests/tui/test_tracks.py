"""A meeting on the screen: a pane for each track, its name before each caption, the order of speech in the history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livetrans.config import MeetingSettings, Settings
from livetrans.events import Caption, Gap, RunStarted, Transcript
from livetrans.tui.board import Boards
from tests.tui.scripted import FULL, on_stage

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


@pytest.mark.parametrize("size", [(80, 24), (50, 16), pytest.param((120, 40), marks=pytest.mark.long)])
async def test_both_tracks_are_current_each_in_its_place(size: tuple[int, int]) -> None:
    async with on_stage(RunStarted({}, SETTINGS), *MEETING, settings=SETTINGS, size=size) as stage:
        places = [
            next(row for row, line in enumerate(stage.lines) if text in line)
            for text in ("them: Guten Morgen.", "them: Fangen wir an?", "me: Yes, let us")
        ]
        assert places == sorted(places)


async def test_the_panel_says_whose_figures_it_has() -> None:
    figures = replace(FULL, settings=SETTINGS)
    async with on_stage(RunStarted({}, SETTINGS), settings=SETTINGS, snapshot=figures, size=(120, 40)) as stage:
        assert "figures of them" in stage.text
        assert "en → de, me: de → en" in stage.text


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
    async with on_stage(RunStarted({}, SETTINGS), *meeting, settings=SETTINGS) as stage:
        assert stage.history == ["Ein langer Satz.", "Yes.", "I see.", "[2 s without sound]"]
