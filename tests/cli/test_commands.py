"""`livetrans devices` and `export`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.audio import portaudio
from livetrans.audio.portaudio import Device
from livetrans.cli import run
from livetrans.config import Settings
from livetrans.events import Caption, Record, RunEnded, RunStarted, Transcript
from livetrans.session.recorder import SessionRecorder
from tests.session.examples import caption, write_session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of one caption."""
    recorder = SessionRecorder(tmp_path / "session")
    caption = Caption(Transcript(0, 0, "Good day.", "", True, 0.5, 2.0), "Guten Tag.", (1, 2))
    recorder.write(Record(0.0, RunStarted({})))
    recorder.write(Record(0.0, caption))
    recorder.close()
    return tmp_path / "session"


def test_export_goes_to_stdout_or_to_a_file_whose_name_says_the_format(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(session)]) == 0
    assert capsys.readouterr().out == "Guten Tag.\n"
    assert run(["export", str(session), "--format", "txt", "--text", "source"]) == 0
    assert capsys.readouterr().out == "Good day.\n"
    assert run(["export", str(session), "-o", str(tmp_path / "out.SRT")]) == 0
    assert "00:00:00,500 --> " in (tmp_path / "out.SRT").read_text()


def test_a_session_in_two_languages_is_written_to_a_file_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoken = caption(0, "Guten Tag.")
    folder = tmp_path / "two"
    folder.mkdir()
    write_session(
        folder / "events.jsonl",
        RunStarted({}, Settings(targets=("de", "fr"))),
        replace(spoken, language="de"),
        replace(spoken, text="Bonjour.", language="fr"),
        RunEnded(9.0, "end of source"),
    )
    assert run(["export", str(folder), "-o", str(tmp_path / "out.txt")]) == 0
    assert [(tmp_path / f"out.{code}.txt").read_text() for code in ("de", "fr")] == ["Guten Tag.\n", "Bonjour.\n"]
    assert run(["export", str(folder), "--to", "French", "-o", str(tmp_path / "fr.txt")]) == 0
    assert (tmp_path / "fr.txt").read_text() == "Bonjour.\n"
    capsys.readouterr()
    assert run(["export", str(folder)]) == 0
    output = capsys.readouterr()
    assert output.out == "Guten Tag.\n" and "--to fr" in output.err
    (tmp_path / "out.de.txt").unlink()
    for refused in (["--to", "es"], ["--to", "de,fr"], ["-o", str(tmp_path / "out.txt")]):
        assert run(["export", str(folder), *refused]) == 2
    assert not (tmp_path / "out.de.txt").exists(), "nothing is written where one file exists"
    capsys.readouterr()
    assert run(["sessions", "show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "en → de,fr" in shown and "de: Guten Tag." in shown and "fr: Bonjour." in shown


@pytest.mark.parametrize(
    ("place", "code", "advice"),
    [
        ("", 2, "captions.srt"),
        ("talk", 2, "does not end in a format"),
        ("talk.doc", 2, "end its name in .srt"),
        ("-", 2, "standard output"),
        ("mine.txt", 2, "--force"),
        ("absent/out.txt", 1, "cannot be written"),
    ],
)
def test_export_refuses_places_that_it_cannot_write(
    place: str, code: int, advice: str, session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    command = ["export", str(session), "-o", place if place == "-" else str(tmp_path / place)]
    assert run(command) == code
    assert advice in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "mine"
    if advice == "--force":
        assert run([*command, "--force"]) == 0
        assert (tmp_path / "mine.txt").read_text() == "Guten Tag.\n"


def test_devices_marks_the_default(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = [Device(0, "Built-in", 2, 48000, True), Device(3, "USB \x1b[31mmicrophone", 1, 44100, False)]
    monkeypatch.setattr(portaudio, "list_devices", lambda: found)
    assert run(["devices"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Microphones, for `livetrans mic`:",
        "*   0  Built-in (2 channels, 48000 Hz)",
        "    3  USB microphone (1 channel, 44100 Hz)",
    ]


def test_devices_without_a_microphone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(portaudio, "list_devices", list)
    assert run(["devices"]) == 1
    assert portaudio.NO_MICROPHONE in capsys.readouterr().err
