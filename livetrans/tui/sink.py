"""From the run's threads to the screen: a worker never touches a widget; it posts a message, and the main thread draws.

Translations, progress and coalescing are not posted: their numbers reach the panel through the snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from livetrans.events import Caption, Event, Gap, Notice, Record, RunEnded, RunStarted, Transcript

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

DRAWN = (Caption, Transcript, Gap, Notice, RunStarted, RunEnded)


@dataclass(eq=False)
class Posted(Message):
    """The message that the run has published an event."""

    event: Event

    def can_replace(self, message: Message) -> bool:
        """Return whether the waiting `message` makes this one needless: a newer partial or final of its segment does.

        A final caption is never replaced.
        """
        if not isinstance(message, Posted):
            return False
        match self.event, message.event:
            case Caption(final=False) as older, Caption() as newer:
                return newer.segment_id == older.segment_id
            case Transcript() as older, Transcript() as newer:
                return newer.segment_id == older.segment_id
            case _:
                return False


class ScreenSink:
    """The sink of the screen: posts every event that the screen draws, from any thread."""

    def __init__(self, screen: MessagePump) -> None:
        self._screen = screen
        self._is_open = True

    def write(self, record: Record) -> None:
        if not self._is_open or not isinstance(record.event, DRAWN):
            return
        try:
            self._screen.post_message(Posted(record.event))
        except RuntimeError:
            # The event loop closed between the test above and the post: the user has quit.
            self._is_open = False

    def close(self) -> None:
        self._is_open = False
