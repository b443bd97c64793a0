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

from livetrans.audio.source import WrappedSource
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice
from livetrans.files import private_folder, read_all, write_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.audio.source import AudioSource

MEMORY_SECONDS = 20.0
"""Sound that waits in memory; what comes then goes to the spool file."""
TAKEN_SECONDS = 10.0
"""Most sound that the listener gets as one chunk."""
SHARED_SECONDS = 0.5
"""The same of one of several sources: of two that go on, the one that is ahead waits until the other has reached the
end of its chunk, which may not recede with each sound that comes."""
_FULL_DISK = "full disk"
_SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A chunk that waits."""

    start_sample: int
    length: int
    captured_at: float | None
    samples: NDArray[np.int16] | None
    """None where they are in the spool file."""

    @property
    def end_sample(self) -> int:
        return self.start_sample + self.length


class _SpoolFile:
    """Samples in an unnamed file, first in, first out; it is made when it is needed, and emptied when it is empty."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._begin = self._end = 0

    @property
    def samples(self) -> int:
        """Samples that wait."""
        return (self._end - self._begin) // _SAMPLE_BYTES

    def put(self, samples: NDArray[np.int16]) -> None:
        """Append samples.

        Raises:
            OSError: the disk does not take them; none of them is kept then.
        """
        if self._file is None:
            if self._folder is not None:
                private_folder(self._folder)
            # Unbuffered, so that a full disk is an error here and not at the next read.
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder, prefix="livetrans-")
        self._file.seek(self._end)
        write_all(self._file, samples.astype("<i2").tobytes())
        self._end += len(samples) * _SAMPLE_BYTES

    def take(self, count: int) -> NDArray[np.int16]:
        """Remove and return the oldest samples."""
        assert self._file is not None
        self._file.seek(self._begin)
        samples = np.frombuffer(read_all(self._file, count * _SAMPLE_BYTES), dtype="<i2").astype(np.int16)
        self._begin += count * _SAMPLE_BYTES
        if self._begin == self._end:
            self._begin = self._end = 0
            self._file.truncate(0)
        return samples

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()


class SpooledSource(WrappedSource):
    """An audio source whose sound a thread of its own takes as it comes, whatever the listener does.

    Live sound (with `captured_at`) is never made to wait: past `MEMORY_SECONDS` it goes to an unnamed file in `folder`,
    which the system removes with the process. Where that file cannot be written, the newest sound is left out, counted
    in `skipped`, published as a gap and reported once. Sound that was recorded earlier (a file through a pipe) waits at
    its source instead.

    A gap, also of the source, is published when the sound before it has been taken and recognised: an empty chunk at
    its end ends the segment before.
    """

    def __init__(
        self,
        source: AudioSource,
        folder: Path | None = None,
        on_audio: Callable[[AudioChunk], None] = lambda chunk: None,
        publish: Callable[[Notice | Gap], None] = lambda event: None,
        change: threading.Condition | None = None,
    ) -> None:
        """`folder`: where the spool file goes; None for the system's temporary folder. `on_audio` gets each chunk at
        once, in the capturing thread. `change` is notified of each; several sources may share it.
        """
        super().__init__(source)
        self._on_audio = on_audio
        self._publish = publish
        self._gaps: deque[Gap] = deque()
        """Those that have not been published, by their start."""
        self._waiting: deque[_Waiting] = deque()
        self._memory_samples = 0
        self._spool = _SpoolFile(folder)
        self._skipped_samples = 0
        self._error: Exception | None = None
        self._is_started = False
        self._has_ended = False
        self._closed = False
        self._taken_seconds = SHARED_SECONDS if change else TAKEN_SECONDS
        self._change = change or threading.Condition()

    @property
    def skipped(self) -> float:
        return super().skipped + self._skipped_samples / SAMPLE_RATE

    def __iter__(self) -> Iterator[AudioChunk]:
        """Yield what the source gives, after an error of it too; then raise that error."""
        self.start()
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

    def start(self) -> None:
        """Take the source's sound from now on; the iteration does that too."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._capture, name="capturing", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Whether the source gives no more sound; what waits is still to be taken."""
        with self._change:
            return self._has_ended

    def next_part(self) -> tuple[float, float, float | None] | None:
        """Return start and end, in source time, of what the iteration would yield without waiting, and when the sound
        at its start was captured; None where nothing waits.
        """
        with self._change:
            parts = self._taken_together()
            if not parts:
                return None
            first, last = parts[0], parts[-1]
            captured_at = None if first.captured_at is None else first.captured_at - first.length / SAMPLE_RATE
            return first.start_sample / SAMPLE_RATE, last.end_sample / SAMPLE_RATE, captured_at

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
                self._change.wait_for(lambda: self._memory_samples < full or self._closed)
            if self._closed:
                return False
            length = len(chunk.samples)
            is_spooled = chunk.captured_at is not None and (self._memory_samples >= full or self._spool.samples > 0)
            try:
                if is_spooled:
                    self._spool.put(chunk.samples)
                else:
                    self._memory_samples += length
                samples = None if is_spooled else chunk.samples
                self._waiting.append(_Waiting(chunk.start_sample, length, chunk.captured_at, samples))
            except OSError as error:
                failure = error if not self._skipped_samples else None
                self._skipped_samples += length
                self._leave_out(chunk)
            self._change.notify_all()
        if failure:
            reason = failure.strerror or str(failure)
            text = f"Cannot buffer audio on disk ({reason}): some audio will be skipped until there is space."
            self._publish(Notice("warning", text))
        return True

    def _leave_out(self, chunk: AudioChunk) -> None:
        """Make the chunk part of a gap."""
        before = self._gaps[-1] if self._gaps else None
        if before and before.reason == _FULL_DISK and before.end == chunk.start:
            self._gaps[-1] = replace(before, end=chunk.end)
        else:
            self._gaps.append(Gap(chunk.start, chunk.end, _FULL_DISK))

    def _take(self) -> AudioChunk | None:
        """Remove and return the oldest sound, see `_taken_together`; None at the end."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._has_ended)
            parts = self._taken_together()
            if not parts:
                return None
            samples = [self._samples_of(self._waiting.popleft()) for _ in parts]
            self._change.notify_all()
        return AudioChunk(np.concatenate(samples), parts[0].start_sample, parts[-1].captured_at)

    def _taken_together(self) -> list[_Waiting]:
        """Return what the listener gets as one chunk: consecutive ones that wait, no more than may be at once."""
        parts: list[_Waiting] = []
        longest = self._taken_seconds * SAMPLE_RATE
        for waiting in self._waiting:
            if parts and (
                waiting.start_sample != parts[-1].end_sample or waiting.end_sample - parts[0].start_sample > longest
            ):
                break
            parts.append(waiting)
        return parts

    def _samples_of(self, waiting: _Waiting) -> NDArray[np.int16]:
        if waiting.samples is None:
            return self._spool.take(waiting.length)
        self._memory_samples -= waiting.length
        return waiting.samples
