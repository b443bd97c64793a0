"""The sound that waits for the recogniser: a queue for each source, and the order in which several are heard.

One recogniser and one thread serve all tracks. The oldest waiting sound is taken first, so that no track waits for more
than a pass of another.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from livetrans.audio.source import AudioSource, WrappedSource
from livetrans.base.errors import sentence
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, GapReason, Notice
from livetrans.run.listening import OnAudio, TrackStages
from livetrans.run.publisher import Publish

LIVE_SECONDS = 2 * 3600.0
"""Live sound that waits at most; later sound is left out. It takes 115 MB of memory an hour."""
RECORDED_SECONDS = 20.0
"""Sound that was recorded earlier waits at its source when the queue holds this much."""
TAKEN_SECONDS = 10.0
"""Most sound that a run of one track takes at once."""
SHARED_SECONDS = 0.5
"""The same for each of several tracks: none waits longer for the end of another's chunk."""
PATIENCE_SECONDS = 0.3
"""Sound of one track waits this long for earlier sound of another: a silent program may give none."""
CLOSE_SECONDS = 0.5
"""A source that was closed may give its last sound for this long."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Sound that would be taken next."""

    start_sample: int
    end_sample: int
    first_captured_at: float | None
    """Clock time at which its first sample was captured; None for sound that was recorded earlier."""


