"""`livetrans replay` from end to end: real sound, real models, the lines a user gets."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livetrans.audio.file import AudioFile
from livetrans.cli import run
from livetrans.clock import ManualClock
from livetrans.events import SAMPLE_RATE
from livetrans.session.codec import without_times
from livetrans.session.store import find_session, session_folders, summarise

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"


@pytest.fixture(scope="module")
def short_recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's first sentences, with the pause between them: 9 seconds."""
    samples = np.concatenate([chunk.samples for chunk in AudioFile(DEMO, ManualClock(), real_time=False)])
    path = tmp_path_factory.mktemp("sound") / "short.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(samples[: 9 * SAMPLE_RATE].tobytes())
    return path


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _finals(lines: list[dict[str, Any]]) -> list[str]:
    return [line["text"] for line in lines if line["event"] == "caption" and line["final"]]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions and configuration of whoever runs the tests stay out of them."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_offline_takes_fewer_passes_to_the_same_words(short_recording: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def passes_and_words(*options: str) -> tuple[int, list[str]]:
        assert run(["replay", str(short_recording), *options, "--no-session", "--jsonl=-"]) == 0
        lines = _lines(capfd.readouterr().out)
        words = [line["source"] for line in lines if line["event"] == "caption" and line["final"]]
        return max(line["passes"] for line in lines if line["event"] == "source_progress"), words

    online, words = passes_and_words("--speed", "max")
    offline, offline_words = passes_and_words("--offline")
    assert offline < online / 2
    assert offline_words == words
    assert passes_and_words("--offline", "--step", "1")[0] > offline
    assert passes_and_words("--offline", "--step", "0.8")[0] == online


def test_a_file_that_was_cut_off_keeps_what_was_heard_and_fails(
    short_recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.wav"
    cut.write_bytes(short_recording.read_bytes()[: 6 * 2 * SAMPLE_RATE])
    assert run(["replay", str(cut), "--speed", "max"]) == 1
    printed, errors = capfd.readouterr()
    assert printed and "could be read" in errors and "kept in" in errors
    assert run(["export", "--format", "txt"]) == 0
    assert capfd.readouterr().out.split() == printed.split()


def test_offline_at_the_pace_of_speech_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "talk.flac", "--offline", "--speed", "real"]) == 2
    assert "drop --speed real, or --offline" in capsys.readouterr().err


def test_plain_lines_are_the_finals(short_recording: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(short_recording), "--speed", "max", "--no-session"]) == 0
    plain = capfd.readouterr()
    assert plain.err.startswith("The embedded recogniser") and plain.err.count("\n") == 1
    run(["replay", str(short_recording), "--speed", "max", "--no-session", "--jsonl=-"])
    assert plain.out.splitlines() == [text for text in _finals(_lines(capfd.readouterr().out)) if text]
    assert len(plain.out.splitlines()) >= 2


