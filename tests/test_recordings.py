"""Recordings: each one is whole, has the sound that is stated, and its script reports errors in one sentence."""

from __future__ import annotations

import difflib
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import av
import numpy as np
import pytest

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.events import SAMPLE_RATE

FOLDER = Path(__file__).parents[1] / "recordings"
LIMIT_BYTES = 12_000_000


def load_make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recordings_make", FOLDER / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look a class's module up
    spec.loader.exec_module(module)
    return module


make = load_make()
NAMES = sorted(make.RECORDINGS)


def lines_of(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def words(text: str) -> list[str]:
    return re.findall("[a-z']+", text.lower())


def samples_of(name: str) -> np.ndarray:
    chunks = AudioFile(FOLDER / f"{name}.flac", ManualClock(), real_time=False)
    return np.concatenate([chunk.samples for chunk in chunks])


def silences(samples: np.ndarray) -> np.ndarray:
    """Lengths in seconds of the stretches, of 20 ms and more, in which nothing is heard."""
    window = SAMPLE_RATE // 50
    loudest = np.abs(samples[: len(samples) // window * window].astype(np.int32)).reshape(-1, window).max(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loudest < 50, [0]]).astype(np.int8)))
    lengths: np.ndarray = (edges[1::2] - edges[::2]) * window / SAMPLE_RATE
    return lengths


def test_there_are_seven_and_no_stray_file() -> None:
    assert len(NAMES) >= 7
    assert {path.name.split(".")[0] for path in FOLDER.iterdir() if path.suffix in (".flac", ".txt", ".jsonl")} == set(
        NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_line_has_its_translation(name: str) -> None:
    spoken, translated = lines_of(f"{name}.txt"), lines_of(f"{name}.de.txt")
    assert len(spoken) == len(translated) > 0
    assert all(line and line == line.strip() for line in spoken + translated)


@pytest.mark.parametrize("name", NAMES)
def test_the_texts_are_what_a_small_model_can_write(name: str) -> None:
    for line in lines_of(f"{name}.txt"):
        assert re.fullmatch(r"[A-Z][A-Za-z' .,?!]*[.?!]", line), line
    for line in lines_of(f"{name}.de.txt"):
        assert re.fullmatch(r"[A-ZÄÖÜ][A-Za-zÄÖÜäöüß .,?!]*[.?!]", line), line


@pytest.mark.parametrize("name", NAMES)
def test_the_sound_is_mono_16_khz_of_16_bits_and_clear(name: str) -> None:
    with av.open(str(FOLDER / f"{name}.flac")) as container:
        [stream] = container.streams.audio
        assert (stream.codec_context.name, stream.rate, stream.channels) == ("flac", SAMPLE_RATE, 1)
        assert stream.format.name == "s16"
    samples = samples_of(name)
    assert 30 <= len(samples) / SAMPLE_RATE <= 180
    peak = np.abs(samples.astype(np.int32)).max() / 32768
    assert 0.1 < peak < 0.95


@pytest.mark.parametrize("name", NAMES)
def test_the_pauses_are_in_the_sound(name: str) -> None:
    phrases = list(make.phrases_of(make.RECORDINGS[name], lines_of(f"{name}.txt")))
    planned = sorted((phrase.silence for phrase in phrases), reverse=True)
    heard = sorted(silences(samples_of(name)), reverse=True)[: len(planned)]
    assert len(heard) == len(planned)
    # A voice is silent for a moment itself, before and after what it says.
    for silence, length in zip(planned, heard, strict=True):
        assert silence - 0.05 <= length <= silence + 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_transcript_stream_is_of_this_recording_and_our_recogniser(name: str) -> None:
    events = [json.loads(line) for line in lines_of(f"{name}.jsonl")]
    [started] = [event for event in events if event["event"] == "run_started"]
    assert started["signature"]["recogniser"] == "livetrans-recogniser-en"
    finals = [event for event in events if event["event"] == "transcript" and event["final"]]
    assert [event["segment_id"] for event in finals] == list(range(len(finals)))
    heard = words(" ".join(event["committed"] for event in finals))
    written = words(" ".join(lines_of(f"{name}.txt")))
    assert difflib.SequenceMatcher(a=written, b=heard, autojunk=False).ratio() > 0.8


def test_one_pause_is_long_and_inside_a_sentence() -> None:
    phrases = make.phrases_of(make.RECORDINGS["pauses"], lines_of("pauses.txt"))
    assert any(phrase.silence >= 4 and phrase.text.endswith(",") for phrase in phrases)


def test_the_long_sentences_are_long() -> None:
    assert all(20 <= len(line.split()) <= 35 for line in lines_of("long.txt"))


def test_they_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < LIMIT_BYTES


def test_phrases_lose_no_word_and_pause_as_planned() -> None:
    voice, other = make.Flite("slt"), make.Flite("rms")
    lines = ["Well, yes, I think so.", "Good."]
    plain = make.Recording((voice, other), pause=0.5)
    assert list(make.phrases_of(plain, lines)) == [make.Phrase(voice, lines[0], 0.5), make.Phrase(other, lines[1], 0.5)]
    planned = make.Recording((voice,), pauses=((0.0, 4.0, 1.0), (2.0,)))
    assert [(phrase.text, phrase.silence) for phrase in make.phrases_of(planned, lines)] == [
        ("Well, yes,", 4.0),
        ("I think so.", 1.0),
        ("Good.", 2.0),
    ]


@pytest.mark.parametrize("pauses", [((1.0, 1.0, 1.0),), ((1.0, 1.0), (1.0,)), ((1.0, 1.0, 1.0), (1.0, 1.0))])
def test_a_plan_that_does_not_fit_its_lines_is_refused(pauses: tuple[tuple[float, ...], ...]) -> None:
    recording = make.Recording((make.Flite("slt"),), pauses=pauses)
    with pytest.raises(ValueError, match=r"plans for|commas"):
        list(make.phrases_of(recording, ["Well, yes, I think so.", "Good."]))


def test_a_missing_program_is_reported_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    before = (FOLDER / "talk.flac").stat()
    assert make.main(["talk"]) == 1
    assert (
        capsys.readouterr().err
        == "Not found on the PATH: sox flite; on Debian, `apt install sox flite` installs them.\n"
    )
    assert (FOLDER / "talk.flac").stat() == before
