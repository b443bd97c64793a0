"""`--engine onnx` through the commands, with a tiny random transducer that writes a phrase whatever it hears."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livetrans.base.clock import ManualClock
from livetrans.cli import run
from livetrans.config import RECOGNISER_VARIABLE, MeetingSettings, RecogniserSettings, Settings
from livetrans.models.find import MODELS_VARIABLE
from livetrans.run.opening import open_stages
from livetrans.session.store import summarise
from tests.speech.random_whisper import PHRASE

pytest.importorskip("onnx", reason="onnx, of the extra `test`, writes the model")
from tests.speech.random_transducer import write_random_transducer

pytestmark = pytest.mark.usefixtures("translator_path")

DEMO = str(Path(__file__).parents[2] / "recordings" / "demo.flac")
BEGINNING = " ".join(PHRASE[:4])


@pytest.fixture(autouse=True)
def parakeet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv(MODELS_VARIABLE, str(tmp_path / "models"))
    monkeypatch.delenv(RECOGNISER_VARIABLE, raising=False)
    return write_random_transducer(tmp_path / "models" / "parakeet", phrase=PHRASE)


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def finals(events: list[dict[str, Any]]) -> list[str]:
    return [event["source"] for event in events if event["event"] == "caption" and event["final"]]


def test_a_killed_session_goes_on_with_the_engine_that_it_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = tmp_path / "session"
    assert run(["replay", DEMO, "--end", "20", "--speed", "max", "--session", str(session), "--keep-audio"]) == 0
    file = session / "events.jsonl"
    whole = events_of(file)
    assert len(finals(whole)) > 2 and all(text.startswith(BEGINNING) for text in finals(whole))
    [started] = [event for event in whole if event["event"] == "run_started"]
    assert started["settings"]["recogniser"]["model"] == "parakeet" and started["signature"]["onnxruntime"]
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    second = [number for number, event in enumerate(whole) if event["event"] == "caption" and event["final"]][1]
    file.write_text("".join(lines[: second + 1]), encoding="utf-8")
    capfd.readouterr()
    assert run(["resume", str(session)]) == 0
    assert summarise(session).state == "whole"
    assert finals(events_of(file)) == finals(whole)


def test_each_refusal_is_a_sentence(parakeet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for options, fault in (
        (["--asr", "parakeet", "--from", "en,auto", "--to", "de"], "as --from auto needs; name the spoken language"),
        (["--asr", "parakeet", "--encode-window", "full"], "--encode-window is for Whisper"),
        (["--asr", "parakeet", "--engine", "faster-whisper"], "parakeet is a model of onnx; drop --engine, or name"),
    ):
        assert run(["replay", DEMO, "--speed", "max", "--no-session", *options]) == 2
        assert fault in (error := capfd.readouterr().err) and error.count("\n") == 1
    (parakeet / "vocab.txt").unlink()
    assert run(["replay", DEMO, "--speed", "max", "--no-session"]) == 1
    assert "it lacks vocab.txt or tokens.txt; give the folder" in capfd.readouterr().err


def test_terms_are_kept_without_hot_words(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "terms.tsv").write_text("brother\tKumpel\n", encoding="utf-8")
    options = ["--end", "5", "--glossary", str(tmp_path / "terms.tsv"), "--repair", "names"]
    assert run(["replay", DEMO, "--speed", "max", "--no-session", *options]) == 0
    shown, said = capfd.readouterr()
    assert "The recogniser takes no hot words of the glossary, which has 1 terms." in said
    assert shown.strip()


def test_methods_are_compared_on_its_updates(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", DEMO, "--end", "6", "--compare", "rt,window"]) == 0
    assert "window" in capfd.readouterr().out


def test_two_tracks_share_the_model(parakeet: Path) -> None:
    meeting = Settings(RecogniserSettings(parakeet, "en"), sources=("en",), meeting=MeetingSettings("de", "en"))
    theirs, mine = open_stages(meeting, ManualClock(), lambda event: None)
    assert (theirs.track, mine.track, mine.language) == ("them", "me", "de")
    assert theirs.recogniser is mine.recogniser
