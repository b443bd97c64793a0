"""`livetrans resume`, as typed: what it goes on with, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.cli import run
from livetrans.config import MaskSettings, Settings
from livetrans.events import Record, RunEnded, RunStarted, Transcript
from livetrans.models.find import MODELS_VARIABLE
from livetrans.run.resuming import Resuming
from livetrans.run.translating import Translating
from livetrans.session.export import read_captions
from livetrans.session.recorder import SessionRecorder
from livetrans.session.store import summarise

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"
ON_EITHER_ENGINE = pytest.mark.parametrize(
    "either_path", ["faster-whisper", pytest.param("whisper.cpp", marks=pytest.mark.long)], indirect=True
)


def test_one_that_was_stopped_with_nothing_left_is_whole_after_the_next(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recorder = SessionRecorder(tmp_path)
    for event in (RunStarted({}), RunStarted({}), RunEnded(1.0, "stopped")):
        recorder.write(Record(1.0, event))
    recorder.close()
    for state in ("unfinished", "whole"):
        assert summarise(tmp_path).state == state
        assert run(["resume", str(tmp_path)]) == 0
        assert "Nothing to resume" in capfd.readouterr().err
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 4


@pytest.mark.usefixtures("translator_path")
def test_of_a_recorded_stream_it_says_what_was_not_replayed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded, session = tmp_path / "recorded.jsonl", tmp_path / "session"
    spoken = [(0, "The dog runs.", 1.0), (1, "It rains.", 60.0)]
    common = {"revision": 0, "partial": "", "final": True}
    lines = [{"segment_id": number, "committed": text, "end": end, **common} for number, text, end in spoken]
    recorded.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run(["replay", str(recorded), "--speed", "max", "--session", str(session)]) == 0
    events = (session / "events.jsonl").read_text().splitlines(keepends=True)
    second = next(number for number, line in enumerate(events) if '"heard": 60' in line)
    (session / "events.jsonl").write_text("".join(events[:second]))
    capfd.readouterr()
    assert run(["resume", str(session)]) == 0
    assert "Only 0:01 of 1:00 of recorded.jsonl were heard; replay it again" in capfd.readouterr().err


def test_it_says_what_it_cannot_finish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SessionRecorder(tmp_path / "empty").close()
    for name, reason in ((tmp_path / "empty", "before it began to listen"), (tmp_path / "absent", "no session")):
        assert run(["resume", str(name)]) == 1
        printed = capsys.readouterr().err
        assert reason in printed and printed.count("\n") == 1


UNUSABLE = {
    "transcriber.maximum_words": 0,
    "transcriber.maximum_length": 0.0,
    "recogniser.beam_size": 100_000,
    "gate.minimum_speech": -1.0,
    "decoding.maximum_output_tokens": 10**9,
}
"""Settings without an option, and values with which no run works."""


@ON_EITHER_ENGINE
@pytest.mark.usefixtures("translator_path")
def test_settings_without_an_option_are_not_taken_from_a_session(
    either_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come from a stranger; its sound is recognised with the defaults."""
    monkeypatch.setenv(MODELS_VARIABLE, str(either_path.parent))
    session = tmp_path / "session"
    part = ["--asr", either_path.name, "--offline", "--end", "0:04", "--session", str(session), "--keep-audio"]
    assert run(["replay", str(DEMO), *part]) == 0
    lines = [json.loads(line) for line in (session / "events.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["event"] in ("notice", "run_started")]
    for field, value in UNUSABLE.items():
        stage, _, name = field.partition(".")
        assert name in kept[-1]["settings"][stage]
        kept[-1]["settings"][stage][name] = value
    (session / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    assert run(["resume", str(session)]) == 0
    assert "kept in" in capfd.readouterr().err
    assert read_captions(session).spoken()


def test_settings_with_an_option_are_checked_as_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = SessionRecorder(tmp_path)
    recorder.write(Record(0.0, RunStarted({}, replace(Settings(), mask=MaskSettings(k=-3)))))
    recorder.close()
    assert run(["resume", str(tmp_path)]) == 1
    assert "cannot be used: --mask-k: -3 is not in the range" in capsys.readouterr().err


@pytest.mark.usefixtures("translator_path")
def test_last_is_the_last_unfinished_session(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    for name, heard in (("killed", "The dog runs."), ("later", "It rains.")):
        line = {"segment_id": 0, "revision": 0, "committed": heard, "partial": "", "final": True}
        (tmp_path / "one.jsonl").write_text(json.dumps(line))
        assert run(["replay", str(tmp_path / "one.jsonl"), "--speed", "max", "--name", name]) == 0
    events = tmp_path / "data" / "sessions" / "killed" / "events.jsonl"
    kept = [line for line in events.read_text().splitlines(keepends=True) if '"run_ended"' not in line]
    events.write_text("".join(line for line in kept if '"caption"' not in line))
    capfd.readouterr()
    assert run(["resume"]) == 0
    said = capfd.readouterr().err
    assert f"1 caption is kept in {events.parent}" in said
    assert "livetrans resume" not in said, "it is finished"
    assert run(["resume", "last"]) == 0
    assert "Nothing to resume in later" in capfd.readouterr().err


def test_a_language_of_a_session_that_is_not_known_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "events.jsonl").write_text(
        '{"event": "run_started", "at": 0, "version": 2, "signature": {}}\n'
        '{"event": "setting_changed", "at": 1, "name": "to", "value": "klingon"}\n'
    )
    assert run(["resume", str(tmp_path)]) == 1
    assert "unknown language 'klingon'" in capsys.readouterr().err


@ON_EITHER_ENGINE
@pytest.mark.usefixtures("translator_path")
def test_a_replay_that_was_killed_goes_on_with_its_file_while_that_is_the_same(
    either_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A session has the names of its models, not where they are.
    monkeypatch.setenv(MODELS_VARIABLE, str(either_path.parent))
    recording, session, killed = tmp_path / "talk.flac", tmp_path / "session", tmp_path / "killed"
    shutil.copyfile(DEMO, recording)
    part = ["--asr", either_path.name, "--offline", "--end", "0:18", "--session", str(session)]
    assert run(["replay", str(recording), *part]) == 0
    whole = [(item.caption.source, item.caption.text) for item in read_captions(session).spoken()]
    events = (session / "events.jsonl").read_text().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(events) if '"heard": 9.' in line)
    killed.mkdir()

    def resume() -> str:
        (killed / "events.jsonl").write_text("".join(events[:cut]))
        capfd.readouterr()
        assert run(["resume", str(killed)]) == 0
        return capfd.readouterr().err

    assert "0:08 of 0:18 of talk.flac were heard; continuing with it." in resume()
    assert [(item.caption.source, item.caption.text) for item in read_captions(killed).spoken()] == whole
    assert run(["resume", str(killed)]) == 0
    assert capfd.readouterr().err == "Nothing to resume in killed: each sentence that was heard is translated.\n"
    recording.write_bytes(DEMO.read_bytes() + b"\0")
    assert "talk.flac was changed since" in resume()
    assert len(read_captions(killed).spoken()) < len(whole)
    recording.unlink()
    assert "no longer at" in resume()


@pytest.mark.usefixtures("translator_path")
def test_after_a_resume_that_was_stopped_the_next_goes_on_where_that_one_was(
    recogniser_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Although the run before both had heard more when it was killed."""
    monkeypatch.setenv(MODELS_VARIABLE, str(recogniser_path.parent))
    session = tmp_path / "session"
    part = ["--asr", recogniser_path.name, "--speed", "max", "--end", "0:18", "--session", str(session)]
    assert run(["replay", str(DEMO), *part]) == 0
    whole = [final.caption.source for final in read_captions(session).spoken()]
    events = session / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    ends = [json.loads(line)["end"] for line in lines if '"transcript"' in line and '"final": true' in line]
    cut = next(number for number, line in enumerate(lines) if f'"heard": {ends[1] - 0.5:.0f}' in line)
    events.write_text("".join(lines[:cut]))
    take = Resuming._take

    def interrupted(self: Resuming, transcript: Transcript, translating: Translating) -> None:
        take(self, transcript, translating)
        if not self._is_stopping and transcript.text:
            os.kill(os.getpid(), signal.SIGINT)
            while not self._is_stopping:
                time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(Resuming, "_take", interrupted)
        assert run(["resume", str(session)]) == 130
    assert "Stopped; for the rest: livetrans resume" in capfd.readouterr().err
    assert run(["resume", str(session)]) == 0
    assert "Figures" not in capfd.readouterr().err, "of a few sentences, behind those of the run before"
    resumed = [final.caption.source for final in read_captions(session).spoken()]
    assert len(" ".join(resumed).split()) >= len(" ".join(whole).split()) - 1
