"""`livetrans doctor`, with the embedded pair run for real and the microphone scripted."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from livetrans.audio import portaudio
from livetrans.cli import doctor, run
from livetrans.doctor import BROKEN, OK, WARNING, Trial, _Load, check_whisper_cpp
from livetrans.errors import SourceError
from livetrans.events import Notice, Record
from livetrans.models.chosen import GPU_UNUSED
from livetrans.models.find import MODELS_VARIABLE

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")


GOOD = Trial(True, 24.0, 0.6, 1.9, 0.3, 0.2, {}, "normal", 0.0)


@pytest.fixture(autouse=True)
def microphone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_listen", lambda: ("USB Headset", 0.05))
    monkeypatch.setattr(doctor, "_open_output", lambda: "Speaker")
    monkeypatch.setattr(portaudio, "portaudio_version", lambda: "PortAudio V19.7.0")


@pytest.fixture
def run_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the figures of an earlier trial run."""
    monkeypatch.setattr("livetrans.doctor.run_trial", lambda settings, clock: GOOD)


def test_the_report_fits_a_terminal_and_names_what_it_measured(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livetrans.doctor.SPEECH_SECONDS", 4.0)
    assert run(["doctor"]) == 0
    printed, errors = capfd.readouterr()
    assert errors == ""
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    named = [line[8:22].strip() for line in lines if line[:8].strip() in (OK, WARNING, BROKEN)]
    expected = "versions llama.cpp CTranslate2 whisper.cpp microphone output disk models memory captions"
    assert " ".join(name for name in named if name != "other load") == expected
    assert "understands synthetic voices only" in " ".join(printed.split())
    assert lines[-1].startswith("Ready")


@pytest.mark.usefixtures("run_before")
def test_json_holds_the_findings_and_the_figures(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json", "--step", "0.5"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["ok"] is True
    assert all(found["state"] in (OK, WARNING) for found in report["findings"])
    assert report["measured"] == {**asdict(GOOD), "keeps_up": True}


@pytest.mark.usefixtures("run_before")
def test_a_model_of_the_other_engine_is_measured_too(
    cpp_recogniser_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(cpp_recogniser_path, tmp_path / "ggml-own.bin")
    monkeypatch.setenv(MODELS_VARIABLE, str(tmp_path))
    assert run(["doctor", "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["measured"]["other"] == {**asdict(GOOD), "recogniser_model": "ggml-own.bin", "keeps_up": True}
    assert report["findings"][-1]["name"] == "other engine" and "keeps up" in report["findings"][-1]["text"]


def test_a_gpu_that_could_not_be_started_is_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load = _Load()
    load.write(Record(0.0, Notice("warning", GPU_UNUSED)))
    monkeypatch.setattr("livetrans.doctor.run_trial", lambda settings, clock: replace(GOOD, gpu_unused=load.gpu_unused))
    assert run(["doctor", "--json"]) == 0
    findings = {found["name"]: found for found in json.loads(capfd.readouterr().out)["findings"]}
    assert findings["GPU"]["state"] == WARNING and "runs on the processor" in findings["GPU"]["text"]


@pytest.mark.parametrize(
    ("info", "on_a_mac", "state", "text"),
    [
        (None, False, None, ""),
        (None, True, WARNING, "not installed"),
        ("WHISPER : COREML = 0 | MTL : EMBED_LIBRARY = 1 | CPU : NEON = 1 | ", True, OK, "built for Metal"),
        ("WHISPER : COREML = 0 | CPU : AVX2 = 1 | ", False, OK, "runs on the processor"),
    ],
)
def test_the_gpu_engine_is_reported_by_its_build(
    info: str | None, on_a_mac: bool, state: str | None, text: str
) -> None:
    finding = check_whisper_cpp(info, on_a_mac, "pip install it")
    assert (finding.state if finding else None) == state
    assert finding is None or text in finding.text


def damaged(translator: Path) -> bytes:
    """Return the translator with a header that says it has no layers: llama.cpp ends the process on it."""
    data = translator.read_bytes()
    at = data.index(b".block_count") + len(b".block_count") + 4
    return data[:at] + bytes(4) + data[at + 4 :]


@pytest.mark.parametrize("kind", ["cut", "damaged", "recogniser", "languages"])
def test_models_that_cannot_be_used_are_broken(
    kind: str, tmp_path: Path, translator_path: Path, recogniser_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.gguf"
    options = ["--mt", str(path)]
    if kind == "recogniser":
        path = Path(shutil.copytree(recogniser_path, tmp_path / "cut"))
        (path / "model.bin").write_bytes(b"\6\0\0\0")
        options = ["--asr", str(path)]
    elif kind == "languages":
        options = ["--to", "fr", "--mt", "livetrans-en-de"]
    else:
        path.write_bytes(b"GGUF" + bytes(200) if kind == "cut" else damaged(translator_path))
    assert run(["doctor", *options]) == 1
    printed, errors = capfd.readouterr()
    assert errors == ""
    assert "broken  captions" in printed and printed.splitlines()[-1] == "Not ready: captions."
    if kind == "languages":
        assert "not en to fr" in " ".join(printed.split())
    else:
        assert path.name in "".join(printed.split())


def test_models_that_are_not_there_end_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--mt", "/absent.gguf"]) == 1
    assert "there is no file '/absent.gguf'" in " ".join(capsys.readouterr().out.split())


def test_help_lists_what_changes_the_measurement_and_every_option_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--help-all"]) == 0
    printed = capsys.readouterr().out
    assert "--step" in printed and "--asr" in printed and "--config" in printed
    assert "--theme" not in printed and "--session" not in printed
    assert run(["doctor", "--theme", "textual-light", "--to", "Klingon"]) == 2
    printed, errors = capsys.readouterr()
    assert printed == "" and "Klingon" in errors, "before anything is examined"


@pytest.mark.usefixtures("run_before")
@pytest.mark.parametrize(("name", "opening"), [("microphone", "_listen"), ("output", "_open_output")])
def test_no_sound_leaves_the_machine_ready(
    name: str, opening: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise SourceError("There is none: plug one in.")

    monkeypatch.setattr(doctor, opening, fail)
    assert run(["doctor"]) == 0
    assert f"warning {name:<14}There is none: plug one in." in capsys.readouterr().out


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
