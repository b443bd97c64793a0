"""CTranslate2's Whisper behind the recogniser port; the only importer of `faster_whisper` and `ctranslate2`.

A pass is one window: encoded once, decoded once, aligned once. faster-whisper's own `transcribe` pads every window to
30 s, and where the last segment is unfinished, as in a growing buffer it nearly always is, it recognises the rest of
the sound again in a second window. So a pass here is made of faster-whisper's parts (features, tokenizer, prompt, word
times) around CTranslate2's `generate`, which takes windows of any length and a limit of new tokens.
"""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
from contextlib import suppress
from copy import copy
from itertools import accumulate, pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from livetrans.config import RecogniserSettings
from livetrans.errors import ModelError, UsageError
from livetrans.events import Word
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.whisper_model import STATED, SpokenLanguage, as_clause, checked_config, model_traits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
OPENAI_REST = 2.56
"""Seconds of silence behind the sound in short windows of other models: 128 positions, as in whisper.cpp (#1855)."""

TOKENS_PER_SECOND, SPARE_TOKENS = 7.5, 20
"""Limit of new tokens in a pass, for each second and besides: OpenAI's is 224 for 30 s; clear speech needs 2/3."""
POSITIONS = 448
"""Tokens that Whisper's decoder holds, prompt included."""

HOT_WORD_TOKENS = 96
"""Most tokens of hot words in a prompt."""

NO_SPEECH, UNLIKELY = 0.6, -1.0
"""There is no speech where its absence is likelier than this and a token's mean log-probability is no more (OpenAI)."""
FIRST_TIMESTAMP = 50
"""The first segment starts within this many steps of 0.02 s (OpenAI)."""
TIME_STEP = 0.02
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""glibc's numbers. M_MMAP_THRESHOLD would not do: it is at most 32 MiB, and the blocks of a full window are larger."""
OPENING, CLOSING = "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、"
"""Punctuation that belongs to the word after it, and to the word before it (OpenAI)."""


