"""The sink: what a newer one may replace, and a sink that outlives its screen."""

from __future__ import annotations

import pytest
from textual.message import Message

from livetrans.events import Coalesced, Event, Notice, Record, SourceProgress
from livetrans.tui.sink import Posted, ScreenSink
from tests.tui.scripted import caption, ended, started, transcript


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
