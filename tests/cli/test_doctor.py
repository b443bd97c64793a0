"""`livetrans doctor`, with the embedded pair measured for real and the microphone scripted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from livetrans.cli import doctor, run
from livetrans.errors import SourceError

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")


@pytest.fixture(autouse=True)
def microphone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_listen", lambda: ("USB Headset", 0.05))


def test_the_report_fits_a_terminal_and_names_what_it_measured(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    printed, errors = capfd.readouterr()
    assert errors == ""
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    named = [line[8:22].strip() for line in lines if line[:8].strip() in ("ok", "look")]
    expected = ["versions", "llama.cpp", "CTranslate2", "microphone", "disk", "models", "memory"]
    told = [
        name for name in named if name not in ("other load", "better pair", "for people")
    ]  # these depend on the machine
    assert told == [*expected, "recogniser", "translator", "captions"]
    assert "understands synthetic voices only" in " ".join(printed.split())
    assert lines[-1].startswith("Ready")


def test_json_holds_the_findings_and_the_figures(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json", "--step", "0.5"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["ok"] is True
    assert all(found["state"] in ("ok", "warning") for found in report["findings"])
    predicted = report["measured"]["predicted"]
    assert predicted["step"] == 0.5 and predicted["keeps_up"] in (True, False)
    assert 0 < predicted["lag"] < predicted["final_lag"] + 60
    assert [length for length, _ in report["measured"]["recogniser"]["passes"]] == [1.0, 4.0, 12.0]


def test_a_translator_that_cannot_be_loaded_is_broken(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(200))
    assert run(["doctor", "--mt", str(broken)]) == 1
    printed, errors = capfd.readouterr()
    assert errors == ""
    assert "broken  translator" in printed and printed.splitlines()[-1] == "Not ready: translator."


def test_languages_that_a_model_does_not_know_are_broken_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--to", "fr", "--mt", "livetrans-en-de"]) == 1
    printed = capfd.readouterr().out
    assert "broken  translator" in printed and "not en to fr" in " ".join(printed.split())


def test_a_recogniser_that_cannot_be_loaded_is_broken(
    tmp_path: Path, recogniser_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(recogniser_path, tmp_path / "cut"))
    (folder / "model.bin").write_bytes(b"\6\0\0\0")
    assert run(["doctor", "--asr", str(folder)]) == 1
    assert "broken  recogniser" in capfd.readouterr().out


def test_models_that_are_not_there_end_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--mt", "/absent.gguf"]) == 1
    assert "there is no file '/absent.gguf'" in " ".join(capsys.readouterr().out.split())


def test_a_wrong_option_is_said_before_anything_is_examined(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--to", "Klingon"]) == 2
    printed, errors = capsys.readouterr()
    assert printed == "" and "Klingon" in errors


def test_help_lists_what_changes_the_measurement_and_every_option_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--step" in printed and "--asr" in printed and "--config" in printed
    assert "--theme" not in printed and "--session" not in printed and "--glossary" not in printed
    assert run(["doctor", "--theme", "textual-light", "--to", "Klingon"]) == 2
    assert "Klingon" in capsys.readouterr().err
    assert run(["mic", "--help"]) == 0
    assert "--theme" in capsys.readouterr().out


def test_no_microphone_leaves_the_machine_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def listen() -> tuple[str, float]:
        raise SourceError("There is no microphone: plug one in.")

    monkeypatch.setattr(doctor, "_listen", listen)
    monkeypatch.setattr(doctor, "_measure", lambda settings, measured, suggests: iter(()))
    assert run(["doctor"]) == 0
    assert "look    microphone    There is no microphone: plug one in." in capsys.readouterr().out


@pytest.mark.parametrize("busy", [True, False])
def test_no_models_are_suggested_from_figures_that_are_too_high(
    busy: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psutil.getloadavg", lambda: (1000.0 if busy else 0.0, 0.0, 0.0))
    assert run(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert ("the figures below are too high" in " ".join(printed.split())) == busy
    assert ("for people" in printed) != busy


def test_too_little_memory_is_broken_and_nothing_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 1_000_000}))
    assert run(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "broken  memory" in printed and "recogniser  " not in printed


def test_what_native_code_writes_to_standard_error_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with doctor._quiet():
        os.write(2, b"ALSA lib conf.c")
    os.write(2, b"after")
    assert capfd.readouterr().err == "after"
