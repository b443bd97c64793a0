"""The captions that readers see, as numbered lines: those for a new reader, and the changes since an event."""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from livetrans.base.text import visible
from livetrans.captions import Captions, Key, key_of
from livetrans.config import Settings, after_key
from livetrans.events import Caption, Gap, NameCorrected, Record, RunEnded, RunStarted, SettingChanged
from livetrans.session.codec import dump, encode

LINES_KEPT = 2000
"""Lines kept for readers who come back: hours of speech."""
LINES_AT_FIRST = 50
"""Finished lines that a new reader gets, unless its request says otherwise."""

_EVENT_ID = re.compile(r"([0-9a-f]{8})-([0-9]{1,12})", re.ASCII)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """What a reader's request asks for."""

    languages: frozenset[str] = frozenset()
    """Codes of the captions' languages, in lower case; empty for all."""
    last: int = LINES_AT_FIRST
    """Finished lines that a new reader gets, besides the unfinished ones."""
    finals: bool = False
    """Whether lines are sent only once they are final."""
    after: str = ""
    """Id of the last event that a returning reader got. Empty for a new reader."""

    def takes(self, language: str | None) -> bool:
        """Return whether captions in this language are wanted. None is an unknown language."""
        return not self.languages or language is None or language.lower() in self.languages


@dataclass(frozen=True, slots=True)
class ReaderPosition:
    """The last changes of lines and of the state that a reader has."""

    lines: int
    state: int
    finals: int = 0
    """Finished lines up to this change are too old for it. Unfinished lines never are."""


@dataclass(frozen=True, slots=True)
class _SharedLine:
    """The newest state of a line, as it is sent."""

    number: int
    version: int
    language: str | None
    """None for one that is sent whatever language is wanted."""
    final: bool
    finished: int
    """The change that made it final: a correction is a later one. Of an unfinished line the newest."""
    is_empty: bool
    frame: bytes

    def is_for(self, wanted: StreamQuery) -> bool:
        return wanted.takes(self.language) and (self.final or not wanted.finals)


