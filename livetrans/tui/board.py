"""From the run's events to what the screen shows, without widgets: current captions and history.

A worker never touches a widget. It posts a message, and the main thread draws. Translations, progress and coalescing
are not posted, because their figures reach the panel through the snapshot.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from livetrans.base.text import join_text
from livetrans.captions import Captions, Key, key_of
from livetrans.config import Settings
from livetrans.events import Caption, Event, Gap, NameCorrected, Notice, Record, RunEnded, RunStarted, Transcript
from livetrans.metrics.captions import standing

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

HISTORY_CAPTIONS = 500
"""Most captions in the history: memory must not grow with the hours, and the session has them all."""


class Source(NamedTuple):
    """A line of what was heard."""

    committed: str
    """What will not change."""
    partial: str = ""
    repaired: tuple[tuple[int, int], ...] = ()
    """Begin and end of each repaired name, in both parts together."""


class Shown(NamedTuple):
    """What a board shows of a segment."""

    key: Key
    text: str
    before: str
    """What it showed before the newest update."""


class Board:
    """Lays out the captions of one language: which are current, and which are history.

    Several captions are current if a sentence began before the previous one was final. A final that is the only current
    caption stays until another segment has text, so that the last line is shown through a pause.
    """

    def __init__(self, newest: Captions) -> None:
        self._newest = newest
        self._current: dict[int, Shown] = {}
        self.has_shown_text = False
        """Whether there ever was a caption, cleared or not."""
        self._history: deque[Key] = deque(maxlen=HISTORY_CAPTIONS)
        self._transcripts: dict[int, Transcript] = {}
        """The newest of each segment without a final caption."""

    def feed(self, event: Caption | Transcript) -> list[Caption]:
        """Take a transcript, or a caption in its newest form; return the captions that became history, each once."""
        if isinstance(event, Transcript):
            self._transcripts[event.segment_id] = event
            finished = self._take_finals() if event.text.strip() else []
        elif event.segment_id < 0:
            finished = [*self._take_finals(), event]
        else:
            finished = self._place(event)
        self._history.extend(map(key_of, finished))
        return finished

    @property
    def captions(self) -> list[Caption]:
        """The current captions, in the order of their segments."""
        return self._found(self._current[segment].key for segment in sorted(self._current))

    def standing(self, caption: Caption) -> int:
        """Return how many characters of a current caption were shown before its newest update."""
        return standing(self._current[caption.segment_id].before, caption.text)

    @property
    def history(self) -> list[Caption]:
        return self._found(self._history)

    def _found(self, keys: Iterable[Key]) -> list[Caption]:
        return [caption for caption in map(self._newest.get, keys) if caption]

    def _place(self, caption: Caption) -> list[Caption]:
        if caption.final:
            self._transcripts.pop(caption.segment_id, None)
        if not caption.text.strip():
            # Nothing to show: a line of another segment stays.
            self._current.pop(caption.segment_id, None)
            return []
        self.has_shown_text = True
        before = self._current.get(caption.segment_id)
        self._current[caption.segment_id] = Shown(key_of(caption), caption.text, before.text if before else "")
        return self._take_finals(keep_last=all(one.final for one in self.captions))

    def end_before(self, start: float) -> list[Caption]:
        """Move current finals that began before `start` to the history, and return them."""
        finals = self._take_finals(before=start)
        self._history.extend(map(key_of, finals))
        return finals

    def source(self) -> Source:
        """Return the source of the current captions."""
        committed = whole = ""
        repaired: list[tuple[int, int]] = []
        for segment in sorted({*self._current, *self._transcripts}):
            transcript = self._transcripts.get(segment)
            caption = self._newest.get(self._current[segment].key) if segment in self._current else None
            if caption is not None and caption.untranslated:
                continue  # The caption is the source.
            newest = transcript or (caption.transcript if caption else None)
            if newest is not None:
                unchanging = newest.text if newest.final else newest.committed
                committed = join_text(whole, unchanging) if committed == whole else committed
                whole = join_text(whole, newest.text)
                shift = len(whole) - len(newest.text)
                repaired += [(shift + repair.begin, shift + repair.end) for repair in newest.repairs]
        return Source(committed, whole[len(committed) :], tuple(repaired))

    def forget(self, segment_id: int) -> None:
        """Drop an unfinished segment: another board shows it."""
        self._current.pop(segment_id, None)
        self._transcripts.pop(segment_id, None)

    def clear(self) -> None:
        """Remove the history and current finals. Unfinished captions stay."""
        self._history.clear()
        self._take_finals()

    def _take_finals(self, keep_last: bool = False, before: float = inf) -> list[Caption]:
        finals = [caption for caption in self.captions if caption.final and caption.start < before]
        finals = finals[:-1] if keep_last else finals
        for caption in finals:
            del self._current[caption.segment_id]
        return finals


class Boards:
    """The boards of a run: one for each language, of which one is shown, and one for the microphone of a meeting.

    A conversation has one for each speaker, with the translations of what they say.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._newest = newest = Captions()
        self._of = {} if settings.between else {language: Board(newest) for language in settings.targets}
        self._microphone = [Board(newest)] if settings.meeting else []
        self._speakers = {name: Board(newest) for name in settings.speakers} if settings.between else {}
        self._language = settings.target_language

    @property
    def shown(self) -> list[Board]:
        """The shown boards, one for each track, in their places."""
        return [*self._speakers.values()] or [self._of[self._language], *self._microphone]

    def show(self, language: str) -> None:
        self._language = language

    @property
    def history(self) -> list[Caption]:
        """The captions that became history on the shown boards, in the order of speech where there are two."""
        found = list(chain.from_iterable(board.history for board in self.shown))
        return sorted(found, key=lambda caption: caption.start) if len(self.shown) > 1 else found

    @property
    def captions(self) -> list[Caption]:
        """The captions that are shown as current."""
        return list(chain.from_iterable(board.captions for board in self.shown))

    def feed(self, event: Caption | Transcript | Gap) -> list[Caption]:
        """Pass an event to the boards of its languages. Return what became history on the shown ones."""
        if isinstance(event, Transcript):
            return [] if self._newest.has_final(event.segment_id) else self._place(event)
        return [final for caption in self._newest.feed(event) for final in self._place(caption)]

    def _place(self, event: Caption | Transcript) -> list[Caption]:
        finished: list[Caption] = []
        if self._speakers:
            finished = self._place_by_speaker(event)
        elif self._settings.is_microphone(event.track):
            finished = self._microphone[0].feed(event)
        else:
            for language, board in self._of.items():
                of_board = isinstance(event, Transcript) or event.segment_id < 0 or event.language == language
                if len(self._of) == 1 or of_board:
                    new = board.feed(event)
                    finished = new if language == self._language else finished
        if finished and len(self.shown) > 1:
            # A final of the other track that began earlier goes before it.
            finished = [final for board in self.shown for final in board.end_before(finished[-1].start)] + finished
        return finished

    def _place_by_speaker(self, event: Caption | Transcript) -> list[Caption]:
        """Pass an event to the board of who spoke; to both, as long as nobody knows who does."""
        is_gap = isinstance(event, Caption) and event.segment_id < 0
        if isinstance(event, Caption) and not is_gap and not self._settings.shows(event.track, event.language):
            return []
        if isinstance(event, Transcript) and not event.language:
            return [final for board in self.shown for final in board.feed(event)]
        # A third language, and the mark of a gap, stand above.
        place = self._speakers.get(event.track or "", self.shown[0])
        for board in self.shown:
            if board is not place and not is_gap:
                board.forget(event.segment_id)
        return place.feed(event)

    def correct(self, name: NameCorrected) -> list[Caption]:
        """Correct a name; return the captions that have changed."""
        return self._newest.feed(name)

    def clear(self) -> None:
        for board in (*self._of.values(), *self._microphone, *self._speakers.values()):
            board.clear()


DRAWN = (Caption, Transcript, Gap, NameCorrected, Notice, RunStarted, RunEnded)


@dataclass(eq=False)
class Posted(Message):
    """The message that the run has published an event."""

    event: Event

    def can_replace(self, message: Message) -> bool:
        """Return whether a newer `message` makes this one needless.

        If a partial waits to be drawn and a newer partial or the final of its segment comes, the newer one is drawn
        alone. A final is never replaced.
        """
        if not isinstance(message, Posted):
            return False
        match self.event, message.event:
            case Caption(final=False) as older, Caption() as newer:
                return (newer.segment_id, newer.language) == (older.segment_id, older.language)
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
            # The user has quit, and the event loop closed between the test above and the post.
            self._is_open = False

    def close(self) -> None:
        self._is_open = False
