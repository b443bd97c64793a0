"""The voice-activity gate passes on speech, marks pauses, and drops silence and steady noise; it owns `webrtcvad`.

webrtcvad takes loud steady noise for voice. But the level of speech rises and falls with every syllable, by far more
than 6 dB within a second, and that of steady noise does not (white, pink, hum: under 5 dB between windows of 30 ms). So
a window is voiced if webrtcvad finds voice in it and the windows with voice of the last second have both risen and
fallen by 6 dB (3 dB once the gate is open). Only falling is noise that stops, only rising is noise that starts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np

from livetrans.config import GateSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, SpeechChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

WINDOW = 480
"""Samples of a window: 30 ms."""
OPENING_WINDOWS = 33
"""One second: within it a beginning has to look like speech."""
MODULATION = 6.0
"""Decibels by which the level has to rise and fall within that second for the gate to open."""
SUSTAINED_MODULATION = MODULATION / 2
"""The same to stay open: a long "uhm" is steadier than the words around it, and must not end their segment."""


@dataclass(slots=True)
class _Window:
    samples: NDArray[np.int16]
    start_sample: int
    level: float | None
    """Decibels; None where webrtcvad found no voice."""


class VoiceActivityGate:
    """A gate that cuts sound into windows of 30 ms, aligned to the sample count, and passes on those of speech.

    Chunks between pauses are contiguous; no sample comes twice. `open` is whether speech is passing.
    """

    def __init__(self, settings: GateSettings, is_speech: Callable[[NDArray[np.int16]], bool] | None = None) -> None:
        """`is_speech` replaces webrtcvad: called once for each window of 480 samples, in order."""
        self._is_speech = is_speech or _webrtc(settings.aggressiveness)
        self._pause_windows = max(_windows(settings.pause), 1)
        self._pre_roll_windows = _windows(settings.pre_roll)
        self._hang_over_windows = min(_windows(settings.hang_over), self._pause_windows)
        self._minimum_windows = max(_windows(settings.minimum_speech), 1)
        self._rest = np.zeros(0, dtype=np.int16)
        self._next_sample = 0
        self._recent: deque[_Window] = deque(maxlen=OPENING_WINDOWS)
        longest = max(OPENING_WINDOWS + self._pre_roll_windows, self._pause_windows)
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
        whole = len(samples) // WINDOW * WINDOW
        for offset in range(0, whole, WINDOW):
            self._take(samples[offset : offset + WINDOW], start + offset)
        self._rest = samples[whole:]
        return self._ready()

    def flush(self) -> list[SpeechChunk]:
        """End the source; return the speech that is still held back, and a pause."""
        self._end_stretch()
        return self._ready()

    def _take(self, samples: NDArray[np.int16], start_sample: int) -> None:
        level = _level(samples) if self._is_speech(samples) else None
        window = _Window(samples, start_sample, level)
        self._recent.append(window)
        levels = [recent.level for recent in self._recent if recent.level is not None]
        voiced = level is not None and _modulated(levels, SUSTAINED_MODULATION if self.open else MODULATION)
        if self.open:
            self._go_on(window, voiced)
            return
        self._held.append(window)
        if voiced and len(levels) >= self._minimum_windows:
            self._open()

    def _open(self) -> None:
        """Release the sound since the first window with voice, and its pre-roll."""
        self.open = True
        self._unvoiced_windows = 0
        held = list(self._held)
        self._held.clear()
        first = next(i for i, w in enumerate(held) if w.level is not None and i >= len(held) - len(self._recent))
        for window in held[max(first - self._pre_roll_windows, 0) :]:
            self._release(window)

    def _go_on(self, window: _Window, voiced: bool) -> None:
        self._unvoiced_windows = 0 if voiced else self._unvoiced_windows + 1
        if voiced:
            for held in self._held:
                self._release(held)
            self._held.clear()
        if self._unvoiced_windows <= self._hang_over_windows:
            self._release(window)
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
                self._release(_Window(self._rest, self._next_sample - len(self._rest), None))
            self._close()
        self._held.clear()
        self._recent.clear()
        self._rest = self._rest[:0]

    def _finish_chunk(self, pause: bool) -> None:
        """Make a chunk of the sound released so far; only a pause may have none."""
        samples = np.concatenate(self._released) if self._released else np.zeros(0, dtype=np.int16)
        captured_at = None
        if self._last is not None and self._last.captured_at is not None:
            captured_at = self._last.captured_at - (self._last.end - self._released_end / SAMPLE_RATE)
        self._chunks.append(SpeechChunk(samples, self._released_end - len(samples), pause, captured_at))
        self._released = []

    def _ready(self) -> list[SpeechChunk]:
        if self._released:
            self._finish_chunk(pause=False)
        chunks, self._chunks = self._chunks, []
        return chunks


def _webrtc(aggressiveness: int) -> Callable[[NDArray[np.int16]], bool]:
    """Return webrtcvad's test of a window; it adapts to the sound before, so windows come in order."""
    import webrtcvad

    detector = webrtcvad.Vad(aggressiveness)
    return lambda window: bool(detector.is_speech(window.tobytes(), SAMPLE_RATE))


def _windows(seconds: float) -> int:
    return ceil(round(seconds * SAMPLE_RATE / WINDOW, 6))


def _level(samples: NDArray[np.int16]) -> float:
    power = float(np.mean(np.square(samples.astype(np.float64))))
    return 10 * log10(power + 1e-3)


def _modulated(levels: list[float], decibels: float) -> bool:
    rise = max(level - low for level, low in zip(levels, accumulate(levels, min), strict=True))
    fall = max(high - level for level, high in zip(levels, accumulate(levels, max), strict=True))
    return min(rise, fall) >= decibels
