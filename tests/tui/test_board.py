"""The current caption and the history, without a screen; the sink: what a newer event replaces, and no screen left."""

from __future__ import annotations

import pytest
from textual.message import Message

from livetrans.config import Settings
from livetrans.events import Coalesced, Event, Notice, Record, SourceProgress
from livetrans.tui.board import Boards, Posted, ScreenSink
from tests.tui.scripted import caption, ended, started, transcript


def test_a_final_stays_until_the_next_segment_speaks_and_leaves_once() -> None:
    board = Boards(Settings())
    final = caption(0, "Das Wasser.", final=True)
    assert board.feed(final) == []
    assert board.feed(final) == []
    assert board.captions == [final]
    assert board.feed(caption(1, "")) == []
    assert board.captions == [final]
    assert board.feed(caption(1, "Ja", revision=1)) == [final]
    assert board.feed(final) == []


def test_the_next_hypothesis_sends_a_final_to_the_history() -> None:
    board = Boards(Settings())
    final = caption(0, "Das Wasser.", final=True, source="The water.")
    board.feed(final)
    assert board.feed(transcript(1, "", "")) == []
    assert board.feed(transcript(1, "", "Yes")) == [final]
    assert board.captions == []
    assert board.shown[0].source()[:2] == ("", "Yes")


def test_sentences_that_grow_at_once_are_shown_in_order_until_the_first_is_final() -> None:
    board = Boards(Settings())
    board.feed(caption(0, "Das Wasser."))
    assert board.feed(caption(1, "Ja")) == []
    assert [one.text for one in board.captions] == ["Das Wasser.", "Ja"]
    final = caption(0, "Das Wasser.", final=True)
    assert board.feed(final) == [final]
    assert board.feed(caption(0, "Das")) == []
    assert board.captions == [caption(1, "Ja")]


def test_empty_finals_leave_nothing() -> None:
    board = Boards(Settings())
    board.feed(caption(0, "Das"))
    assert board.feed(caption(0, "", final=True)) == []
    assert board.captions == []
    assert board.feed(caption(1, " ", final=True)) == []
    assert board.feed(caption(2, "Ja")) == []


def test_the_source_is_that_of_all_that_is_not_history() -> None:
    board = Boards(Settings())
    board.feed(transcript(0, "The", "water"))
    board.feed(caption(0, "Das", source="The water", committed="The"))
    board.feed(transcript(0, "The water", "came.", revision=1))
    assert board.shown[0].source()[:2] == ("The water", " came.")
    board.feed(transcript(1, "", "Yes"))
    assert board.shown[0].source()[:2] == ("The water", " came. Yes")
    board.feed(caption(0, "Das Wasser kam.", final=True, source="The water came."))
    assert board.shown[0].source()[:2] == ("The water came.", " Yes")
    board.feed(caption(1, "Ja"))
    assert board.shown[0].source()[:2] == ("", "Yes")


@pytest.mark.parametrize(
    ("older", "newer", "replaced"),
    [
        (caption(0, "Das"), caption(0, "Das Wasser", revision=1), True),
        (caption(0, "Das"), caption(0, "Das Wasser.", final=True), True),
        (caption(0, "Das"), caption(1, "Ja"), False),
        (caption(0, "Das"), started(), False),
        (caption(0, "Das Wasser.", final=True), caption(0, "Das", revision=2), False),
        (transcript(0, "The", "water"), transcript(0, "The water", "came"), True),
        (transcript(0, "The", "water"), transcript(1, "Yes", ""), False),
        (Notice("info", "one"), Notice("info", "two"), False),
    ],
)
def test_what_a_newer_event_makes_needless(older: Event, newer: Event, replaced: bool) -> None:
    assert Posted(older).can_replace(Posted(newer)) is replaced


class Screen:
    """A screen that keeps what is posted; its event loop may be gone."""

    def __init__(self, *, is_closed: bool = False) -> None:
        self.posted: list[Message] = []
        self._is_closed = is_closed

    def post_message(self, message: Message) -> bool:
        self.posted.append(message)
        if self._is_closed:
            raise RuntimeError("Event loop is closed")
        return True


def test_what_only_changes_numbers_is_not_posted() -> None:
    screen = Screen()
    sink = ScreenSink(screen)  # type: ignore[arg-type]
    for event in (caption(0, "Das"), Coalesced(0, 1), SourceProgress(1.0, None, True), ended()):
        sink.write(Record(0.0, event))
    assert len(screen.posted) == 2


def test_writing_after_the_screen_is_gone_is_harmless() -> None:
    screen = Screen(is_closed=True)
    sink = ScreenSink(screen)  # type: ignore[arg-type]
    sink.write(Record(0.0, caption(0, "Das")))
    sink.write(Record(0.0, caption(0, "Das")))
    assert len(screen.posted) == 1
    sink.close()
