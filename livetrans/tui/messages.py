"""What the pipeline's threads say to the screen: one message a kind of event, and the sink that posts them.

A worker never touches a widget; it posts, and the main thread draws.
"""

from __future__ import annotations

from typing import Protocol

from textual.message import Message

from livetrans.events import Caption, Notice, Record, RunEnded, RunStarted, Transcript


class CaptionShown(Message):
    """A segment has a newer caption."""

    def __init__(self, caption: Caption) -> None:
        super().__init__()
        self.caption = caption

    def can_replace(self, message: Message) -> bool:
        """Whether the waiting `message` makes this one needless: a newer one of its segment does, finals excepted."""
        if not isinstance(message, CaptionShown) or self.caption.final:
            return False
        return message.caption.segment_id == self.caption.segment_id


class TranscriptHeard(Message):
    """A segment has a newer hypothesis."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript

    def can_replace(self, message: Message) -> bool:
        """Whether the waiting `message` makes this one needless: a newer one of the same segment does."""
        if not isinstance(message, TranscriptHeard):
            return False
        return message.transcript.segment_id == self.transcript.segment_id


class NoticeGiven(Message):
    """One sentence for the user."""

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice = notice


class RunBegan(Message):
    """Models are loaded and listening begins."""


class RunFinished(Message):
    """Everything heard has been translated, or the run failed."""

    def __init__(self, ended: RunEnded) -> None:
        super().__init__()
        self.ended = ended


class Postbox(Protocol):
    """Where messages are posted: the app."""

    def post_message(self, message: Message) -> bool: ...


class ScreenSink:
    """The sink of the screen: turns the events that the screen draws into messages, from whatever thread.

    Translations, progress and coalescing are left out: their numbers reach the panel through the snapshot.
    """

    def __init__(self, screen: Postbox) -> None:
        self._screen = screen
        self._open = True

    def write(self, record: Record) -> None:
        message = message_of(record)
        if message is None or not self._open:
            return
        try:
            self._screen.post_message(message)
        except RuntimeError:
            # The event loop closed between the test above and the post: the user has quit, nobody watches any more.
            self._open = False

    def close(self) -> None:
        self._open = False


def message_of(record: Record) -> Message | None:
    """The message that draws a record, or None for what the screen doesn't draw."""
    match record.event:
        case Caption() as caption:
            return CaptionShown(caption)
        case Transcript() as transcript:
            return TranscriptHeard(transcript)
        case Notice() as notice:
            return NoticeGiven(notice)
        case RunStarted():
            return RunBegan()
        case RunEnded() as ended:
            return RunFinished(ended)
        case _:
            return None
