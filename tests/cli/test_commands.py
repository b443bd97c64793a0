"""`livetrans devices` and `export`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from livetrans.audio import portaudio
from livetrans.audio.portaudio import Device
from livetrans.cli import run
from livetrans.events import Caption, Notice, Record, RunStarted, Transcript
from livetrans.installation import started_as
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import PlainOutput


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of one caption."""
    recorder = SessionRecorder(tmp_path / "session")
    caption = Caption(Transcript(0, 0, "Good day.", "", True, 0.5, 2.0), "Guten Tag.", (1, 2))
    recorder.write(Record(0.0, RunStarted({})))
    recorder.write(Record(0.0, caption))
    recorder.close()
    return tmp_path / "session"


def test_export_goes_to_stdout(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(session)]) == 0
    assert capsys.readouterr().out == "Guten Tag.\n"
    assert run(["export", str(session), "--format", "txt", "--text", "source"]) == 0
    assert capsys.readouterr().out == "Good day.\n"


def test_export_takes_the_format_from_the_file_name(session: Path, tmp_path: Path) -> None:
    assert run(["export", str(session), "-o", str(tmp_path / "out.srt")]) == 0
    assert "00:00:00,500 --> " in (tmp_path / "out.srt").read_text()
    assert run(["export", str(session), "-o", str(tmp_path / "talk")]) == 2


def test_export_refuses_places_that_are_no_file(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(session), "-o", str(tmp_path)]) == 2
    assert str(tmp_path / "captions.srt") in capsys.readouterr().err
    assert run(["export", str(session), "-o", "-"]) == 2
    assert "standard output" in capsys.readouterr().err


def test_export_says_how_to_finish_an_unfinished_session(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(session)]) == 0
    assert f"livetrans resume {session}" in capsys.readouterr().err
    with (session / "events.jsonl").open("a") as events:
        events.write('{"event": "run_ended", "at": 1, "heard": 1, "reason": "stopped"}\n')
    assert run(["export", str(session)]) == 0
    assert capsys.readouterr().err == ""


def test_advice_names_the_program_as_a_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "livetrans"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert started_as() == str(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert started_as() == "livetrans"
    # `python -m livetrans`; the program that is found is another installation's.
    monkeypatch.setattr("sys.argv", ["/lib/livetrans/__main__.py"])
    assert started_as() == f"{sys.executable} -m livetrans"
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert started_as() == "livetrans"


def test_advice_in_an_error_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [str(tmp_path / "bin" / "livetrans")])
    for command in (["export", "absent"], ["replay", "--nonsense"]):
        assert run(command) > 0
        assert f"`{tmp_path}/bin/livetrans " in capsys.readouterr().err
    PlainOutput(sys.stdout).write(Record(0.0, Notice("warning", "`livetrans resume` translates them.")))
    assert capsys.readouterr().err == f"`{tmp_path}/bin/livetrans resume` translates them.\n"


def test_export_overwrites_only_when_forced(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.txt"
    file.write_text("mine")
    assert run(["export", str(session), "-o", str(file)]) == 2
    assert "--force" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert run(["export", str(session), "-o", str(file), "--force"]) == 0
    assert file.read_text() == "Guten Tag.\n"


def test_export_of_something_that_is_not_a_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(tmp_path / "absent"), "--format", "txt"]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("livetrans: ") and printed.count("\n") == 1


def test_export_to_a_place_that_cannot_be_written(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(session), "-o", str(tmp_path / "absent" / "out.txt")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_last_is_the_newest_session(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    assert run(["export", "last", "--format", "txt"]) == 1
    assert "no session" in capsys.readouterr().err
    kept = tmp_path / "data" / "sessions" / "2026-01-01T00-00-00"
    kept.parent.mkdir(parents=True)
    session.rename(kept)
    for name in (["last"], [kept.name], []):
        assert run(["export", *name, "--format", "txt"]) == 0
        assert capsys.readouterr().out == "Guten Tag.\n"


def test_devices_marks_the_default(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = [Device(0, "Built-in", 2, 48000, True), Device(3, "USB \x1b[31mmicrophone", 1, 44100, False)]
    monkeypatch.setattr(portaudio, "list_devices", lambda: found)
    assert run(["devices"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "*   0  Built-in (2 channels, 48000 Hz)",
        "    3  USB microphone (1 channel, 44100 Hz)",
    ]


def test_devices_without_a_microphone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(portaudio, "list_devices", list)
    assert run(["devices"]) == 1
    assert portaudio.NO_MICROPHONE in capsys.readouterr().err
