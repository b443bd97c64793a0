"""A recogniser without a model, and sound that it recognises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from livetrans.events import FULL_SCALE, SAMPLE_RATE, Word
from livetrans.speech.recogniser import Hypothesis

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    trim_after = 15.0
    left_context = 0.0
    sure = 0.5
    hot_words: tuple[str, ...] = ()

    def __init__(self, words: Sequence[Word], *, unstable: float = 0.0) -> None:
        """`unstable`: seconds before the buffer's end in which words are misread, anew in each pass."""
        self._words = tuple(words)
        self._unstable = unstable
        self.passes: list[tuple[float, str, bool]] = []
        """Seconds of sound, prompt and `final` of every pass so far."""
        self.language: str | None = None
        """What every hypothesis says of its language."""
        self.odds: Callable[[Sequence[int], bool], Mapping[str, float]] = lambda numbers, final: {}
        """The probabilities of languages of a pass, by the numbers of the words that it heard."""
        self.misread_probability = 1.0
        """What it says of words that it misreads; the others have 1."""
        self.likelihood: Callable[[str], float] | None = None
        """What every hypothesis tells of other texts."""
        self._told: tuple[NDArray[np.float32], Mapping[str, float]] | None = None
        """The newest sound whose language was asked for, and its odds: in another language it has the same."""

    def expect_language(self, language: str | None) -> None:
        self.language = language

    def expect_words(self, words: tuple[str, ...]) -> None:
        self.hot_words = words

    def reload(self) -> None:
        """Do nothing: there is no model."""

    def in_language(self, language: str | None) -> ScriptedRecogniser:
        other = copy(self)
        other.language = language
        return other

    def recognise(
        self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False, language: str | None = None
    ) -> Hypothesis:
        numbers = np.rint(samples * FULL_SCALE).astype(np.int64)
        self.passes.append((len(numbers) / SAMPLE_RATE, prompt, final))
        edges = np.flatnonzero(np.diff(numbers)) + 1
        if language and (self._told is None or self._told[0] is not samples):
            self._told = samples, self.odds([int(number) for number in np.unique(numbers) if number], final)
        odds = self._told[1] if language and self._told else {}
        bounds = [0, *edges.tolist(), len(numbers)]
        found = [
            self._word(int(numbers[start]), start, stop, len(numbers), final)
            for start, stop in pairwise(bounds)
            if stop > start and numbers[start] != 0
        ]
        words = tuple(word for word in found if word is not None)
        ends = tuple(word.end for word in words if word.text.endswith((".", "!", "?")))
        spoken = (language or self.language) if words else None
        return Hypothesis(words, ends, spoken, self.likelihood, odds.get(language or "", 0.0), odds)

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
        probability = 1.0 if text == spoken.text else self.misread_probability
        return Word(text, start / SAMPLE_RATE, stop / SAMPLE_RATE, probability)
