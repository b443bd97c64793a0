"""CTranslate2's Whisper behind the recogniser port; the only importer of `ctranslate2`.

A pass is made of faster-whisper's parts (features, tokenizer, prompt, word times) around CTranslate2's `generate`,
which takes windows of any length and a limit of new tokens.
"""

from __future__ import annotations

import ctypes
import logging
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from livetrans.base.errors import ModelError
from livetrans.config import RecogniserSettings
from livetrans.speech.whisper_model import STATED, as_clause, checked_config
from livetrans.speech.whisper_pass import CLOSING, OPENING, WhisperPasses, usual_threads

POSITIONS = 448
"""Tokens that Whisper's decoder holds, prompt included."""
SMALLEST = 1e-9
"""A token's least probability, so that its logarithm is finite."""
FIRST_TIMESTAMP = 50
"""The first segment starts within this many steps of 0.02 s (OpenAI)."""
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""glibc's numbers. M_MMAP_THRESHOLD would not do: it is at most 32 MiB, and the blocks of a full window are larger."""


class WhisperRecogniser(WhisperPasses):
    """A CTranslate2 Whisper model from a local folder."""

    def __init__(self, settings: RecogniserSettings) -> None:
        config = checked_config(settings.model)
        # Set before the import: huggingface_hub reads it once.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from faster_whisper.tokenizer import Tokenizer
        from faster_whisper.transcribe import get_suppressed_tokens

        logging.getLogger("faster_whisper").setLevel(logging.ERROR)
        _keep_freed_memory()
        self._load: Callable[[], Any] = partial(_load, settings, config)
        self._model = self._load()
        bands, wanted = len(self._model.feature_extractor.mel_filters), self._model.model.n_mels
        if bands != wanted:
            raise ModelError(
                f"{settings.model}/preprocessor_config.json is missing or wrong: the model takes {wanted} mel bands, "
                f"not {bands}; copy that file too."
            )
        pieces, multilingual = self._model.hf_tokenizer, self._model.model.is_multilingual
        # faster-whisper gives every multilingual model the languages of v3.
        known = (code for code in self._model.supported_languages if pieces.token_to_id(f"<|{code}|>") is not None)

        def tokenizer(language: str) -> Tokenizer:
            return Tokenizer(pieces, multilingual, task="transcribe", language=language)

        super().__init__(settings, config, pieces.get_vocab_size(), tuple(known), tokenizer)
        self._suppressed = get_suppressed_tokens(tokenizer(self.language or "en"), [-1])

    def reload(self) -> None:
        del self._model.model  # First, so that memory need not hold two.
        self._model.model = self._load().model

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        features: NDArray[np.float32] = self._model.feature_extractor(samples)
        return features

    def _encode(self, features: NDArray[np.float32], window: int) -> Any:
        return self._model.encode(np.pad(features, ((0, 0), (0, window - features.shape[-1]))))

    def _detected(self, encoded: Any) -> dict[str, float]:
        # CTranslate2 gives the language's token, the code in `<|` and `|>`.
        return {token[2:-2]: probability for token, probability in self._model.model.detect_language(encoded)[0]}

    def _decode(self, encoded: Any, tokenizer: Any, previous: Sequence[int], limit: int) -> tuple[Sequence[int], float]:
        start = self._model.get_prompt(tokenizer, list(previous), hotwords=", ".join(self.hot_words))
        limit = min(limit, POSITIONS - len(start))
        (result,) = self._model.model.generate(
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
        tokens: Sequence[int] = result.sequences_ids[0]
        likelihood = result.scores[0] * len(tokens) / (len(tokens) + 1)
        is_silence = result.no_speech_prob > self.traits.no_speech and likelihood <= self.traits.unlikely
        return ((), -math.inf) if is_silence or len(tokens) >= limit else (tokens, likelihood)

    def _time_words(self, segments: list[dict[str, Any]], tokenizer: Any, encoded: Any, frames: int) -> None:
        self._model.add_word_timestamps(
            [segments], tokenizer, encoded, frames, OPENING, CLOSING, last_speech_timestamp=0.0
        )

    def _likelihood(self, tokenizer: Any, encoded: Any, frames: int) -> Callable[[str], float]:
        def likelihood(text: str) -> float:
            tokens = tokenizer.encode(f" {text}")
            start = tokenizer.sot_sequence
            if len(start) + len(tokens) >= POSITIONS - 1:
                return -math.inf
            try:
                (found,) = self._model.model.align(encoded, start, [tokens], frames)
            except RuntimeError:
                return -math.inf  # The name is not repaired. A model that fails in a pass too is loaded again there.
            return sum(math.log(max(probability, SMALLEST)) for probability in found.text_token_probs)

        return likelihood


def cuda_devices() -> int:
    import ctranslate2

    count: int = ctranslate2.get_cuda_device_count()
    return count


def _load(settings: RecogniserSettings, config: dict[str, Any]) -> Any:
    from faster_whisper import WhisperModel

    try:
        return WhisperModel(
            str(settings.model),
            device="auto",
            compute_type=settings.compute_type or ("default" if STATED in config else "auto"),
            cpu_threads=settings.threads or usual_threads(settings.model / "model.bin"),
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
