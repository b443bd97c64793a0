"""Messages: what a newer one may replace, and a sink that outlives its screen."""

from __future__ import annotations

import pytest
from textual.message import Message

from livetrans.events import Coalesced, Notice, Record, SourceProgress
from livetrans.tui.messages import (
    CaptionChanged,
    NoticePublished,
    RunBegan,
    RunFinished,
    ScreenSink,
    TranscriptChanged,
    message_of,
)
from tests.tui.scripted import caption, ended, started, transcript


def test_a_newer_caption_of_the_segment_replaces_a_partial() -> None:
    old = CaptionChanged(caption(0, "Das"))
    assert old.can_replace(CaptionChanged(caption(0, "Das Wasser", revision=1)))
    assert old.can_replace(CaptionChanged(caption(0, "Das Wasser.", final=True)))
    assert not old.can_replace(CaptionChanged(caption(1, "Ja")))
    assert not old.can_replace(RunBegan())


def test_a_final_is_never_replaced() -> None:
    final = CaptionChanged(caption(0, "Das Wasser.", final=True))
    assert not final.can_replace(CaptionChanged(caption(0, "Das", revision=2)))
    assert not final.can_replace(CaptionChanged(caption(1, "Ja")))


def test_a_newer_hypothesis_of_the_segment_replaces_an_older_one() -> None:
    old = TranscriptChanged(transcript(0, "The", "water"))
    assert old.can_replace(TranscriptChanged(transcript(0, "The water", "came")))
    assert not old.can_replace(TranscriptChanged(transcript(1, "Yes", "")))


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (caption(0, "Das"), CaptionChanged),
        (transcript(0, "The", ""), TranscriptChanged),
        (Notice("info", "loading"), NoticePublished),
        (started(), RunBegan),
        (ended(), RunFinished),
    ],
)
def test_events_become_messages(event: object, kind: type[Message]) -> None:
    assert isinstance(message_of(Record(0.0, event)), kind)  # type: ignore[arg-type]


def test_what_only_changes_numbers_is_not_posted() -> None:
    assert message_of(Record(0.0, Coalesced(0, 1))) is None
    assert message_of(Record(0.0, SourceProgress(1.0, None, True))) is None


class ClosedLoop:
    """A screen whose event loop is gone."""

    def __init__(self) -> None:
        self.posts = 0

    def post_message(self, message: Message) -> bool:
        self.posts += 1
        raise RuntimeError("Event loop is closed")


def test_writing_after_the_screen_is_gone_is_harmless() -> None:
    screen = ClosedLoop()
    sink = ScreenSink(screen)
    sink.write(Record(0.0, caption(0, "Das")))
    sink.write(Record(0.0, caption(0, "Das")))
    assert screen.posts == 1
    sink.close()
