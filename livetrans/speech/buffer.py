"""What a pass of the recogniser reads: the sound, and the text that was said before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from livetrans.events import SAMPLE_RATE, Word
from livetrans.speech.loops import drop_loops
from livetrans.speech.words import words_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SoundBuffer:
    """The sound that the next pass reads, of bounded length, in source samples."""

    def __init__(self, maximum: float) -> None:
        """`maximum`: seconds."""
        self._store = np.zeros(round(maximum * SAMPLE_RATE), dtype=np.int16)
        self._count = 0
        self.start_sample = 0

    def __len__(self) -> int:
        return self._count

    @property
    def samples(self) -> NDArray[np.int16]:
        return self._store[: self._count]

    @property
    def room(self) -> int:
        return len(self._store) - self._count

    @property
    def full(self) -> bool:
        return self.room == 0

    @property
    def end_sample(self) -> int:
        return self.start_sample + self._count

    @property
    def start(self) -> float:
        return self.start_sample / SAMPLE_RATE

    @property
    def end(self) -> float:
        return self.end_sample / SAMPLE_RATE

    @property
    def length(self) -> float:
        return self._count / SAMPLE_RATE

    def restart(self, start_sample: int) -> None:
        self.start_sample, self._count = start_sample, 0

    def append(self, samples: NDArray[np.int16]) -> None:
        self._store[self._count : self._count + len(samples)] = samples
        self._count += len(samples)

    def drop_before(self, sample: int) -> None:
        dropped = min(max(sample - self.start_sample, 0), self._count)
        self._store[: self._count - dropped] = self._store[dropped : self._count].copy()
        self.start_sample += dropped
        self._count -= dropped


class PromptText:
    """The last committed characters whose sound has left the buffer."""

    def __init__(self, maximum_characters: int) -> None:
        self._maximum = maximum_characters
        self._words: tuple[Word, ...] = ()
        self.text = ""

    def extend(self, words: Iterable[Word]) -> None:
        if self._maximum <= 0:
            return
        # Loops that were committed in pieces are seen only here; the recogniser would take them up again.
        kept = drop_loops([*self._words, *words])
        while kept and len(words_text(kept)) > self._maximum:
            kept = kept[1:]
        self._words = kept
        self.text = words_text(kept)

    def clear(self) -> None:
        self._words, self.text = (), ""