class WhisperRecogniser:
    """A CTranslate2 Whisper model from a local folder."""

    def __init__(self, settings: RecogniserSettings) -> None:
        config = checked_config(settings.model)
        # Set before the import: huggingface_hub reads it once.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from faster_whisper import WhisperModel
        from faster_whisper.tokenizer import Tokenizer
        from faster_whisper.transcribe import get_suppressed_tokens

        logging.getLogger("faster_whisper").setLevel(logging.ERROR)
        _keep_freed_memory()
        try:
            self._model = WhisperModel(
                str(settings.model),
                device="auto",
                compute_type=settings.compute_type or ("default" if STATED in config else "auto"),
                cpu_threads=settings.threads or usual_threads(settings.model),
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError, IndexError) as error:
            raise ModelError(
                f"The recogniser in {settings.model} cannot be loaded ({as_clause(error)}); convert or copy it again."
            ) from error
        except Exception as error:
            # tokenizers raises a bare Exception for a tokenizer.json it cannot read.
            if type(error) is not Exception:
                raise
            raise ModelError(
                f"{settings.model}/tokenizer.json cannot be read ({as_clause(error)}); copy it again."
            ) from error
        bands, wanted = len(self._model.feature_extractor.mel_filters), self._model.model.n_mels
        if bands != wanted:
            raise ModelError(
                f"{settings.model}/preprocessor_config.json is missing or wrong: the model takes {wanted} mel bands, "
                f"not {bands}; copy that file too."
            )
        pieces, multilingual = self._model.hf_tokenizer, self._model.model.is_multilingual
        self.traits = model_traits(config, pieces.get_vocab_size())
        self.maximum_length = self.traits.maximum_length
        # faster-whisper gives every multilingual model the languages of v3.
        known = (code for code in self._model.supported_languages if pieces.token_to_id(f"<|{code}|>") is not None)
        self.languages = tuple(known)
        """Codes of the languages that the model knows."""
        self._folder = settings.model
        for language in (settings.language, *settings.other_languages):
            self._check_known(language)
        self._reports = settings.language is None
        self._spoken = SpokenLanguage(settings.language if multilingual else "en")
        self._beam_size = settings.beam_size or self.traits.beam_size
        self._window = settings.window or ("full" if self.traits.rest is None else "always")
        self._tokenizer: Callable[[str], Any] = lambda language: Tokenizer(
            pieces, multilingual, task="transcribe", language=language
        )
        self.hot_words = self._fitting(settings.hot_words)
        self._suppressed = get_suppressed_tokens(self._tokenizer(self.language or "en"), [-1])

    @property
    def language(self) -> str | None:
        """Code of the language that is spoken; None before it is detected."""
        return self._spoken.code

    def in_language(self, language: str | None) -> WhisperRecogniser:
        self._check_known(language)
        other = copy(self)
        other._reports = language is None
        other._spoken = SpokenLanguage(language if self._model.model.is_multilingual else "en")
        return other

    def _check_known(self, language: str | None) -> None:
        if language not in (None, *self.languages):
            raise UsageError(
                f"The recogniser in {self._folder} does not know the language '{language}', "
                f"only: {', '.join(self.languages)}."
            )

    def listen_for(self, language: str | None) -> None:
        if self._model.model.is_multilingual and language in (None, *self.languages):
            self._reports = True
            self._spoken.fix(language)

    def _fitting(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the first of the words that leave room for the other text of the prompt and for the output."""
        if not self.traits.takes_prompt:
            return ()
        encode = self._tokenizer(self.language or "en").encode
        lengths = accumulate(len(encode(f" {word},")) for word in words)
        return tuple(word for word, length in zip(words, lengths, strict=True) if length <= HOT_WORD_TOKENS)

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        """Recognise the buffer once, without a retry at a higher temperature: the next pass corrects a bad partial.

        A hypothesis that reaches the limit of new tokens is a loop, and is dropped.
        """
        if len(samples) == 0:
            return Hypothesis(())
        try:
            return self._pass(samples, prompt, final)
        except RuntimeError as error:
            raise ModelError(f"The recogniser failed ({as_clause(error)}); try a smaller model.") from error

    def _pass(self, samples: NDArray[np.float32], prompt: str, final: bool) -> Hypothesis:
        model = self._model
        features = model.feature_extractor(samples)[:, :-1]
        frames = features.shape[-1]
        # Zeros are what faster-whisper pads with, hence what recognisers know as silence behind the sound.
        encoded = model.encode(np.pad(features, ((0, 0), (0, self._window_frames(frames, final) - frames))))
        spoken = self._spoken
        language, probability = spoken.code or "en", 1.0
        if spoken.is_detected:
            detected, probability = self._detected(encoded)
            language = spoken.choose(detected, probability)
        tokenizer = self._tokenizer(language)
        previous = tokenizer.encode(f" {prompt.strip()}") if prompt and self.traits.takes_prompt else []
        start = model.get_prompt(tokenizer, previous, hotwords=", ".join(self.hot_words))
        limit = min(most_tokens(frames * FRAME), POSITIONS - len(start))
        (result,) = model.model.generate(
            encoded,
            [start],
            beam_size=self._beam_size,
            # CTranslate2 allows half of this, or what the prompt but its last token leaves of it if that is less.
            max_length=max(2 * limit, limit + len(start) - 1),
            suppress_tokens=self._suppressed,
            max_initial_timestamp_index=FIRST_TIMESTAMP,
            return_scores=True,
            return_no_speech_prob=True,
        )
        tokens = result.sequences_ids[0]
        likelihood = result.scores[0] * len(tokens) / (len(tokens) + 1)
        is_silence = result.no_speech_prob > NO_SPEECH and likelihood <= UNLIKELY
        segments = split_at_timestamps(tokens, tokenizer.eot, tokenizer.timestamp_begin, frames * FRAME)
        if is_silence or len(tokens) >= limit or not segments:
            return Hypothesis(())
        model.add_word_timestamps([segments], tokenizer, encoded, frames, OPENING, CLOSING, last_speech_timestamp=0.0)
        # A segment without duration has no sound to come from.
        segments = [segment for segment in segments if segment["end"] > segment["start"]]
        found = [word for segment in segments for word in segment["words"]]
        if found:
            spoken.found_words(language, probability)
        words = tuple(
            Word(word["word"].strip(), float(word["start"]), float(word["end"]))
            for word in found
            if word["word"].strip()
        )
        ends = tuple(min(float(segment["end"]), frames * FRAME) for segment in segments)
        return Hypothesis(words, ends, self.language if self._reports and words else None)

    def _detected(self, encoded: Any) -> tuple[str, float]:
        """Return the likeliest language and its probability; CTranslate2 gives its token, the code in `<|` and `|>`."""
        token, probability = self._model.model.detect_language(encoded)[0][0]
        return token[2:-2], probability

    def _window_frames(self, frames: int, final: bool) -> int:
        """Return how many frames to encode for `frames` of sound; 30 s until the language is detected."""
        if self._window == "full" or (self._window == "partials" and final) or self.language is None:
            return FULL_WINDOW
        rest = OPENAI_REST if self.traits.rest is None else self.traits.rest
        wanted = ceil((frames + rest / FRAME) / WINDOW_STEP) * WINDOW_STEP
        return min(max(wanted, LEAST_WINDOW), FULL_WINDOW)


def usual_threads(model: Path, system: str = sys.platform) -> int:
    """Return 1 for a small model, which more threads make slower; otherwise 0, CTranslate2's own choice.

    On macOS that choice takes more threads than there are fast cores (CTranslate2 #2063), so it is theirs there.
    """
    if (model / "model.bin").stat().st_size < SMALL_MODEL_BYTES:
        return 1
    return _performance_cores() if system == "darwin" else 0


def _performance_cores() -> int:
    """Return the number of a Mac's physical performance cores, or 4 where the system does not tell."""
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        command = ["sysctl", "-n", "hw.perflevel0.physicalcpu"]
        return max(int(subprocess.run(command, capture_output=True, timeout=5, check=True).stdout), 1)
    return 4


def most_tokens(length: float) -> int:
    """Return the limit of new tokens in a pass over `length` seconds of sound."""
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


def engine() -> tuple[tuple[str, ...], int]:
    """Return CTranslate2's names of the types that it computes with on this processor, and how many CUDA devices."""
    import ctranslate2

    return tuple(sorted(ctranslate2.get_supported_compute_types("cpu"))), ctranslate2.get_cuda_device_count()


def _keep_freed_memory() -> None:
    """Make glibc keep the blocks that a pass frees: returned to the system, they cost page faults in the next pass.

    Other C libraries have no such call.
    """
    try:
        is_glibc = (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, OSError, ValueError):
        return
    if is_glibc:
        libc = ctypes.CDLL(None)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
        libc.mallopt(M_MMAP_MAX, 0)
