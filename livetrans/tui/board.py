"""From the run's events to the state of the screen, without its widgets: which caption is current, which are history.

A worker never touches a widget: it posts a message, and the main thread draws. Translations, progress and coalescing
are not posted: their numbers reach the panel through the snapshot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from livetrans.config import Settings
from livetrans.errors import SessionError
from livetrans.events import Caption, Event, Gap, Notice, Record, RunEnded, RunStarted, Transcript
from livetrans.session.export import as_srt
from livetrans.session.subtitles import Spoken
from livetrans.text import join_text, one_line

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

REMEMBERED_FINALS = 1000
"""Finished segments whose ids are remembered, so that a repeated final is recognised; also the longest history."""


class Board:
    """Follows captions of one language and transcripts; returns the captions that become history, each final once.

    Several captions are current where a sentence began before the one before it was final. A final that is the only
    current caption stays until another segment has text, so that the last line is there through a pause.
    """

    def __init__(self) -> None:
        self._current: dict[int, Caption] = {}
        self.has_shown_text = False
        """Whether there ever was a caption, cleared or not."""
        self.history: deque[Caption] = deque(maxlen=REMEMBERED_FINALS)
        """The captions that became history."""
        self._transcripts: dict[int, Transcript] = {}
        """The newest of each segment without a final caption."""
        self._finished: deque[int] = deque(maxlen=REMEMBERED_FINALS)

    def feed(self, event: Caption | Transcript | Gap) -> list[Caption]:
        """Take an event; returns the captions that became history."""
        match event:
            case Caption():
                finished = self.feed_caption(event)
            case Transcript():
                finished = self.feed_transcript(event)
            case Gap():
                finished = self.feed_gap(event)
        self.history.extend(finished)
        return finished

    @property
    def captions(self) -> list[Caption]:
        """The current captions, in the order of their segments."""
        return [self._current[segment] for segment in sorted(self._current)]

    def feed_caption(self, caption: Caption) -> list[Caption]:
        """Take a segment's newer caption; returns the captions that became history."""
        if caption.segment_id in self._finished:
            return []
        if caption.final:
            self._finished.append(caption.segment_id)
            self._transcripts.pop(caption.segment_id, None)
        empty = not caption.text.strip()
        self.has_shown_text = self.has_shown_text or not empty
        if empty:
            # Nothing to show: a line of another segment stays.
            self._current.pop(caption.segment_id, None)
            return []
        self._current[caption.segment_id] = caption
        return self._take_finals(keep_last=all(one.final for one in self._current.values()))

    def feed_transcript(self, transcript: Transcript) -> list[Caption]:
        """Take a newer hypothesis; returns the captions that became history."""
        if transcript.segment_id in self._finished:
            return []
        self._transcripts[transcript.segment_id] = transcript
        return self._take_finals() if transcript.text.strip() else []

    def feed_gap(self, gap: Gap) -> list[Caption]:
        """Take a gap; returns what became history: a final that was current, and what stands for the gap."""
        return [*self._take_finals(), gap.caption()]

    def end_before(self, start: float) -> list[Caption]:
        """Make finals history that are still current, if they began before `start`; returns them."""
        finals = [caption for caption in self.captions if caption.final and caption.start < start]
        for caption in finals:
            del self._current[caption.segment_id]
        self.history.extend(finals)
        return finals

    @property
    def sentence(self) -> int | None:
        """The first segment that is shown as current, or heard where nothing of it is shown yet."""
        return min((*self._current, *self._transcripts), default=None)

    def source(self) -> tuple[str, str]:
        """The source of the current captions in two parts: what will not change, and what may."""
        committed = whole = ""
        for segment in sorted({*self._current, *self._transcripts}):
            caption, transcript = self._current.get(segment), self._transcripts.get(segment)
            if caption is not None and caption.untranslated:
                continue  # The caption says it.
            newest = transcript or (caption.transcript if caption else None)
            if newest is not None:
                unchanging = newest.text if newest.final else newest.committed
                committed = join_text(whole, unchanging) if committed == whole else committed
                whole = join_text(whole, newest.text)
        return committed, whole[len(committed) :]

    def clear(self) -> None:
        """Remove the history and a final that is still current; unfinished captions stay."""
        self.history.clear()
        self._take_finals()

    def _take_finals(self, keep_last: bool = False) -> list[Caption]:
        finals = [caption for caption in self.captions if caption.final]
        finals = finals[:-1] if keep_last else finals
        for caption in finals:
            del self._current[caption.segment_id]
        return finals


