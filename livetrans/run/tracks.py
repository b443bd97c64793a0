"""Two tracks in one run: what the computer plays and the microphone, each with its gate and transcriber.

One recogniser and one thread serve both. The sound that waits longest is taken first, so that neither track waits for
more than a pass of the other. What the microphone hears of the loudspeaker is silenced (`livetrans.audio.bleed`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livetrans.audio.source import WrappedSource
from livetrans.errors import sentence
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice
from livetrans.run.listening import Hearing
from livetrans.run.publisher import Publish
from livetrans.run.spool import SpooledSource

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource

PATIENCE_SECONDS = 0.3
"""Sound of one track waits so long for earlier sound of the other: a program that is silent may give none."""


class TrackSource(WrappedSource):
    """A source whose sound and gaps name their track, in the source time of the run.

    Source time begins where the run begins to listen: live sources start one after the other.
    """

    def __init__(self, source: AudioSource, track: str, began_at: float) -> None:
        """`began_at`: the instant of source time 0."""
        super().__init__(source)
        self._track = track
        self._began_at = began_at
        self._offset = 0

    def __iter__(self) -> Iterator[AudioChunk]:
        is_first = True
        for chunk in self._source:
            if is_first and chunk.captured_at is not None:
                began_at = chunk.captured_at - chunk.end
                self._offset = max(round((began_at - self._began_at) * SAMPLE_RATE), 0)
            is_first = False
            yield replace(chunk, start_sample=chunk.start_sample + self._offset, track=self._track)

    def notifying(self, notify: Callable[[Notice | Gap], None]) -> Callable[[Notice | Gap], None]:
        """Return what passes on what the source has to say, a gap in the run's source time."""

        def in_run_time(event: Notice | Gap) -> None:
            if isinstance(event, Gap):
                offset = self._offset / SAMPLE_RATE
                event = replace(event, start=event.start + offset, end=event.end + offset, track=self._track)
            notify(event)

        return in_run_time


@dataclass(frozen=True, slots=True)
class Track:
    """A track of a run: its source and its stages."""

    name: str
    source: SpooledSource
    hearing: Hearing


class Turns:
    """The sound of several sources, that of one at a time: the oldest that waits."""

    def __init__(self, tracks: Sequence[Track], change: threading.Condition, publish: Publish) -> None:
        """`change` is what the sources share. Of equal age, the sound of an earlier track comes first."""
        self._tracks = tracks
        self._change = change
        self._publish = publish

    def waits_from(self) -> float | None:
        """Return when the oldest sound was captured that waits; None without."""
        parts = [track.source.next_part() for track in self._tracks]
        return min((part[2] for part in parts if part and part[2] is not None), default=None)

    def __iter__(self) -> Iterator[tuple[Hearing, AudioChunk | None]]:
        """Yield sound, and None behind the last of a track, until every source has ended.

        Raises:
            Exception: what ended one of them; the others are heard to their ends before.
        """
        failure: Exception | None = None
        sounds = {track.name: iter(track.source) for track in self._tracks}
        waiting = list(self._tracks)
        for track in waiting:
            track.source.start()
        while waiting:
            track = self._next(waiting)
            try:
                chunk = next(sounds[track.name])
            except StopIteration:
                waiting.remove(track)
            except Exception as error:
                waiting.remove(track)
                failure = failure or error
                if waiting:
                    self._publish(Notice("warning", f"Nothing more is heard of {track.name}: {sentence(error)}"))
            else:
                yield track.hearing, chunk
                continue
            yield track.hearing, None
        if failure:
            raise failure

    def _next(self, tracks: Sequence[Track]) -> Track:
        """Wait for sound, or the end of a source; return the track that has it.

        That of the first track comes first if it begins before the end of what the other would give.
        """

        def is_known(track: Track) -> bool:
            return track.source.has_ended or track.source.next_part() is not None

        with self._change:
            self._change.wait_for(lambda: any(map(is_known, tracks)))
            if any((part := track.source.next_part()) and part[2] is None for track in tracks):
                self._change.wait_for(lambda: all(map(is_known, tracks)))
            else:
                self._change.wait_for(lambda: all(map(is_known, tracks)), PATIENCE_SECONDS)
            parts = [(track, track.source.next_part()) for track in tracks]
            for track, part in parts:
                if part is None and track.source.has_ended:
                    return track
            given = [(track, part) for track, part in parts if part is not None]
            first_to_end, (_, ends, _) = min(given, key=lambda one: one[1][1])
            return next((track for track, (start, _, _) in given if start < ends), first_to_end)
