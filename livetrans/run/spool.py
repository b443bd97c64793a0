"""Live sound that is not recognised yet is kept here: in memory for a while, then on disk, so that none is dropped."""

from __future__ import annotations

import math
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice
from livetrans.files import private_folder, read_all, write_all

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource

MEMORY_SECONDS = 20.0
"""Sound that waits in memory; what comes then goes to the spool file."""
TAKEN_SECONDS = 10.0
"""Most sound that the listener gets as one chunk."""
_FULL_DISK = "full disk"
_ENTRY_SECONDS = 1.0
_SAMPLE_BYTES = 2


class SpooledSource:
    """An audio source whose sound a thread of its own takes as it comes, whatever the listener does.

    Live sound (with `captured_at`) is never made to wait: past `MEMORY_SECONDS` it goes to an unnamed file in `folder`,
    which the system removes with the process. Where that file cannot be written, the newest sound is left out, counted
    in `skipped`, said once and published as a gap. Sound that was recorded earlier (a file through a pipe) waits at its
    source instead.

    A gap, also of the source, is published when the sound before it has been taken and recognised: an empty chunk at
    its end ends the segment before.
    """

    def __init__(
        self,
        source: AudioSource,
        folder: Path | None = None,
        on_audio: Callable[[AudioChunk], None] = lambda chunk: None,
        publish: Callable[[Notice | Gap], None] = lambda event: None,
    ) -> None:
        """`folder`: where the spool file goes; None for the system's temporary folder. `on_audio` gets each chunk at
        once, in the capturing thread.
        """
        self._source = source
        self._on_audio = on_audio
        self._publish = publish
        self._gaps: deque[Gap] = deque()
        """Those that have not been published, by their start."""
        self._waiting: deque[AudioChunk] = deque()
        self._waiting_samples = 0
        self._spool = _Spool(folder)
        self._skipped_samples = 0
        self._error: Exception | None = None
        self._has_ended = False
        self._closed = False
        self._change = threading.Condition()

    @property
    def duration(self) -> float | None:
        return self._source.duration

    @property
    def skipped(self) -> float:
        return self._source.skipped + self._skipped_samples / SAMPLE_RATE

    @property
    def waiting(self) -> float:
        """Seconds of sound that were captured and not yet taken."""
        return (self._waiting_samples + self._spool.samples) / SAMPLE_RATE

    def __iter__(self) -> Iterator[AudioChunk]:
        """Yield what the source gives, after an error of it too; then raise that error."""
        threading.Thread(target=self._capture, name="capturing", daemon=True).start()
        try:
            while (chunk := self._take()) is not None:
                captured_at = (
                    None if chunk.captured_at is None else chunk.captured_at - len(chunk.samples) / SAMPLE_RATE
                )
                yield from self._over_gaps(chunk.start, captured_at)
                yield chunk
            yield from self._over_gaps(math.inf)
        finally:
            self._source.close()
            with self._change:
                self._closed = True
                self._spool.close()
                self._change.notify_all()
        if self._error is not None:
            raise self._error

    def notify(self, event: Notice | Gap) -> None:
        """Publish what the source has to say; a gap in its place behind the sound that waits."""
        if isinstance(event, Gap):
            with self._change:
                self._gaps.append(event)
        else:
            self._publish(event)

    def _over_gaps(self, until: float, captured_at: float | None = None) -> Iterator[AudioChunk]:
        """Publish the gaps that end by then, each behind an empty chunk at its end."""
        while True:
            with self._change:
                if not self._gaps or self._gaps[0].end > until:
                    return
                gap = self._gaps.popleft()
            yield AudioChunk(np.zeros(0, dtype=np.int16), round(gap.end * SAMPLE_RATE), captured_at)
            self._publish(gap)

    def pause(self, paused: bool) -> None:
        self._source.pause(paused)

    def close(self) -> None:
        self._source.close()

    def _capture(self) -> None:
        error: Exception | None = None
        try:
            for chunk in self._source:
                self._on_audio(chunk)
                if not self._add(chunk):
                    break
        except Exception as fault:
            error = fault
        with self._change:
            self._error, self._has_ended = error, True
            self._change.notify_all()

    def _add(self, chunk: AudioChunk) -> bool:
        """Add a chunk behind the others; False once the source is closed."""
        full = round(MEMORY_SECONDS * SAMPLE_RATE)
        failure: OSError | None = None
        with self._change:
            if chunk.captured_at is None:
                self._change.wait_for(lambda: self._waiting_samples < full or self._closed)
            if self._closed:
                return False
            if chunk.captured_at is None or (self._waiting_samples < full and not self._spool.samples):
                self._waiting.append(chunk)
                self._waiting_samples += len(chunk.samples)
            else:
                try:
                    self._spool.put(chunk)
                except OSError as error:
                    failure = error if not self._skipped_samples else None
                    self._skipped_samples += len(chunk.samples)
                    self._leave_out(chunk)
            self._change.notify_all()
        if failure:
            reason = failure.strerror or str(failure)
            self._publish(
                Notice(
                    "warning",
                    f"Cannot buffer audio on disk ({reason}): some audio will be skipped until there is space.",
                )
            )
        return True

    def _leave_out(self, chunk: AudioChunk) -> None:
        """Make the chunk part of a gap."""
        before = self._gaps[-1] if self._gaps else None
        if before and before.reason == _FULL_DISK and before.end == chunk.start:
            self._gaps[-1] = replace(before, end=chunk.end)
        else:
            self._gaps.append(Gap(chunk.start, chunk.end, _FULL_DISK))

    def _take(self) -> AudioChunk | None:
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._spool.samples or self._has_ended)
            if not self._waiting and not self._spool.samples:
                return None
            parts: list[AudioChunk] = []
            length = 0
            while self._waiting and (not parts or _follows(parts[-1], self._waiting[0])):
                if parts and length + len(self._waiting[0].samples) > TAKEN_SECONDS * SAMPLE_RATE:
                    break
                parts.append(self._waiting.popleft())
                length += len(parts[-1].samples)
            self._waiting_samples -= length
            if not parts:
                parts = [self._spool.take(round(TAKEN_SECONDS * SAMPLE_RATE))]
            self._change.notify_all()
        samples = np.concatenate([part.samples for part in parts])
        return AudioChunk(samples, parts[0].start_sample, parts[-1].captured_at)


