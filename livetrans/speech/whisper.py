"""faster-whisper behind the recogniser port; the only importer of `faster_whisper`, and never of the network."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livetrans.config import RecogniserSettings
from livetrans.errors import ModelError, UsageError
from livetrans.events import SAMPLE_RATE, Word
from livetrans.speech.recogniser import Hypothesis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEEDED_FILES = ("model.bin", "config.json", "tokenizer.json")
VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
OPENAI_PIECES = 51_000
"""OpenAI's Whisper models have 51,864 pieces or more, and all of them were trained with previous text as a prompt."""
CERTAIN = 0.5
"""Probability at which a detected language is kept."""


class WhisperRecogniser:
    """A CTranslate2 Whisper model from a local folder."""

    maximum_length = 28.0
    """Whisper's window is 30 s: a longer buffer would need two windows a pass."""

    def __init__(self, settings: RecogniserSettings) -> None:
        _check_folder(settings.model)
        # Set before the import: huggingface_hub reads it once.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from faster_whisper import WhisperModel

        logging.getLogger("faster_whisper").setLevel(logging.ERROR)
        try:
            self._model = WhisperModel(
                str(settings.model),
                device=settings.device,
                compute_type=settings.compute_type,
                cpu_threads=settings.threads,
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(
                f"The recogniser in {settings.model} cannot be loaded ({_one_line(error)}); convert or copy it again."
            ) from error
        except Exception as error:
            # tokenizers raises a bare Exception for a tokenizer.json it cannot read.
            if type(error) is not Exception:
                raise
            raise ModelError(
                f"{settings.model}/tokenizer.json cannot be read ({_one_line(error)}); copy it again."
            ) from error
        self._beam_size = settings.beam_size
        self._detect = settings.language is None and self._model.model.is_multilingual
        self.language = self._fixed_language(settings)
        self.takes_prompt = takes_prompt(settings.model, self._model.hf_tokenizer.get_vocab_size())

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that the model knows."""
        return tuple(self._model.supported_languages)

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        """Partials take the best next piece each time; a final may search wider (`beam_size`).

        One temperature means no fallback: a bad partial is corrected by the next pass, not by five more tries.
        """
        if len(samples) == 0:
            return Hypothesis(())
        try:
            return self._read(samples, prompt, self._beam_size if final else 1)
        except RuntimeError as error:
            raise ModelError(f"The recogniser failed ({_one_line(error)}); try a smaller model.") from error

    def _read(self, samples: NDArray[np.float32], prompt: str, beam_size: int) -> Hypothesis:
        segments, info = self._model.transcribe(
            samples,
            language=self.language,
            beam_size=beam_size,
            temperature=0.0,
            word_timestamps=True,
            condition_on_previous_text=False,
            initial_prompt=prompt if prompt and self.takes_prompt else None,
            vad_filter=False,
            no_speech_threshold=0.6,
            compression_ratio_threshold=2.4,
            log_prob_threshold=-1.0,
        )
        words: list[Word] = []
        ends: list[float] = []
        for segment in segments:
            found = [_word(word) for word in segment.words or ()]
            words.extend(word for word in found if word.text)
            ends.append(min(float(segment.end), len(samples) / SAMPLE_RATE))
        if self._detect and self.language is None and words and info.language_probability >= CERTAIN:
            self.language = info.language
        return Hypothesis(tuple(words), tuple(ends))

    def _fixed_language(self, settings: RecogniserSettings) -> str | None:
        if settings.language is None:
            return None if self._detect else "en"
        if settings.language not in self.languages:
            known = ", ".join(self.languages)
            raise UsageError(
                f"The recogniser in {settings.model} does not know the language '{settings.language}', only: {known}."
            )
        return settings.language


def takes_prompt(model: Path, pieces: int) -> bool:
    """Whether the model was trained with previous text before its transcript.

    OpenAI's vocabulary says yes; any other model must say so itself, with `"livetrans": {"previous_text": true}` in its
    config.json, because one that never saw a prompt reads a prompt as noise.
    """
    if pieces >= OPENAI_PIECES:
        return True
    described = _config(model).get("livetrans")
    return isinstance(described, dict) and described.get("previous_text") is True


def _check_folder(model: Path) -> None:
    advice = "give the folder of a Whisper model converted for CTranslate2"
    if not model.is_dir():
        raise ModelError(f"There is no recogniser at {model}; {advice}.")
    missing = [name for name in NEEDED_FILES if not (model / name).is_file()]
    if not any((model / name).is_file() for name in VOCABULARIES):
        missing.append("vocabulary.json")
    if missing:
        raise ModelError(f"{model} is no recogniser: it lacks {', '.join(missing)}; {advice}.")
    _config(model)


def _config(model: Path) -> dict[str, Any]:
    try:
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{model}/config.json cannot be read ({_one_line(error)}); copy the model again.") from error
    return config if isinstance(config, dict) else {}


def _word(word: Any) -> Word:
    return Word(word.word.strip(), float(word.start), float(word.end))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