class QueuedSource(WrappedSource):
    """A source whose sound is taken by a thread of its own as it comes, whatever the listener does.

    Live sound (with `captured_at`) never waits at its source. A gap is published once the sound before it has been
    recognised; an empty chunk at its end finishes the segment before.
    """

    def __init__(
        self,
        source: AudioSource,
        publish: Callable[[Notice | Gap], None],
        on_audio: OnAudio = lambda chunk: None,
        track: str | None = None,
        change: threading.Condition | None = None,
        *,
        is_shared: bool = False,
    ) -> None:
        """`on_audio` gets each chunk at once, in the capturing thread. `track` names the track of chunks and gaps.

        `change` is notified of each chunk; sources whose listener is shared share it too.
        """
        super().__init__(source)
        self._publish = publish
        self._on_audio = on_audio
        self._track = track
        self._longest = (SHARED_SECONDS if is_shared else TAKEN_SECONDS) * SAMPLE_RATE
        self._change = change or threading.Condition()
        self._queue: deque[AudioChunk | Gap] = deque()
        self._samples = 0
        self._left_out_samples = 0
        self._error: Exception | None = None
        self._is_started = False
        self._has_ended = False
        self._closed = False

    @property
    def skipped(self) -> float:
        return super().skipped + self._left_out_samples / SAMPLE_RATE

    @property
    def has_ended(self) -> bool:
        """Whether no more sound comes, or none is waited for; what waits is still given."""
        return self._has_ended or self._closed

    def __iter__(self) -> Iterator[AudioChunk]:
        """Yield what the source gives, also after an error of it; then raise that error."""
        self.start()
        try:
            while (item := self._take()) is not None:
                if isinstance(item, Gap):
                    waiting = self.waiting()
                    instant = waiting.first_captured_at if waiting else None
                    yield AudioChunk(np.zeros(0, np.int16), round(item.end * SAMPLE_RATE), instant, self._track)
                    self._publish(item)
                else:
                    yield item
        finally:
            self.close()
        if self._error is not None:
            raise self._error

    def start(self) -> None:
        """Take the source's sound from now on. Iterating does that too."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._capture, name="capturing", daemon=True).start()

    def close(self) -> None:
        super().close()
        with self._change:
            self._closed = True
            self._change.notify_all()

    def notify(self, event: Notice | Gap) -> None:
        """Publish a notice of the source now, and a gap at its place in the sound."""
        if isinstance(event, Gap):
            with self._change:
                self._queue.append(replace(event, track=self._track))
                self._change.notify_all()
        else:
            self._publish(event)

    def waiting(self) -> Waiting | None:
        """Return the extent of the sound that would be taken next; None if none waits."""
        with self._change:
            chunks = self._taken_together()
            if not chunks:
                return None
            first, last = chunks[0], chunks[-1]
            instant = None if first.captured_at is None else first.captured_at - len(first.samples) / SAMPLE_RATE
            return Waiting(first.start_sample, _end(last), instant)

    def _capture(self) -> None:
        error: Exception | None = None
        try:
            for chunk in self._source:
                if self._track is not None:
                    chunk = replace(chunk, track=self._track)
                self._on_audio(chunk)
                if not self._add(chunk):
                    break
        except Exception as fault:
            error = fault
        with self._change:
            self._error, self._has_ended = error, True
            self._change.notify_all()

    def _add(self, chunk: AudioChunk) -> bool:
        """Add a chunk to the queue; return False once the queue takes no more."""
        with self._change:
            if chunk.captured_at is None:
                full = RECORDED_SECONDS * SAMPLE_RATE
                self._change.wait_for(lambda: self._samples < full or self._closed)
            is_first_left_out = False
            if self._samples >= LIVE_SECONDS * SAMPLE_RATE:
                is_first_left_out = not self._left_out_samples
                self._leave_out(chunk)
            else:
                self._samples += len(chunk.samples)
                self._queue.append(chunk)
            self._change.notify_all()
            is_open = not (self._closed and chunk.captured_at is None)
        if is_first_left_out:
            hours = f"{LIVE_SECONDS / 3600:.0f} hours"
            self._publish(
                Notice("warning", f"{hours} of sound are waiting to be recognised; what follows is left out.")
            )
        return is_open

    def _leave_out(self, chunk: AudioChunk) -> None:
        """Make the chunk part of a gap."""
        self._left_out_samples += len(chunk.samples)
        start, last = chunk.start, self._queue[-1]
        if isinstance(last, Gap) and last.reason == GapReason.TOO_SLOW:
            start = self._queue.pop().start
        self._queue.append(Gap(start, chunk.end, GapReason.TOO_SLOW, self._track))

    def _take(self) -> AudioChunk | Gap | None:
        """Remove and return the next gap, or the waiting sound (see `_taken_together`); None at the end."""
        with self._change:
            self._change.wait_for(lambda: self._queue or self._has_ended or self._closed)
            if self._closed:
                self._change.wait_for(lambda: self._queue or self._has_ended, CLOSE_SECONDS)
            if self._queue and isinstance(self._queue[0], Gap):
                return self._queue.popleft()
            chunks = self._taken_together()
            if not chunks:
                return None
            for _ in chunks:
                self._queue.popleft()
            samples = np.concatenate([chunk.samples for chunk in chunks])
            self._samples -= len(samples)
            self._change.notify_all()
        return replace(chunks[0], samples=samples, captured_at=chunks[-1].captured_at)

    def _taken_together(self) -> list[AudioChunk]:
        """Return the first waiting chunk and those that continue it, at most the longest that may be taken at once."""
        chunks: list[AudioChunk] = []
        for item in self._queue:
            if isinstance(item, Gap):
                if chunks:
                    break
                continue
            is_too_long = chunks and _end(item) - chunks[0].start_sample > self._longest
            if is_too_long or (chunks and item.start_sample != _end(chunks[-1])):
                break
            chunks.append(item)
        return chunks


def _end(chunk: AudioChunk) -> int:
    return chunk.start_sample + len(chunk.samples)


@dataclass(frozen=True, slots=True)
class Track:
    """A track of a run: its sound and its stages."""

    sound: QueuedSource
    stages: TrackStages


class OldestFirst:
    """The sound of several tracks, one chunk at a time: the oldest that waits."""

    def __init__(self, tracks: Sequence[Track], change: threading.Condition, publish: Publish) -> None:
        """`change` is what the sources share. Of sound of equal age, that of an earlier track comes first."""
        self._tracks = tracks
        self._change = change
        self._publish = publish

    def oldest_waiting(self) -> float | None:
        """Return the capture time of the oldest live sound that waits; None without."""
        extents = (track.sound.waiting() for track in self._tracks)
        instants = (extent.first_captured_at for extent in extents if extent)
        return min((instant for instant in instants if instant is not None), default=None)

    def __iter__(self) -> Iterator[tuple[TrackStages, AudioChunk | None]]:
        """Yield sound, and None after the last of a track, until every source has ended.

        Raises:
            Exception: what ended one of them; the others are heard to their ends before.
        """
        failure: Exception | None = None
        sounds = {id(track): iter(track.sound) for track in self._tracks}
        unfinished = list(self._tracks)
        for track in unfinished:
            track.sound.start()
        while unfinished:
            track = self._next(unfinished)
            try:
                chunk = next(sounds[id(track)])
            except StopIteration:
                unfinished.remove(track)
            except Exception as error:
                unfinished.remove(track)
                failure = failure or error
                if unfinished:
                    self._publish(Notice("warning", f"Nothing more is heard of {track.stages.name}: {sentence(error)}"))
            else:
                yield track.stages, chunk
                continue
            yield track.stages, None
        if failure:
            raise failure

    def _next(self, tracks: Sequence[Track]) -> Track:
        """Wait for sound, or the end of a source; return the track that has it.

        If several have sound, an earlier track goes first if its sound starts before the first of their chunks ends.
        """

        def is_known(track: Track) -> bool:
            return track.sound.has_ended or track.sound.waiting() is not None

        if len(tracks) == 1:
            return tracks[0]
        with self._change:
            self._change.wait_for(lambda: any(map(is_known, tracks)))
            is_recorded = any((sound := track.sound.waiting()) and sound.first_captured_at is None for track in tracks)
            # Recorded sound is heard in the same order on every machine.
            self._change.wait_for(lambda: all(map(is_known, tracks)), None if is_recorded else PATIENCE_SECONDS)
            extents = [(track, track.sound.waiting()) for track in tracks]
            for track, extent in extents:
                if extent is None and track.sound.has_ended:
                    return track
            known = [(track, extent) for track, extent in extents if extent is not None]
            first_to_end, first_extent = min(known, key=lambda one: one[1].end_sample)
            early = (track for track, extent in known if extent.start_sample < first_extent.end_sample)
            return next(early, first_to_end)