def test_full_speed_repeats_itself_and_real_time_gives_the_same_finals(
    short_recording: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for speed in ("max", "max", "real"):
        assert run(["replay", str(short_recording), "--speed", speed, "--no-session", "--jsonl=-"]) == 0
        outputs.append(_lines(capfd.readouterr().out))
    first, second, live = outputs
    assert [without_times(line) for line in first] == [without_times(line) for line in second]
    assert _finals(live) == _finals(first)
    captured = [line["captured_at"] for line in live if line["event"] == "caption"]
    assert captured
    assert all(instant is not None for instant in captured)


def test_a_session_is_kept_exported_and_replayed(
    short_recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = tmp_path / "kept"
    assert run(["replay", str(short_recording), "--speed", "max", "--session", str(session), "--keep-audio"]) == 0
    said = capfd.readouterr().out.splitlines()
    assert summarise(session).of == short_recording.name
    assert run(["export", str(session), "--format", "txt"]) == 0
    assert capfd.readouterr().out.split() == " ".join(said).split()
    assert run(["export", str(session), "--format", "srt"]) == 0
    assert "-->" in capfd.readouterr().out
    # The recorded transcripts and the kept sound both give the captions again.
    for again in (session, session / "audio.wav"):
        assert run(["replay", str(again), "--speed", "max", "--no-session"]) == 0
        assert capfd.readouterr().out.splitlines() == said
    assert run(["replay", str(short_recording), "--session", str(session)]) == 2
    assert "already" in capfd.readouterr().err


def test_a_session_that_is_heard_again_to_no_new_words_is_not_called_silent(
    short_recording: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut, session = tmp_path / "cut.wav", tmp_path / "killed"
    with wave.open(str(short_recording), "rb") as whole, wave.open(str(cut), "wb") as file:
        file.setparams(whole.getparams())
        file.writeframes(whole.readframes(5 * SAMPLE_RATE // 2))  # in the middle of a word
    assert run(["replay", str(cut), "--speed", "max", "--session", str(session), "--keep-audio"]) == 0
    events = session / "events.jsonl"
    events.write_text("".join(line for line in events.read_text().splitlines(True) if '"run_ended"' not in line))
    capfd.readouterr()
    assert run(["resume", str(session)]) == 0
    said = capfd.readouterr()
    assert (said.out, said.err.splitlines()[0]) == ("", f"1 caption is kept in {session}")


def test_every_recording_runs_to_its_end(speech_name: str, shared: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(shared / "speech" / speech_name), "--speed", "max", "--no-session", "--jsonl=-"]) == 0
    captured = capfd.readouterr()
    lines = _lines(captured.out)
    nothing = not any(line["event"] == "transcript" for line in lines)
    assert captured.err == ("No speech was heard.\n" if nothing else "")
    assert lines[-1]["event"] == "run_ended"
    assert lines[-1]["reason"] == "end of source"
    ids = [line["segment_id"] for line in lines if line["event"] == "caption" and line["final"]]
    assert ids == list(range(len(ids)))
    assert not ids or speech_name != "none_empty.wav"


def stream(path: Path, text: str) -> Path:
    """A recorded stream of one sentence."""
    line = {"segment_id": 0, "revision": 0, "committed": text, "partial": "", "final": True, "start": 0.0, "end": 2.0}
    path.write_text(json.dumps(line))
    return path


def test_several_recordings_have_a_session_and_a_file_each(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = [stream(tmp_path / f"{name}.jsonl", text) for name, text in (("one", "A dog runs."), ("two", "It rains."))]
    (tmp_path / "out").mkdir()
    missing = tmp_path / "missing.wav"
    assert run(["replay", *map(str, [files[0], missing, files[1]]), "--offline", "-o", str(tmp_path / "out")]) == 1
    said = capfd.readouterr()
    assert said.err.count("There is no file") == 1
    assert [summarise(folder).of for folder in session_folders()] == ["one.jsonl", "two.jsonl"]
    written = [(tmp_path / "out" / name).read_text() for name in ("one.srt", "two.srt")]
    assert [text.splitlines()[2] for text in written] == said.out.splitlines()
    assert not (tmp_path / "out" / "missing.srt").exists()
    named = ["-o", str(tmp_path / "{name}.txt"), "--name", "dog"]
    assert run(["replay", str(files[0]), "--speed", "max", *named]) == 0
    assert (tmp_path / "one.txt").read_text() == said.out.splitlines(True)[0]
    assert find_session("dog").name == "dog"


@pytest.mark.parametrize(
    "options",
    [
        ["one.jsonl", "-o", "there.srt"],
        ["one.jsonl", "-o", "one"],
        ["one.jsonl", "-o", "absent/one.srt"],
        ["one.jsonl", "-o", "x.srt", "--no-session"],
        ["one.jsonl", "--name", "../x"],
        ["one.jsonl", "--name", "x", "--session", "y"],
        ["one.jsonl", "--start", "1:00"],
        ["talk.wav", "--start", "1:00", "--end", "0:30"],
        ["talk.wav", "--start", "-1"],
        ["one.jsonl", "two.jsonl", "-o", "x.srt"],
        ["one.jsonl", "two.jsonl", "--name", "x"],
        ["one.jsonl", "two.jsonl", "--speed", "real"],
    ],
)
def test_what_cannot_be_written_or_played_is_refused_before_the_run(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        stream(Path(f"{name}.jsonl"), "A dog runs.")
    Path("there.srt").write_text("mine")
    speed = [] if "--speed" in options else ["--offline"]
    assert run(["replay", *options, *speed]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "there.srt", "two.jsonl"]
    assert Path("there.srt").read_text() == "mine"


@pytest.mark.usefixtures("translator_path")
@pytest.mark.parametrize(("tokens", "said"), [("4096", True), ("512", False)])
def test_a_context_that_the_model_does_not_have_is_said(
    tokens: str, said: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recorded = stream(tmp_path / "stream.jsonl", "A dog runs.")
    assert run(["replay", str(recorded), "--speed", "max", "--no-session", "--context", tokens]) == 0
    assert (f"--context {tokens} is cut" in capfd.readouterr().err) == said