def _follows(before: AudioChunk, after: AudioChunk) -> bool:
    return after.start_sample == before.start_sample + len(before.samples)


@dataclass(slots=True)
class _Entry:
    """Consecutive sound in the spool file."""

    offset: int
    start_sample: int
    samples: int
    captured_at: float


class _Spool:
    """Sound in a file, first in, first out; the file is made when it is needed and emptied when it is empty."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._entries: deque[_Entry] = deque()
        self._end = 0
        self.samples = 0
        """Samples that wait."""

    def put(self, chunk: AudioChunk) -> None:
        """Raises OSError where the disk does not take it; nothing of the chunk is kept then."""
        if self._file is None:
            if self._folder is not None:
                private_folder(self._folder)
            # Unbuffered, so that a full disk is an error here and not at the next read.
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder, prefix="livetrans-")
        self._file.seek(self._end)
        write_all(self._file, chunk.samples.astype("<i2").tobytes())
        length, captured_at = len(chunk.samples), chunk.captured_at or 0.0
        last = self._entries[-1] if self._entries else None
        follows = last is not None and chunk.start_sample == last.start_sample + last.samples
        if last is not None and follows and last.samples < _ENTRY_SECONDS * SAMPLE_RATE:
            last.samples += length
            last.captured_at = captured_at
        else:
            self._entries.append(_Entry(self._end, chunk.start_sample, length, captured_at))
        self._end += length * _SAMPLE_BYTES
        self.samples += length

    def take(self, maximum: int) -> AudioChunk:
        """Remove and return the oldest consecutive sound, about `maximum` samples."""
        assert self._file is not None
        first = self._entries.popleft()
        count, captured_at = first.samples, first.captured_at
        while self._entries and count < maximum and self._entries[0].start_sample == first.start_sample + count:
            entry = self._entries.popleft()
            count, captured_at = count + entry.samples, entry.captured_at
        self._file.seek(first.offset)
        samples = np.frombuffer(read_all(self._file, count * _SAMPLE_BYTES), dtype="<i2").astype(np.int16)
        self.samples -= count
        if not self._entries:
            self._end = 0
            self._file.truncate(0)
        return AudioChunk(samples, first.start_sample, captured_at)

    def close(self) -> None:
        self._entries.clear()
        self.samples = 0
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None
