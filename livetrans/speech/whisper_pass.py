"""A pass of a Whisper model, whichever engine computes it: the window, the prompt, and words out of tokens.

A pass is one window: encoded once, decoded once, aligned once. faster-whisper's own `transcribe` pads every window to
30 s, and where the last segment is unfinished, as in a growing buffer it nearly always is, it recognises the rest of
the sound again in a second window; so does whisper.cpp's program. Here a pass ends with its window.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from itertools import accumulate, count, pairwise, takewhile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from livetrans.base.errors import ModelError, UsageError
from livetrans.config import RecogniserSettings
from livetrans.events import Word
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.whisper_model import SpokenLanguage, as_clause, model_traits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL_MODEL_BYTES = 50_000_000
FRAME = 0.01
"""Seconds of a frame of features."""
FULL_WINDOW = 3000
"""Frames of a full window."""
WINDOW_STEP = 50
"""Short windows are multiples of this many frames, which divides neither 160 nor 256: CTranslate2 would take the result
of a window of twice as many frames as the model has bands (80, 128) for features, and encode it again."""
LEAST_WINDOW = 100
PARTIAL_SECONDS, FINAL_SECONDS = 0.4, 2.4
"""Most seconds of a full window's pass for which `auto` makes one: half of the longest step, and three steps for the
last pass of a segment, which is made once."""
FULL_PASSES = 3
"""Latest passes of which the fastest tells the machine's speed: a model's first is slow, and others disturb one."""
OPENAI_REST = 2.56
"""Seconds of silence after the sound in short windows of other models: 128 positions, as in whisper.cpp (#1855)."""

TOKENS_PER_SECOND, SPARE_TOKENS = 7.5, 20
"""Limit of new tokens in a pass, for each second and besides: OpenAI's is 224 for 30 s; clear speech needs 2/3."""
HOT_WORD_TOKENS = 96
"""Most tokens of hot words in a prompt."""

TIME_STEP = 0.02
OPENING, CLOSING = "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、"
"""Punctuation that belongs to the word after it, and to the word before it (OpenAI)."""


class WhisperPasses(ABC):
    """A Whisper model as a recogniser. An engine states how a window is encoded, decoded and aligned."""

    trim_after = 15.0
    left_context = 0.0
    """The prompt says what was spoken before."""

    def __init__(
        self,
        settings: RecogniserSettings,
        config: dict[str, Any],
        pieces: int,
        languages: tuple[str, ...],
        tokenizer: Callable[[str], Any],
    ) -> None:
        """`config`: the model's config.json; `pieces`: its vocabulary's; `tokenizer`: faster-whisper's."""
        import numpy.ma  # noqa: F401, which faster-whisper's median would load in the first pass

        self.traits = model_traits(config, pieces)
        self.maximum_length, self.sure = self.traits.maximum_length, self.traits.sure
        self.languages = languages
        """Codes of the languages that the model knows."""
        self._path = settings.model
        for language in (settings.language, *settings.other_languages):
            self._check_known(language)
        self._multilingual = len(languages) > 1
        self._reports = settings.language is None or bool(settings.other_languages)
        self._spoken = SpokenLanguage(settings.language if self._multilingual else "en")
        self._beam_size = settings.beam_size or self.traits.beam_size
        self._window = settings.window or "full"
        if self.traits.rest is not None and settings.window in (None, "auto"):
            self._window = "always"  # which it was trained for
        self._full_seconds: deque[float] = deque(maxlen=FULL_PASSES)
        """Seconds of the latest passes, short windows in proportion; all that share a model have the same."""
        self._frames = FULL_WINDOW
        self._tokenizer = tokenizer
        self._hot = HotWords(settings.hot_words)

    @property
    def language(self) -> str | None:
        """Code of the language that is spoken; None before it is detected."""
        return self._spoken.code

    def in_language(self, language: str | None) -> Self:
        self._check_known(language)
        other = copy(self)
        other._reports = language is None
        other._spoken = SpokenLanguage(language if self._multilingual else "en")
        return other

    def _check_known(self, language: str | None) -> None:
        if language not in (None, *self.languages):
            raise UsageError(
                f"The recogniser in {self._path} does not know the language '{language}', "
                f"only: {', '.join(self.languages)}."
            )

    def expect_language(self, language: str | None) -> None:
        if self._multilingual and language in (None, *self.languages):
            self._reports = True
            self._spoken = SpokenLanguage(language)  # Another one, because a pass may be using the old one.

    @property
    def hot_words(self) -> tuple[str, ...]:
        """Those used last that leave room for the other text of the prompt and for the output."""
        if not self.traits.takes_hot_words:
            return ()
        encode = self._tokenizer(self.language or "en").encode
        return self._hot.fitting(lambda word: len(encode(f" {word},")), HOT_WORD_TOKENS)

    def expect_words(self, words: tuple[str, ...]) -> None:
        self._hot.replace(words)

    def recognise(
        self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False, language: str | None = None
    ) -> Hypothesis:
        """Recognise the buffer once, without a retry at a higher temperature: the next pass corrects a bad partial.

        A hypothesis that reaches the limit of new tokens is a loop, and is dropped.
        """
        self._check_known(language)
        if len(samples) == 0:
            return Hypothesis(())
        began = perf_counter()
        try:
            return self._pass(samples, prompt, final, language)
        except RuntimeError as error:
            raise ModelError(f"The recogniser failed ({as_clause(error)}); try a smaller model.") from error
        finally:
            self._full_seconds.append((perf_counter() - began) * FULL_WINDOW / self._frames)

    def _pass(self, samples: NDArray[np.float32], prompt: str, final: bool, given: str | None) -> Hypothesis:
        features = self._features(samples)[:, :-1]
        frames = features.shape[-1]
        length = frames * FRAME
        spoken = self._spoken
        self._frames = self._window_frames(frames, final, given or spoken.code)
        encoded = self._encode(features, self._frames)
        language, probability = given or spoken.code or "en", 1.0
        languages: dict[str, float] = {}
        if given:
            languages = {code: found for code, found in self._detected(encoded).items() if code in self.languages}
        elif spoken.is_detected:
            detected = self._detected(encoded)
            likeliest = max(detected, key=detected.__getitem__)
            probability = detected[likeliest]
            language = spoken.choose(likeliest, probability)
        nothing = Hypothesis((), languages=languages)
        if language not in self.languages:
            return nothing
        tokenizer = self._tokenizer(language)
        previous = tokenizer.encode(f" {prompt.strip()}") if prompt and self.traits.takes_prompt else []
        tokens, log_probability = self._decode(encoded, tokenizer, previous, most_tokens(length))
        segments = split_at_timestamps(tokens, tokenizer.eot, tokenizer.timestamp_begin, length)
        if not segments:
            return nothing
        self._time_words(segments, tokenizer, encoded, frames)
        # A segment without duration has no sound to come from.
        segments = [segment for segment in segments if segment["end"] > segment["start"]]
        found = [word for segment in segments for word in segment["words"]]
        if found and not given:
            spoken.found_words(language, probability)
        words = tuple(
            Word(word["word"].strip(), float(word["start"]), float(word["end"]), float(word["probability"]))
            for word in found
            if word["word"].strip()
        )
        text = " ".join(word.text for word in words)
        if log_probability <= self.traits.unlikely and self._hot.is_all_of(text):
            return nothing  # In silence, Whisper writes what its prompt expects.
        self._hot.use(f"{prompt} {text}")
        ends = tuple(min(float(segment["end"]), length) for segment in segments)
        reported = given or (spoken.code if self._reports else None)
        likelihood = self._likelihood(tokenizer, encoded, frames)
        return Hypothesis(words, ends, reported if words else None, likelihood, log_probability, languages)

    def _window_frames(self, frames: int, final: bool, language: str | None) -> int:
        """Return how many frames to encode for `frames` of sound; 30 s until the language is known."""
        is_full = {"full": True, "partials": final, "always": False}.get(self._window)
        if is_full is None:
            is_full = min(self._full_seconds, default=math.inf) <= (FINAL_SECONDS if final else PARTIAL_SECONDS)
        if is_full or language is None:
            return FULL_WINDOW
        rest = OPENAI_REST if self.traits.rest is None else self.traits.rest
        wanted = math.ceil((frames + rest / FRAME) / WINDOW_STEP) * WINDOW_STEP
        return min(max(wanted, LEAST_WINDOW), FULL_WINDOW)

    @abstractmethod
    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return faster-whisper's features of the sound, shape (bands, frames + 1)."""

    @abstractmethod
    def _encode(self, features: NDArray[np.float32], window: int) -> Any:
        """Return the encoded features, shape (bands, frames), padded with zeros to `window` frames.

        Zeros are what faster-whisper pads with, so recognisers know them as silence.
        """

    @abstractmethod
    def _detected(self, encoded: Any) -> dict[str, float]:
        """Return the probabilities of the languages."""

    @abstractmethod
    def _decode(self, encoded: Any, tokenizer: Any, previous: Sequence[int], limit: int) -> tuple[Sequence[int], float]:
        """Return the tokens of text and of times, and their mean log-probability; none, and minus infinity, for silence
        and for `limit` tokens or more.
        """

    @abstractmethod
    def _time_words(self, segments: list[dict[str, Any]], tokenizer: Any, encoded: Any, frames: int) -> None:
        """Put `words` with their times into the segments, as faster-whisper's `add_word_timestamps` does."""

    def _likelihood(self, tokenizer: Any, encoded: Any, frames: int) -> Callable[[str], float] | None:
        """Return what tells the log-probability of a text; None where the engine does not."""
        return None


class HotWords:
    """The terms of a run, those used last first; recognisers of one model share them."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        """Written by `replace` alone, and the times by word: so no thread takes back what the other has changed."""
        self._times: dict[str, int] = {}
        self._now = count(1)

    def replace(self, words: tuple[str, ...]) -> None:
        """Take other words, from any thread; those that stay keep their places, and new ones come first."""
        self._times.update(dict.fromkeys({*words}.difference(self._words), next(self._now)))
        self._words = words

    def use(self, text: str) -> None:
        """Put the words that are in a text before the others."""
        spoken, now = text.casefold(), next(self._now)
        self._times.update((word, now) for word in self._words if word.casefold() in spoken)

    def fitting(self, tokens: Callable[[str], int], most: int) -> tuple[str, ...]:
        """Return the first words that take at most so many tokens together."""
        words = sorted(self._words, key=lambda word: -self._times.get(word, 0))
        lengths = takewhile(lambda length: length <= most, accumulate(map(tokens, words)))
        return tuple(word for word, _ in zip(words, lengths, strict=False))

    def is_all_of(self, text: str) -> bool:
        """Return whether a text consists of these words alone."""
        rest = text.casefold()
        for word in sorted(self._words, key=len, reverse=True):
            rest = rest.replace(word.casefold(), "")
        return bool(self._words) and bool(text) and not any(map(str.isalnum, rest))


def usual_threads(weights: Path) -> int:
    """Return 1 for a small model, which more threads make slower, and `shared_threads` for others."""
    return 1 if weights.stat().st_size < SMALL_MODEL_BYTES else shared_threads()


def shared_threads(system: str = sys.platform) -> int:
    """Return the threads of a recogniser beside a translator, which takes half of the cores: the other half.

    On a Mac, where the translator has the GPU, the performance cores: CTranslate2's own choice takes more (#2063).
    """
    return _performance_cores() if system == "darwin" else max(-(-(os.cpu_count() or 2) // 2), 1)


def _performance_cores() -> int:
    """Return the number of a Mac's physical performance cores, or 4 where the system does not tell."""
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        command = ["sysctl", "-n", "hw.perflevel0.physicalcpu"]
        return max(int(subprocess.run(command, capture_output=True, timeout=5, check=True).stdout), 1)
    return 4


def most_tokens(length: float) -> int:
    return SPARE_TOKENS + round(TOKENS_PER_SECOND * length)


def split_at_timestamps(tokens: Sequence[int], end: int, timestamp_begin: int, length: float) -> list[dict[str, Any]]:
    """Split a pass into segments between two timestamps, in the form of faster-whisper's `add_word_timestamps`.

    Tokens below `end` are text, those from `timestamp_begin` on are times in steps of 0.02 s. A segment without a time
    at its end lasts as long as the sound, `length` seconds.
    """
    cuts = [at for at in range(1, len(tokens)) if min(tokens[at - 1 : at + 1]) >= timestamp_begin]
    segments: list[dict[str, Any]] = []
    for first, last in pairwise([0, *cuts, len(tokens)]):
        piece = list(tokens[first:last])
        if any(token < end for token in piece):
            start = (piece[0] - timestamp_begin) * TIME_STEP if piece[0] >= timestamp_begin else 0.0
            stop = (piece[-1] - timestamp_begin) * TIME_STEP if piece[-1] >= timestamp_begin else length
            segments.append({"seek": 0, "start": start, "end": stop, "tokens": piece})
    return segments
