"""A Whisper model: the files of its folder, its traits, and the spoken language that its passes detect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livetrans.base.errors import ModelError

NEEDED_FILES = ("model.bin", "config.json", "tokenizer.json")
VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
OPENAI_PIECES = 51_000
"""OpenAI's Whisper models have 51,864 pieces or more, and all of them were trained with previous text as a prompt."""

NO_SPEECH, UNLIKELY = 0.6, -1.0
"""OpenAI's: see `ModelTraits`."""

SURE = 0.7
"""`Recogniser.sure` of a model whose probabilities were not compared with what it heard: the careful choice."""

CERTAIN = 0.5
"""Probability at which a detected language counts."""
AGREEING_PASSES = 3
"""Passes in a row that have to detect another language before it is taken: a name or a cough changes nothing."""

STATED = "livetrans"
"""Key in config.json under which a model states its traits, see `ModelTraits`."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """How a model was trained. OpenAI's are known; others state it under `livetrans` in their config.json."""

    takes_prompt: bool
    """`"previous_text": true`. A model that was trained without it treats a prompt as noise."""
    takes_hot_words: bool
    """`"hot_words": true`. A model whose prompts had no lists of words hears worse with one."""
    rest: float | None
    """`"short_window_rest": SECONDS` of silence after the sound, for a model trained on windows as long as their
    sound; None for the others, which lose words in short windows."""
    beam_size: int
    """`"beam_size"`: 1 unless stated, because beams cost time that only a small model has."""
    maximum_length: float
    """`"maximum_length"` of a pass in seconds. Whisper's window is 30 s, and some silence has to follow the sound."""
    no_speech: float
    unlikely: float
    """`"no_speech"` and `"unlikely"`: there is no speech where its absence is likelier than the one and a token's mean
    log-probability is no more than the other. A model that heard little but speech finds its absence likely nowhere."""
    sure: float
    """`"sure"`, by how often the words are right: see `Recogniser.sure`."""


def model_traits(config: dict[str, Any], pieces: int) -> ModelTraits:
    """Return the traits of a model by its config.json and number of pieces; values of a wrong type are ignored."""
    section = config.get(STATED)
    stated: dict[str, Any] = section if isinstance(section, dict) else {}
    rest, beam_size, length = (stated.get(name) for name in ("short_window_rest", "beam_size", "maximum_length"))
    no_speech, unlikely, sure = (stated.get(name) for name in ("no_speech", "unlikely", "sure"))
    return ModelTraits(
        takes_prompt=pieces >= OPENAI_PIECES or stated.get("previous_text") is True,
        takes_hot_words=pieces >= OPENAI_PIECES or stated.get("hot_words") is True,
        rest=float(rest) if isinstance(rest, int | float) and 0 <= rest <= 30 else None,
        beam_size=beam_size if isinstance(beam_size, int) and 1 <= beam_size <= 100 else 1,
        maximum_length=float(length) if isinstance(length, int | float) and 5 <= length <= 28 else 28.0,
        no_speech=no_speech if isinstance(no_speech, float) and 0 < no_speech < 1 else NO_SPEECH,
        unlikely=unlikely if isinstance(unlikely, float) and unlikely < 0 else UNLIKELY,
        sure=sure if isinstance(sure, float) and 0 <= sure <= 1 else SURE,
    )


def checked_config(model: Path) -> dict[str, Any]:
    """Return the folder's config.json, after a check that all files are there."""
    advice = "give the folder of a Whisper model converted for CTranslate2"
    if not model.is_dir():
        raise ModelError(f"There is no recogniser at {model}; {advice}.")
    missing = [name for name in NEEDED_FILES if not (model / name).is_file()]
    if not any((model / name).is_file() for name in VOCABULARIES):
        missing.append("vocabulary.json")
    if missing:
        raise ModelError(f"{model} is not a recogniser: it lacks {', '.join(missing)}; {advice}.")
    try:
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{model}/config.json cannot be read ({as_clause(error)}); copy the model again.") from error
    return config if isinstance(config, dict) else {}


def as_clause(error: Exception) -> str:
    """Return the error's text as a part of a sentence."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


class SpokenLanguage:
    """One language at a time; `code` is None until a pass with words was certain of one."""

    def __init__(self, fixed: str | None) -> None:
        self._fixed = fixed
        self.code = fixed
        self._other: str | None = None
        self._passes = 0

    @property
    def is_detected(self) -> bool:
        return self._fixed is None

    def choose(self, detected: str, probability: float) -> str:
        """Return the language to recognise a pass in, from the language that it detects and its probability."""
        if probability < CERTAIN or detected == self.code:
            self._other, self._passes = None, 0
            return self.code or detected
        self._passes = self._passes + 1 if detected == self._other else 1
        self._other = detected
        if self.code is not None and self._passes >= AGREEING_PASSES:
            self.code, self._other = detected, None
        return self.code or detected

    def found_words(self, language: str, probability: float) -> None:
        """Note that a pass in this language had words: the first certain language is kept."""
        if self.code is None and probability >= CERTAIN:
            self.code = language
