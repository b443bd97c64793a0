"""The faster-whisper adapter with the small English recogniser: short, because each pass costs real time."""

from __future__ import annotations

import json
import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

from livetrans.clock import ManualClock
from livetrans.config import GateSettings, RecogniserSettings, TranscriberSettings
from livetrans.errors import ModelError, UsageError
from livetrans.events import AudioChunk, Transcript
from livetrans.speech.gate import VoiceActivityGate
from livetrans.speech.transcriber import Transcriber
from livetrans.speech.whisper import WhisperRecogniser, takes_prompt


@pytest.fixture(scope="module")
def recogniser(recogniser_path: Path) -> WhisperRecogniser:
    return WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1))


def read(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)


def listen(recogniser: WhisperRecogniser, samples: np.ndarray) -> list[Transcript]:
    gate = VoiceActivityGate(GateSettings())
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False, step=2.0), ManualClock())
    chunks = [c for i in range(0, len(samples), 960) for c in gate.feed(AudioChunk(samples[i : i + 960], i))]
    transcripts = [t for chunk in [*chunks, *gate.flush()] for t in transcriber.feed(chunk)]
    return transcripts + transcriber.flush()


def test_noise_and_quiet_give_no_words(shared: Path, recogniser: WhisperRecogniser) -> None:
    assert listen(recogniser, read(shared / "speech" / "none_empty.wav")) == []


def test_human_speech_runs_to_its_end(shared: Path, recogniser: WhisperRecogniser) -> None:
    transcripts = listen(recogniser, read(shared / "speech" / "en_jfk.wav"))
    finals = [t for t in transcripts if t.final]
    assert finals and [t.segment_id for t in finals] == list(range(len(finals)))


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_synthetic_speech_is_recognised_word_by_word(tmp_path: Path, recogniser: WhisperRecogniser) -> None:
    path = tmp_path / "x.wav"
    text = "The man is reading a book. The dog runs in the snow."
    subprocess.run(["espeak-ng", "-v", "en-us", "-s", "155", "-w", str(path), text], check=True)
    with wave.open(str(path)) as file:
        rate = file.getframerate()
    raw = read(path)
    places = np.arange(0, len(raw) - 1, rate / 16_000)
    samples = np.interp(places, np.arange(len(raw)), raw).astype(np.int16)
    hypothesis = recogniser.recognise(samples.astype(np.float32) / 32_768)
    assert len(hypothesis.words) >= 6
    assert all(0 <= word.start <= word.end for word in hypothesis.words)
    assert [word.start for word in hypothesis.words] == sorted(word.start for word in hypothesis.words)
    said = {word.text.strip(".").lower() for word in hypothesis.words}
    assert len(said & {"the", "man", "is", "reading", "a", "book", "dog", "runs", "in", "snow"}) >= 4


def test_a_language_that_the_model_does_not_know_is_refused(recogniser_path: Path) -> None:
    with pytest.raises(UsageError, match="'tlh'"):
        WhisperRecogniser(RecogniserSettings(recogniser_path, language="tlh"))


def test_a_folder_that_is_no_model_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no recogniser at"):
        WhisperRecogniser(RecogniserSettings(tmp_path / "missing"))
    with pytest.raises(ModelError, match=r"model\.bin"):
        WhisperRecogniser(RecogniserSettings(tmp_path))
    for name in ("model.bin", "vocabulary.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config\.json"):
        WhisperRecogniser(RecogniserSettings(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        WhisperRecogniser(RecogniserSettings(tmp_path))


def test_a_broken_tokenizer_is_one_sentence(tmp_path: Path, recogniser_path: Path) -> None:
    for file in recogniser_path.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    (tmp_path / "tokenizer.json").chmod(0o644)
    (tmp_path / "tokenizer.json").write_text("{]")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        WhisperRecogniser(RecogniserSettings(tmp_path))


def test_prompts_go_only_to_models_that_know_them(tmp_path: Path) -> None:
    for config, pieces, expected in (
        ({}, 600, False),
        ({}, 51_864, True),
        ({"livetrans": {"previous_text": True}}, 600, True),
        ({"livetrans": {"previous_text": False}}, 600, False),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert takes_prompt(tmp_path, pieces) is expected
