"""The voice-activity gate passes on speech, marks pauses, and drops silence, noise and music.

It asks Silero's detector, a small network with a memory of the sound before, which comes with faster-whisper. Rules of
levels cannot do this: music and a keyboard rise and fall in level as speech does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from livetrans.config import GateSettings
from livetrans.events import FULL_SCALE, SAMPLE_RATE, AudioChunk, SpeechChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

WINDOW = 512
"""Samples of a window, 32 ms: what Silero takes."""
OPENING_WINDOWS = 31
"""One second, within which the voiced windows that open the gate must come."""
OPENS = (0.1, 0.2, 0.3, 0.5)
"""Probability of speech from which a window is voiced while the gate is closed, for each strictness."""
STAYS = 0.5
"""Share of that probability from which it is voiced while the gate is open."""
CONTEXT = 64
"""Samples before a window that Silero takes with it."""


@dataclass(slots=True)
class _Window:
    samples: NDArray[np.int16]
    start_sample: int
    is_voiced: bool


class VoiceActivityGate:
    """A gate that cuts sound into windows of 32 ms, aligned to the sample count, and passes on those of speech.

    Chunks between pauses are contiguous; no sample comes twice. `open` is whether speech is passing.
    """

    def __init__(self, settings: GateSettings, detect: Callable[[NDArray[np.int16]], float] | None = None) -> None:
        """`detect` returns the probability of speech in a window; it is called once for each window, in order."""
        self._detect = detect or silero()
        self._opens = OPENS[settings.aggressiveness]
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
        is_voiced = self._detect(samples) >= self._opens * (STAYS if self.open else 1.0)
        window = _Window(samples, start_sample, is_voiced)
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


def silero() -> Callable[[NDArray[np.int16]], float]:
    """Return Silero's probability of speech in a window; its memory goes from window to window."""
    session = _silero_session()
    memory = {"h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)}
    before = np.zeros(CONTEXT, np.float32)

    def detect(window: NDArray[np.int16]) -> float:
        nonlocal before
        samples = window.astype(np.float32) / np.float32(FULL_SCALE)
        inputs = {"input": np.concatenate([before, samples])[None], **memory}
        probability, memory["h"], memory["c"] = session.run(None, inputs)
        before = samples[-CONTEXT:]
        return float(probability.item())

    return detect


@cache
def _silero_session() -> Any:
    """Load the network once; gates share it, as their memory is an input of each call."""
    import onnxruntime

    package = find_spec("faster_whisper")  # which need not be imported
    assert package and package.origin
    path = next((Path(package.origin).parent / "assets").glob("silero_vad*.onnx"))
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _windows(seconds: float) -> int:
    return ceil(round(seconds * SAMPLE_RATE / WINDOW, 6))