class Boards:
    """The boards of a run: for each language of the captions, of which one is shown, and in a run of two tracks for the
    microphone's.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._of = {language: Board() for language in settings.targets}
        self._mine = [Board()] if settings.meeting else []
        self._language = settings.target_language

    @property
    def shown(self) -> list[Board]:
        """Those that are shown, of each track in its place."""
        return [self._of[self._language], *self._mine]

    def show(self, language: str) -> None:
        self._language = language

    @property
    def history(self) -> list[Caption]:
        """The captions that became history on the shown boards, in the order of speech where there are two."""
        found = list(chain.from_iterable(board.history for board in self.shown))
        return sorted(found, key=lambda caption: caption.start) if self._mine else found

    @property
    def captions(self) -> list[Caption]:
        """The captions that are shown as current."""
        return list(chain.from_iterable(board.captions for board in self.shown))

    @property
    def sentences(self) -> tuple[int | None, ...]:
        """The first segment of each track that is shown as current, or heard where nothing of it is shown yet."""
        return tuple(board.sentence for board in self.shown)

    def feed(self, event: Caption | Transcript | Gap) -> list[Caption]:
        """Take an event in the languages that it is of; returns what became history on the shown boards."""
        finished: list[Caption] = []
        if self._settings.is_mine(event.track):
            finished = self._mine[0].feed(event)
        else:
            for language, board in self._of.items():
                if len(self._of) == 1 or not isinstance(event, Caption) or event.language == language:
                    new = board.feed(event)
                    finished = new if language == self._language else finished
        if finished and self._mine:
            # A final of the other track that began earlier goes before it.
            finished = [final for board in self.shown for final in board.end_before(finished[-1].start)] + finished
        return finished

    def clear(self) -> None:
        for board in (*self._of.values(), *self._mine):
            board.clear()


class Finals:
    """A sink that collects finals for the key that saves them: text, hence small even after hours."""

    def __init__(self) -> None:
        self._captions: list[Caption] = []

    def write(self, record: Record) -> None:
        event = record.event.caption() if isinstance(record.event, Gap) else record.event
        if isinstance(event, Caption) and event.final and event.text:
            self._captions.append(event)

    def close(self) -> None:
        """Nothing to release: the screen may still save after the run has ended."""

    def save(self) -> list[Path]:
        """Write source and translation to a new text file in the current folder, and captions beside it as subtitles.

        Return the path of the text file, the other ends in `.srt`; of several languages each has its own files.

        Raises:
            SessionError: there is no final yet.
            OSError: the folder cannot be written.
        """
        captions = tuple(self._captions)
        if all(caption.segment_id < 0 for caption in captions):
            raise SessionError("there is no finished caption yet")
        stem, ends = f"livetrans-{datetime.now():%Y-%m-%dT%H-%M-%S}", chain([""], map("-{}".format, count(2)))
        codes = list(dict.fromkeys(caption.language for caption in captions if caption.segment_id >= 0))
        parts = [f".{code}" for code in codes] if len(codes) > 1 else [""]
        places = ([Path(f"{stem}{end}{part}.txt") for part in parts] for end in ends)
        paths = next(paths for paths in places if not any(path.exists() for path in paths))
        for path, code in zip(paths, codes, strict=True):
            spoken = [caption for caption in captions if caption.language == code or caption.segment_id < 0]
            with path.open("x", encoding="utf-8") as file:
                file.writelines(f"{one_line(caption.source)}\n{one_line(caption.text)}\n\n" for caption in spoken)
            with path.with_suffix(".srt").open("w", encoding="utf-8") as file:
                file.writelines(as_srt(map(Spoken, spoken)))
        return [path.resolve() for path in paths]


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
            # The event loop closed between the test above and the post: the user has quit.
            self._is_open = False

    def close(self) -> None:
        self._is_open = False
