"""`livetrans doctor`, with the embedded pair run for real and the microphone scripted."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from livetrans.cli import doctor, run
from livetrans.doctor import trial
from livetrans.doctor.machine import BROKEN, OK, WARNING
from livetrans.doctor.trial import Trial
from livetrans.errors import SourceError

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")


GOOD = Trial(True, 24.0, 0.6, 1.9, 0.3, 0.2, "normal", 0.0)


@pytest.fixture(autouse=True)
def microphone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(doctor, "_listen", lambda: ("USB Headset", 0.05))


@pytest.fixture
def run_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the figures of an earlier trial run."""
    monkeypatch.setattr(trial, "run_trial", lambda settings, clock: GOOD)


def test_the_report_fits_a_terminal_and_names_what_it_measured(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "SPEECH_SECONDS", 4.0)
    assert run(["doctor"]) == 0
    printed, errors = capfd.readouterr()
    assert errors == ""
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    named = [line[8:22].strip() for line in lines if line[:8].strip() in (OK, WARNING, BROKEN)]
    expected = ["versions", "llama.cpp", "CTranslate2", "microphone", "disk", "models", "memory", "captions"]
    assert [name for name in named if name != "other load"] == expected
    assert "understands synthetic voices only" in " ".join(printed.split())
    assert lines[-1].startswith("Ready")


@pytest.mark.usefixtures("run_before")
def test_json_holds_the_findings_and_the_figures(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json", "--step", "0.5"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["ok"] is True
    assert all(found["state"] in (OK, WARNING) for found in report["findings"])
    assert report["measured"] == {**asdict(GOOD), "keeps_up": True}


def _damaged(folder: Path, translator: Path) -> Path:
    """The translator with a header that says it has no layers: llama.cpp ends the process on it."""
    data = translator.read_bytes()
    at = data.index(b".block_count") + len(b".block_count") + 4
    return _file(folder / "damaged.gguf", data[:at] + bytes(4) + data[at + 4 :])


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", ["cut", "damaged"])
def test_a_translator_that_cannot_be_loaded_is_broken(
    kind: str, tmp_path: Path, translator_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = _damaged(tmp_path, translator_path) if kind == "damaged" else _file(tmp_path / "cut", b"GGUF" + bytes(200))
    assert run(["doctor", "--mt", str(path)]) == 1
    printed, errors = capfd.readouterr()
    assert errors == ""
    assert "broken  captions" in printed and printed.splitlines()[-1] == "Not ready: captions."
    assert path.name in "".join(printed.split())


def test_languages_that_a_model_does_not_know_are_broken_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--to", "fr", "--mt", "livetrans-en-de"]) == 1
    printed = capfd.readouterr().out
    assert "broken  captions" in printed and "not en to fr" in " ".join(printed.split())


def test_a_recogniser_that_cannot_be_loaded_is_broken(
    tmp_path: Path, recogniser_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(recogniser_path, tmp_path / "cut"))
    (folder / "model.bin").write_bytes(b"\6\0\0\0")
    assert run(["doctor", "--asr", str(folder)]) == 1
    assert "broken  captions" in capfd.readouterr().out


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
    assert "--theme" not in printed and "--session" not in printed
    assert run(["doctor", "--theme", "textual-light", "--to", "Klingon"]) == 2
    assert "Klingon" in capsys.readouterr().err
    assert run(["mic", "--help"]) == 0
    assert "--theme" in capsys.readouterr().out


@pytest.mark.usefixtures("run_before")
def test_no_microphone_leaves_the_machine_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def listen() -> tuple[str, float]:
        raise SourceError("There is no microphone: plug one in.")

    monkeypatch.setattr(doctor, "_listen", listen)
    assert run(["doctor"]) == 0
    assert "warning microphone    There is no microphone: plug one in." in capsys.readouterr().out


def test_a_microphone_that_waits_for_permission_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = iter([None, None, 0.0, 0.0, 0.0, 0.25])

    class Meter:
        name, fault, loudest = "Built-in", None, None

        def __init__(self, device: None) -> None:
            pass

        def wait(self, seconds: float) -> bool:
            self.loudest = next(levels)
            return False

        def close(self) -> None:
            pass

    monkeypatch.undo()
    monkeypatch.setattr("livetrans.audio.capture.LevelMeter", Meter)
    monkeypatch.setattr(doctor, "ZEROS_SECONDS", 30)
    assert doctor._listen() == ("Built-in", 0.25)


def test_too_little_memory_is_broken_and_nothing_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 1_000_000}))
    assert run(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "broken  memory" in printed and "ok      captions" not in printed


def test_what_native_code_writes_to_standard_error_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with doctor._quiet():
        os.write(2, b"ALSA lib conf.c")
    os.write(2, b"after")
    assert capfd.readouterr().err == "after"
