"""The benchmark of spoken languages: errors against the folders' names; without weights, so no rate of a real model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from livetrans.base.errors import UsageError
from livetrans.events import FULL_SCALE, SAMPLE_RATE, Word
from tests.benchmarks import spoken_languages
from tests.speech.scripted import ScriptedRecogniser, speak

WORDS = [Word(f"w{number}", 0.3 * number, 0.3 * number + 0.25) for number in range(12)]


def test_errors_are_counted_after_each_second_that_a_clip_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("en/long.wav", "English/short.wav", "German/a.wav", "German/.hidden"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    recogniser = ScriptedRecogniser(WORDS)
    # It hears German in the first second, and English after that, whatever is spoken.
    recogniser.odds = lambda numbers, final: {"en": 0.1, "de": 0.9} if len(numbers) < 5 else {"en": 0.95, "de": 0.05}

    def speech_in(clip: Path) -> np.ndarray:
        length = 1.5 if clip.name == "short.wav" else 3.5
        return (speak(WORDS, 3.5)[: round(length * SAMPLE_RATE)] / FULL_SCALE).astype(np.float32)

    monkeypatch.setattr(spoken_languages, "find_model", lambda *_: SimpleNamespace(name="scripted", path=Path()))
    monkeypatch.setattr(spoken_languages, "open_recogniser", lambda settings: recogniser)
    monkeypatch.setattr(spoken_languages, "speech_in", speech_in)
    assert spoken_languages.errors(tmp_path, None) == {
        "de as en": "1 s: 0 of 1, 2 s: 1 of 1, 3 s: 1 of 1",
        "en as de": "1 s: 2 of 2, 2 s: 0 of 1, 3 s: 0 of 1",
    }


def test_a_folder_of_one_language_is_refused(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    with pytest.raises(UsageError, match="fewer than two languages"):
        spoken_languages.errors(tmp_path, None)
