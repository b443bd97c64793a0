"""The current caption and the history, without a screen."""

from __future__ import annotations

from livetrans.tui.board import Board
from tests.tui.scripted import caption, transcript


def test_a_newer_partial_replaces_the_older_one() -> None:
    board = Board()
    assert board.feed_caption(caption(0, "Das")) == []
    assert board.feed_caption(caption(0, "Das Wasser", revision=1)) == []
    assert board.current == caption(0, "Das Wasser", revision=1)


def test_a_final_stays_until_the_next_segment_speaks_and_leaves_once() -> None:
    board = Board()
    final = caption(0, "Das Wasser.", final=True)
    assert board.feed_caption(final) == []
    assert board.feed_caption(final) == []
    assert board.current == final
    assert board.feed_caption(caption(1, "")) == []
    assert board.current == final
    assert board.feed_caption(caption(1, "Ja", revision=1)) == [final]
    assert board.feed_caption(final) == []


def test_the_next_hypothesis_sends_a_final_to_the_history() -> None:
    board = Board()
    final = caption(0, "Das Wasser.", final=True, source="The water.")
    board.feed_caption(final)
    assert board.feed_transcript(transcript(1, "", "")) == []
    assert board.feed_transcript(transcript(1, "", "Yes")) == [final]
    assert board.current is None
    assert board.source() == ("", "Yes")


def test_an_overtaken_partial_is_not_history_but_its_late_final_is() -> None:
    board = Board()
    board.feed_caption(caption(0, "Das"))
    assert board.feed_caption(caption(1, "Ja")) == []
    late = caption(0, "Das Wasser.", final=True)
    assert board.feed_caption(late) == [late]
    assert board.feed_caption(caption(0, "Das")) == []
    assert board.current == caption(1, "Ja")


def test_empty_finals_leave_nothing() -> None:
    board = Board()
    board.feed_caption(caption(0, "Das"))
    assert board.feed_caption(caption(0, "", final=True)) == []
    assert board.current is None
    assert board.feed_caption(caption(1, " ", final=True)) == []
    assert board.feed_caption(caption(2, "Ja")) == []


def test_the_source_follows_the_segment_that_is_shown() -> None:
    board = Board()
    board.feed_transcript(transcript(0, "The", "water"))
    board.feed_caption(caption(0, "Das", source="The water", committed="The"))
    board.feed_transcript(transcript(0, "The water", "came", revision=1))
    assert board.source() == ("The water", " came")
    board.feed_transcript(transcript(1, "Yes", ""))
    assert board.source() == ("The", " water")
    board.feed_caption(caption(0, "Das Wasser kam.", final=True, source="The water came."))
    assert board.source() == ("The water came.", "")


def test_clearing_keeps_what_is_being_spoken() -> None:
    board = Board()
    board.feed_caption(caption(0, "Das"))
    board.clear()
    assert board.current is not None
    board.feed_caption(caption(0, "Das.", final=True))
    board.clear()
    assert board.current is None
