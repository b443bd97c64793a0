"""The recogniser port, the one place that opens a recogniser, and a scripted one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from livetrans.config import RecogniserSettings
from livetrans.events import FULL_SCALE, SAMPLE_RATE, Word

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What one pass recognised in the whole buffer; times in seconds from the buffer's start."""

    words: tuple[Word, ...]
    segment_ends: tuple[float, ...] = ()
    """Ends of the recogniser's own segments: where the buffer may be trimmed."""
    language: str | None = None
    """Code of the spoken language, where it was detected or the user changed it; None without words."""


class Recogniser(Protocol):
    """Recognises a buffer of speech from scratch; owned by one thread."""

    @property
    def maximum_length(self) -> float:
        """Seconds of sound that one pass recognises well: the limit of the buffer."""

    @property
    def hot_words(self) -> tuple[str, ...]:
        """Those of the wanted ones that it expects; none where its model takes none."""

    def listen_for(self, language: str | None) -> None:
        """Expect a language, by its code, from the next pass on; None detects it. From any thread.

        A model that does not know it goes on as before.
        """

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        """Recognise the whole buffer.

        `samples`: mono 16 kHz in -1..1, shape (n,); `prompt`: text spoken before it; `final`: a segment's last pass.
        """


def open_recogniser(settings: RecogniserSettings) -> Recogniser:
    """Load the recogniser that the settings name; its library is imported only now.

    Raises:
        ModelError: the model is absent or cannot be loaded.
        UsageError: the model does not know the language.
    """
    from livetrans.speech.whisper import WhisperRecogniser

    return WhisperRecogniser(settings)


def speak(words: Sequence[Word], length: float | None = None) -> NDArray[np.int16]:
    """Sound of at most 32,767 words at their times, shape (n,); `length` seconds, or to the last word's end.

    Each word is a block of one constant sample value, its number, for `ScriptedRecogniser` to find.
    """
    total = max((word.end for word in words), default=0.0) if length is None else length
    samples = np.zeros(round(total * SAMPLE_RATE), dtype=np.int16)
    for number, word in enumerate(words, start=1):
        samples[round(word.start * SAMPLE_RATE) : round(word.end * SAMPLE_RATE)] = number
    return samples


class ScriptedRecogniser:
    """Recognises what `speak` wrote; it errs only where a real recogniser does, at the buffer's unstable end.

    For tests, and for a run without a model. It has no idea of time: it recognises whatever the buffer holds, wherever
    the buffer was cut.
    """

    maximum_length = 28.0
    hot_words = ()

    def __init__(self, words: Sequence[Word], *, unstable: float = 0.0) -> None:
        """`unstable`: seconds before the buffer's end in which words are misread, anew in each pass."""
        self._words = tuple(words)
        self._unstable = unstable
        self.passes: list[tuple[float, str, bool]] = []
        """Seconds of sound, prompt and `final` of every pass so far."""
        self.language: str | None = None
        """What every hypothesis says of its language."""

    def listen_for(self, language: str | None) -> None:
        self.language = language

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        numbers = np.rint(samples * FULL_SCALE).astype(np.int64)
        self.passes.append((len(numbers) / SAMPLE_RATE, prompt, final))
        edges = np.flatnonzero(np.diff(numbers)) + 1
        bounds = [0, *edges.tolist(), len(numbers)]
        found = [
            self._word(int(numbers[start]), start, stop, len(numbers), final)
            for start, stop in pairwise(bounds)
            if stop > start and numbers[start] != 0
        ]
        words = tuple(word for word in found if word is not None)
        ends = tuple(word.end for word in words if word.text.endswith((".", "!", "?")))
        return Hypothesis(words, ends, self.language if words else None)

    def _word(self, number: int, start: int, stop: int, total: int, final: bool) -> Word | None:
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
