"""A recogniser that reads its words from the sound itself: for tests, and for a pipeline without a model.

`speak` writes each word as a block of one constant sample value, its number; `ScriptedRecogniser` finds the blocks. So
it needs no idea of time: it recognises whatever the buffer holds, wherever the buffer was cut, like a real recogniser.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from livetrans.events import SAMPLE_RATE, Word
from livetrans.speech.recogniser import Hypothesis

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FULL_SCALE = 32_768


def speak(words: Sequence[Word], length: float | None = None) -> NDArray[np.int16]:
    """Sound of at most 32,767 words at their times, shape (n,); `length` seconds, or to the last word's end."""
    total = max((word.end for word in words), default=0.0) if length is None else length
    samples = np.zeros(round(total * SAMPLE_RATE), dtype=np.int16)
    for number, word in enumerate(words, start=1):
        samples[round(word.start * SAMPLE_RATE) : round(word.end * SAMPLE_RATE)] = number
    return samples


class ScriptedRecogniser:
    """Recognises what `speak` wrote; it errs only where a real recogniser does, at the buffer's unstable end."""

    def __init__(self, words: Sequence[Word], *, unstable: float = 0.0) -> None:
        """`unstable`: words that end within so many seconds of the buffer's end are misread, anew in each pass."""
        self._words = tuple(words)
        self._unstable = unstable
        self.passes: list[tuple[float, str, bool]] = []
        """Seconds of sound, prompt and `final` of every pass, for tests to look at."""

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        numbers = np.rint(samples * _FULL_SCALE).astype(np.int64)
        self.passes.append((len(numbers) / SAMPLE_RATE, prompt, final))
        edges = np.flatnonzero(np.diff(numbers)) + 1
        bounds = [0, *edges.tolist(), len(numbers)]
        heard = [
            self._hear(int(numbers[start]), start, stop, len(numbers), final)
            for start, stop in pairwise(bounds)
            if stop > start and numbers[start] != 0
        ]
        words = tuple(word for word in heard if word is not None)
        ends = tuple(word.end for word in words if word.text.endswith((".", "!", "?")))
        return Hypothesis(words, ends)

    def _hear(self, number: int, start: int, stop: int, total: int, final: bool) -> Word | None:
        spoken = self._words[number - 1]
        whole = round(spoken.end * SAMPLE_RATE) - round(spoken.start * SAMPLE_RATE)
        cut_at_start = start == 0 and stop < total and stop - start < whole
        if cut_at_start and 2 * (stop - start) < whole:
            return None
        text = spoken.text
        if stop == total and stop - start < whole:
            text = text[: max(1, len(text) * (stop - start) // whole)]
        elif not final and total - stop < self._unstable * SAMPLE_RATE:
            text = f"{text}~{len(self.passes)}"
        return Word(text, start / SAMPLE_RATE, stop / SAMPLE_RATE)