class SharedLines:
    """A sink that keeps the newest state of each line, in the order of changes.

    A reader has no queue, only the number of the last change that it got. Whenever it can take more, it gets the lines
    that have changed since, each once. The sink's thread writes, and the server's thread reads.
    """

    def __init__(self) -> None:
        self.run = secrets.token_hex(4)
        """Part of the events' ids. It tells the lines of different runs apart."""
        self.on_change: Callable[[], None] = lambda: None
        self._guard = threading.Lock()
        self._captions = Captions(LINES_KEPT)
        self._lines: OrderedDict[Key, _SharedLine] = OrderedDict()
        self._version = 0
        self._count = 0
        self._settings: Settings | None = None
        self._state = "loading"
        self._state_version = 0

    def write(self, record: Record) -> None:
        match record.event:
            case Caption() | Gap() | NameCorrected() as event:
                for caption in self._captions.feed(event):
                    self._put_caption(caption, record.at, event)
            case RunStarted(settings=settings):
                self._change_state("listening", settings)
            case SettingChanged(name="paused", value=paused):
                self._change_state("paused" if paused else "listening", self._settings)
            case SettingChanged(name=name, value=value) if self._settings:
                self._change_state(self._state, after_key(self._settings, name, value))
            case RunEnded():
                self._change_state("ended", self._settings)
            case _:
                return
        self.on_change()

    def close(self) -> None:
        """Keep everything: readers may still come."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The captions' languages. None while models load."""
        return self._settings.targets if self._settings else ()

    @property
    def _tracks(self) -> tuple[str, ...]:
        """Names of the tracks, in their places on the page. None in a run of one track."""
        return self._settings.speakers if self._settings else ()

    @property
    def state_frame(self) -> bytes:
        """The state of the run. Each stream begins with it, and a quiet one shows by it that it is alive."""
        sources = self._settings.sources if self._settings else ()
        values: dict[str, Any] = {"run": self.run, "state": self._state, "sources": sources, "targets": self.targets}
        downloads = bool(self._settings and self._settings.output.serve_downloads)
        values |= {"tracks": self._tracks, "downloads": downloads, "changes": self._version}
        return _frame("state", values)

    def position_of(self, wanted: StreamQuery) -> ReaderPosition:
        """Return the position of a new or returning reader, who gets the state in any case."""
        with self._guard:
            known = _EVENT_ID.fullmatch(wanted.after)
            if known and known[1] != self.run:
                return ReaderPosition(0, self._state_version)  # It had another run: every line is new to it.
            if known and int(known[2]) <= self._version:
                return ReaderPosition(int(known[2]), self._state_version)
            return ReaderPosition(0, self._state_version, self._last_change_not_sent(wanted))

    def since(self, reached: ReaderPosition, wanted: StreamQuery, size: int) -> tuple[bytes, ReaderPosition]:
        """Return what has changed since `reached`, in order, and the position after it.

        It is empty if nothing has changed. Otherwise it has at least one line, and ends once there are `size` bytes.
        """
        news: list[_SharedLine] = []
        with self._guard:
            for line in reversed(self._lines.values()):
                if line.version <= reached.lines:
                    break
                news.append(line)
            newest = replace(reached, lines=self._version, state=self._state_version)
            state = self.state_frame if newest.state > reached.state else b""
        frames: list[bytes] = []
        length, version = 0, reached.lines
        for line in reversed(news):
            if line.is_for(wanted) and (not line.final or line.finished > reached.finals):
                if length >= size:
                    return b"".join(frames), replace(reached, lines=version)
                frames.append(line.frame)
                length += len(line.frame)
            version = line.version
        return b"".join([*frames, state]), newest

    @property
    def version(self) -> tuple[int, int]:
        """The numbers of the last changes of lines and of the state."""
        return self._version, self._state_version

    def changed(self, after: int) -> tuple[int, int, bytes]:
        """Return `after`, the newest change, and all lines that have changed between them, in order."""
        with self._guard:
            frames = [line.frame for line in self._lines.values() if line.version > after]
            return after, self._version, b"".join(frames)

    def latest(self, last: int) -> tuple[int, int, bytes]:
        """Return the newest change of the lines left out, the newest of all, and the lines for a new reader."""
        with self._guard:
            oldest = self._last_change_not_sent(StreamQuery(last=last))
            left = [line.version for line in self._lines.values() if line.final and line.finished <= oldest]
            kept = [line.frame for line in self._lines.values() if not line.final or line.finished > oldest]
            return max(left, default=0), self._version, b"".join(kept)

    def _last_change_not_sent(self, wanted: StreamQuery) -> int:
        """Return the newest change of the finished lines that are too old for a new reader."""
        lines = (line for line in self._lines.values() if line.is_for(wanted) and line.final and not line.is_empty)
        finished = sorted((line.finished for line in lines), reverse=True)
        return finished[wanted.last] if wanted.last < len(finished) else 0

    def _put_caption(self, caption: Caption, at: float, event: Caption | Gap | NameCorrected) -> None:
        key = key_of(caption)
        text = visible(caption.text).strip()
        if isinstance(event, Gap):
            values = {"at": at, "start": event.start, "end": event.end, "reason": event.reason, "track": event.track}
            self._put("gap", key, values)
            return
        if caption.segment_id < 0 or (key not in self._lines and (isinstance(event, NameCorrected) or not text)):
            return
        source, committed = visible(caption.source).strip(), visible(caption.committed_source).strip()
        values = {
            "at": at,
            "segment_id": caption.segment_id,
            "revision": caption.revision,
            "final": caption.final,
            "track": caption.track,
            "spoken": caption.transcript.language,
            "language": caption.language,
            "everybody": self._is_for_all(caption.track),
            "text": text,
            "right_to_left": caption.right_to_left,
            "untranslated": caption.untranslated,
            "source": source,
            "committed_source": committed if source.startswith(committed) else "",
            "repaired": [caption.source[repair.begin : repair.end] for repair in caption.repairs],
            "start": caption.start,
            "end": caption.end,
        }
        self._put("caption", key, values)

    def _is_for_all(self, track: str | None) -> bool:
        """Return whether readers of any language see the track's lines: as on the screen, a meeting's microphone."""
        return self._settings is not None and self._settings.is_microphone(track)

    def _put(self, event: str, key: Key, values: dict[str, Any]) -> None:
        """Keep the newest state of the line of a segment and language. Each gap has a line of its own."""
        before = self._lines.get(key)
        number = before.number if before else self._count
        version = self._version + 1
        frame = _frame(event, {"line": number, **values}, f"{self.run}-{version}")
        final, is_empty = values.get("final", True), not values.get("text", True)
        finished = before.finished if before and before.final else version
        is_for_all = self._is_for_all(values.get("track"))
        line = _SharedLine(number, version, None if is_for_all else key[1], final, finished, is_empty, frame)
        with self._guard:
            self._version = version
            self._count += before is None
            self._lines[key] = line
            self._lines.move_to_end(key)
            while len(self._lines) > LINES_KEPT:
                self._lines.popitem(last=False)

    def _change_state(self, state: str, settings: Settings | None) -> None:
        with self._guard:
            self._state, self._settings = state, settings
            self._state_version += 1


def _frame(event: str, values: dict[str, Any], number: str = "") -> bytes:
    """Return an event of the stream (HTML Standard, server-sent events): JSON without line ends."""
    identity = f"id: {number}\n" if number else ""
    return f"event: {event}\n{identity}data: {dump(encode(values))}\n\n".encode()
