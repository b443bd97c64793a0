"""From the run's threads to the screen: a message for each kind of event that it draws, and the sink that posts them.

A worker never touches a widget; it posts, and the main thread draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from livetrans.events import Caption, Gap, Notice, Record, RunEnded, RunStarted, Transcript

if TYPE_CHECKING:
    from textual.message_pump import MessagePump


@dataclass(eq=False)
class CaptionChanged(Message):
    """A segment has a newer caption."""

    caption: Caption

    def can_replace(self, message: Message) -> bool:
        """Whether the waiting `message` makes this one needless: a newer one of its segment does, except for finals."""
        if not isinstance(message, CaptionChanged) or self.caption.final:
            return False
        return message.caption.segment_id == self.caption.segment_id


@dataclass(eq=False)
class TranscriptChanged(Message):
    """A segment has a newer hypothesis."""

    transcript: Transcript

    def can_replace(self, message: Message) -> bool:
        """Whether the waiting `message` makes this one needless: a newer one of the same segment does."""
        if not isinstance(message, TranscriptChanged):
            return False
        return message.transcript.segment_id == self.transcript.segment_id


@dataclass(eq=False)
class GapPublished(Message):
    """No sound was heard for a while."""

    gap: Gap


@dataclass(eq=False)
class NoticePublished(Message):
    """One sentence for the user."""

    notice: Notice


class RunBegan(Message):
    """Models are loaded and listening begins."""


@dataclass(eq=False)
class RunFinished(Message):
    """The last caption has been shown, or the run failed."""

    ended: RunEnded


class ScreenSink:
    """The sink of the screen: posts a message for every event that the screen draws, from any thread.

    Translations, progress and coalescing are left out: their numbers reach the panel through the snapshot.
    """

    def __init__(self, screen: MessagePump) -> None:
        self._screen = screen
        self._is_open = True

    def write(self, record: Record) -> None:
        message = message_of(record)
        if message is None or not self._is_open:
            return
        try:
            self._screen.post_message(message)
        except RuntimeError:
            # The event loop closed between the test above and the post: the user has quit.
            self._is_open = False

    def close(self) -> None:
        self._is_open = False


def message_of(record: Record) -> Message | None:
    """The message that draws a record, or None for what the screen doesn't draw."""
    match record.event:
        case Caption() as caption:
            return CaptionChanged(caption)
        case Transcript() as transcript:
            return TranscriptChanged(transcript)
        case Gap() as gap:
            return GapPublished(gap)
        case Notice() as notice:
            return NoticePublished(notice)
        case RunStarted():
            return RunBegan()
        case RunEnded() as ended:
            return RunFinished(ended)
        case _:
            return None
