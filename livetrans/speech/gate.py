"""The voice-activity gate passes on speech, marks pauses, and drops silence, noise and music.

It asks a detector (`livetrans.speech.detectors`). Rules of levels cannot do this: music and a keyboard rise and fall in
level as speech does.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from livetrans.config import GateSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, SpeechChunk
from livetrans.speech.detectors import Detector, detector_of

OPENING_SECONDS = 1.0
"""Time within which the voiced windows that open the gate must come."""


@dataclass(slots=True)
class _Window:
    samples: NDArray[np.int16]
    start_sample: int
    is_voiced: bool


class VoiceActivityGate:
    """A gate that cuts sound into the windows of its detector, aligned to the sample count, and passes on speech.

    Chunks between pauses are contiguous; no sample comes twice. `open` is whether speech is passing.
    """

    def __init__(self, settings: GateSettings, detector: Detector | None = None) -> None:
        """`detector`: instead of that of the settings."""
        self._detector = detector or detector_of(settings)
        self._pause_windows = max(self._windows(settings.pause), 1)
        self._pre_roll_windows = self._windows(settings.pre_roll)
        self._hang_over_windows = min(self._windows(settings.hang_over), self._pause_windows)
        self._minimum_windows = max(self._windows(settings.minimum_speech), 1)
        opening = int(OPENING_SECONDS * SAMPLE_RATE) // self._detector.window
        self._rest = np.zeros(0, dtype=np.int16)
        self._next_sample = 0
        self._recent: deque[_Window] = deque(maxlen=opening)
        longest = max(opening + self._pre_roll_windows, self._pause_windows)
        self._held: deque[_Window] = deque(maxlen=longest)
        """Closed: the sound from which an opening is taken. Open: the sound of a pause that may yet end."""
        self._unvoiced_windows = 0
        self._last: AudioChunk | None = None
        self._released: list[NDArray[np.int16]] = []
        """Consecutive sound that is in no chunk yet, up to the sample `_released_end`."""
        self._released_end = 0
        self._chunks: list[SpeechChunk] = []
        self.open = False

    def feed(self, chunk: AudioChunk) -> list[SpeechChunk]:
        """Take sound; return the speech that is ready. A gap in the sound ends the stretch before it."""
        self._last = chunk
        if chunk.start_sample != self._next_sample:
            self._end_stretch()
            self._next_sample = chunk.start_sample
        self._next_sample += len(chunk.samples)
        samples = np.concatenate([self._rest, chunk.samples])
        start = self._next_sample - len(samples)
        window = self._detector.window
        whole = len(samples) // window * window
        for offset in range(0, whole, window):
            self._take(samples[offset : offset + window], start + offset)
        self._rest = samples[whole:]
        return self._ready()

    def flush(self) -> list[SpeechChunk]:
        """End the source; return the speech that is still held back, and a pause."""
        self._end_stretch()
        return self._ready()

    def _take(self, samples: NDArray[np.int16], start_sample: int) -> None:
        window = _Window(samples, start_sample, self._detector.is_voiced(samples, self.open))
        if self.open:
            self._go_on(window)
            return
        self._recent.append(window)
        self._held.append(window)
        if sum(recent.is_voiced for recent in self._recent) >= self._minimum_windows:
            self._open()

    def _open(self) -> None:
        """Release the sound since the first voiced window, and its pre-roll."""
        self.open = True
        self._unvoiced_windows = 0
        held = list(self._held)
        self._held.clear()
        first = next(i for i, w in enumerate(held) if w.is_voiced and i >= len(held) - len(self._recent))
        for window in held[max(first - self._pre_roll_windows, 0) :]:
            self._release(window)

    def _go_on(self, window: _Window) -> None:
        self._unvoiced_windows = 0 if window.is_voiced else self._unvoiced_windows + 1
        if window.is_voiced:
            for held in self._held:
                self._release(held)
            self._held.clear()
        if self._unvoiced_windows <= self._hang_over_windows:
            self._release(window)
            if self._unvoiced_windows == self._hang_over_windows < self._pause_windows:
                self._finish_chunk(may_end=True)
        else:
            self._held.append(window)
        if self._unvoiced_windows >= self._pause_windows:
            self._close()

    def _release(self, window: _Window) -> None:
        self._released.append(window.samples)
        self._released_end = window.start_sample + len(window.samples)

    def _close(self) -> None:
        """Confirm the pause; the sound held back in it may become the pre-roll of the next stretch."""
        self.open = False
        self._finish_chunk(pause=True)
        self._recent.clear()

    def _end_stretch(self) -> None:
        """End an open stretch, at the end of the source or at a gap."""
        if self.open:
            # Too short for a window, but the last word may end in it.
            if self._unvoiced_windows < self._hang_over_windows and len(self._rest):
                self._release(_Window(self._rest, self._next_sample - len(self._rest), False))
            self._close()
        self._held.clear()
        self._recent.clear()
        self._rest = self._rest[:0]

    def _finish_chunk(self, *, pause: bool = False, may_end: bool = False) -> None:
        """Make a chunk of the sound released so far; only a pause may have none."""
        samples = np.concatenate(self._released) if self._released else np.zeros(0, dtype=np.int16)
        captured_at = None
        if self._last is not None and self._last.captured_at is not None:
            captured_at = self._last.captured_at - (self._last.end - self._released_end / SAMPLE_RATE)
        self._chunks.append(SpeechChunk(samples, self._released_end - len(samples), pause, captured_at, may_end))
        self._released = []

    def _ready(self) -> list[SpeechChunk]:
        if self._released:
            self._finish_chunk()
        chunks, self._chunks = self._chunks, []
        return chunks

    def _windows(self, seconds: float) -> int:
        return ceil(round(seconds * SAMPLE_RATE / self._detector.window, 6))
