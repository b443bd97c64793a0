"""The two models that ship: the files of their cards, loaded strictly, and a sentence from sound to German."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from livetrans import config
from livetrans.audio.file import AudioFile
from livetrans.base import installation
from livetrans.base.clock import ManualClock
from livetrans.base.errors import ModelError
from livetrans.cli import run
from livetrans.config import GateSettings, LanguageModelSettings, RecogniserSettings
from livetrans.events import SAMPLE_RATE
from livetrans.lm.llama.model import LlamaModel
from livetrans.models import find
from livetrans.models.catalogue import RunLanguages
from livetrans.models.chosen import find_model
from livetrans.speech.whisper import WhisperRecogniser
from tests.benchmarks.words_in_noise import KINDS, listen

ROOT = Path(__file__).parents[1]
CARDS = [ROOT / "models/recipes/translator/CARD.md", ROOT / "models/recipes/recogniser/CARD.md"]
SPOKEN = "Thank you for coming here today."


@pytest.fixture(autouse=True)
def only_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Models of the machine that runs the tests are not found."""
    for variable in (find.MODELS_VARIABLE, config.RECOGNISER_VARIABLE, config.TRANSLATOR_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def first_seconds(name: str, seconds: float) -> np.ndarray:
    chunks = AudioFile(ROOT / "recordings" / name, ManualClock(), real_time=False)
    return np.concatenate([chunk.samples for chunk in chunks])[: round(seconds * SAMPLE_RATE)]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.parent.name)
def test_the_card_describes_the_file_that_ships(card: Path) -> None:
    text = card.read_text(encoding="utf-8")
    described = re.findall(r"\| File \| `(models/[^`]+)`.*\n\| SHA-256 \| `([0-9a-f]{64})`", text)
    assert described
    for name, digest in described:
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest


def test_both_are_what_runs_by_default() -> None:
    folder = installation.data_folder("models")
    languages = RunLanguages(("en",), (("en", "de"),))
    assert find_model("recogniser", languages=languages).path == folder / "livetrans-recogniser-en"
    assert find_model("translator", languages=languages).path == folder / "livetrans-en-de.q8_0.gguf"


@pytest.mark.parametrize("kind", KINDS)
def test_the_recogniser_writes_no_word_where_nobody_speaks(kind: str, recogniser_path: Path) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1))
    written = listen(kind, 1 / 6, recogniser, GateSettings())
    assert (written.finals, written.shown) == ((), 0)
    assert written.passed_seconds == 0, "and the gate lets nothing through"


def test_the_recogniser_writes_what_was_spoken(recogniser_path: Path) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1))
    samples = first_seconds("demo.flac", 3.0).astype(np.float32) / 32768
    hypothesis = recogniser.recognise(samples)
    assert " ".join(word.text for word in hypothesis.words) == SPOKEN
    starts = [word.start for word in hypothesis.words]
    assert starts == sorted(starts) and 0 <= starts[0] and hypothesis.words[-1].end <= 3.0
    assert recogniser.traits.takes_prompt and recogniser.traits.rest is not None


def test_sound_becomes_german(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(ROOT / "recordings/demo.flac"), "--speed", "max", "--no-session", "--jsonl=-"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    recognised = [line["committed"] for line in lines if line["event"] == "transcript" and line["final"]]
    captions = [line["text"] for line in lines if line["event"] == "caption" and line["final"]]
    assert recognised[0] == SPOKEN
    assert captions[0] == "Danke, dass du heute gekommen bist!"


def test_half_a_recogniser_is_refused(tmp_path: Path, recogniser_path: Path) -> None:
    folder = tmp_path / "half"
    shutil.copytree(recogniser_path, folder)
    weights = folder / "model.bin"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    with pytest.raises(ModelError, match="half"):
        WhisperRecogniser(RecogniserSettings(folder))


def test_half_a_translator_is_refused(tmp_path: Path, translator_path: Path) -> None:
    half = tmp_path / "half.gguf"
    half.write_bytes(translator_path.read_bytes()[: translator_path.stat().st_size // 2])
    with pytest.raises(ModelError, match="half"):
        LlamaModel(LanguageModelSettings(half))
