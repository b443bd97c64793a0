"""`livetrans doctor`, with the embedded pair run for real and the microphone scripted."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import ModelError, SourceError
from livetrans.cli import run
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings, with_field
from livetrans.doctor import checks, examine
from livetrans.doctor.checks import BROKEN, OK, WARNING
from livetrans.doctor.examine import Trial, run_trial, trial_finding
from livetrans.doctor.machine import Machine
from livetrans.events import Notice, Record
from livetrans.models.chosen import GPU, GPU_UNUSED
from livetrans.models.find import MODELS_VARIABLE
from livetrans.run import opening
from tests.run.faults import FaultyModel, ScaledClock, Schedule, Slow
from tests.run.scripted_run import no_thread_left

GOOD = Trial(True, 24.0, 0.6, 1.9, 3.0, 1.0, "normal")


@pytest.fixture(autouse=True)
def microphone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "hear_microphone", lambda say: ("USB Headset", 0.05))
    monkeypatch.setattr(checks, "open_output", lambda: "Speaker")
    monkeypatch.setattr(checks, "portaudio_version", lambda: "PortAudio V19.7.0")


@pytest.fixture
def run_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the figures of an earlier trial run."""
    monkeypatch.setattr(examine, "run_trial", lambda settings, clock: GOOD)


@pytest.fixture
def settings(recogniser_path: Path, translator_path: Path) -> Settings:
    return Settings(RecogniserSettings(recogniser_path), LanguageModelSettings(translator_path))


def test_the_report_fits_a_terminal_and_has_the_figures_of_its_run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials: list[Trial] = []

    def trial(settings: Settings, clock: Clock) -> Trial:
        trials.append(run_trial(settings, clock))
        return trials[-1]

    monkeypatch.setattr(examine, "SPEECH_SECONDS", 4.0)
    monkeypatch.setattr(examine, "run_trial", trial)
    assert run(["doctor"]) == 0
    [measured] = trials
    assert measured.finished and measured.heard == pytest.approx(4.0, abs=0.1)
    assert measured.lag is not None and measured.lag_95 is not None and 0 < measured.lag <= measured.lag_95
    assert 0 < measured.recognising < 4 and 0 < measured.translating < 4
    assert no_thread_left()
    printed, errors = capfd.readouterr()
    assert errors == ""
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    named = [line[8:22].strip() for line in lines if line[:8].strip() in (OK, WARNING, BROKEN)]
    assert named == ["versions", "translation", "recognition", "microphone", "output", "machine", "models", "captions"]
    for name in ("livetrans", "Python", "llama-cpp-python", "ctranslate2", "faster-whisper", "PortAudio V19.7.0"):
        assert name in printed
    assert "understands synthetic voices only" in " ".join(printed.split())
    assert lines[-1].startswith("Ready")


@pytest.mark.usefixtures("run_before")
def test_json_holds_the_findings_and_the_figures_of_each_engine(
    cpp_recogniser_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {**asdict(GOOD), "keeps_up": True}
    shutil.copyfile(cpp_recogniser_path, tmp_path / "ggml-own.bin")
    monkeypatch.setenv(MODELS_VARIABLE, str(tmp_path))
    assert run(["doctor", "--json", "--step", "0.5"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["ok"] is True
    assert all(found["state"] in (OK, WARNING) for found in report["findings"])
    other = {**figures, "recogniser_model": "ggml-own.bin"}
    assert report["measured"] == {
        **figures,
        "recogniser_model": "livetrans-recogniser-en",
        "others": {"whisper.cpp": other},
    }
    assert report["findings"][-1]["name"] == "other engine"
    assert report["findings"][-1]["text"].startswith("with ggml-own.bin this machine keeps up")


def test_a_conversation_is_tried_in_each_direction(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Settings] = []

    def chosen(given: Settings, notify: object) -> Settings:
        both = replace(given, recogniser=settings.recogniser, language_model=settings.language_model)
        return with_field(both, "between.model", settings.language_model.model)

    monkeypatch.setattr(examine, "choose_models", chosen)
    monkeypatch.setattr(examine, "run_trial", lambda settings, clock: tried.append(settings) or GOOD)
    assert run(["doctor", "--between", "en,de"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line[8:22].strip() for line in lines if "this machine keeps up" in line] == ["en to de", "de to en"]
    assert [(one.source_language, one.target_language, one.between) for one in tried] == [
        ("en", "de", None),
        ("de", "en", None),
    ]
    assert [one.recogniser.language for one in tried if one.recogniser] == ["en", "de"]


def test_a_gpu_that_could_not_be_started_is_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load = examine._Load()
    load.write(Record(0.0, Notice("warning", GPU_UNUSED, GPU)))
    monkeypatch.setattr(examine, "run_trial", lambda settings, clock: replace(GOOD, gpu_unused=load.gpu_unused))
    assert run(["doctor", "--json"]) == 0
    findings = {found["name"]: found for found in json.loads(capfd.readouterr().out)["findings"]}
    assert findings["GPU"]["state"] == WARNING and "runs on the processor" in findings["GPU"]["text"]


@pytest.mark.parametrize(
    ("on_a_mac", "is_installed", "state", "text"),
    [
        (True, False, WARNING, "by faster-whisper"),
        (True, True, OK, "on the GPU, by whisper.cpp"),
        (False, True, OK, "whisper.cpp runs on the processor too"),
        (False, False, OK, "on the processor, by faster-whisper"),
    ],
)
def test_what_recognition_computes_on_is_reported(
    on_a_mac: bool, is_installed: bool, state: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "on_apple_silicon", lambda: on_a_mac)
    monkeypatch.setattr(checks, "has_gpu_engine", lambda: on_a_mac and is_installed)
    monkeypatch.setattr(checks, "has_whisper_cpp", lambda: is_installed)
    finding = checks.check_recognition()
    assert finding.state == state and text in finding.text
    assert (finding.advice is None) == (state == OK)


def test_a_mac_without_metal_gets_a_command_for_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livetrans.lm.llama.cells.runs_on_cpu", lambda: True)
    monkeypatch.setattr(checks, "ON_A_MAC", False)
    assert checks.check_translation().state == OK
    monkeypatch.setattr(checks, "ON_A_MAC", True)
    found = checks.check_translation()
    assert found.state == WARNING and f"{sys.executable} -m pip install" in str(found.advice)


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


def test_every_option_of_a_run_is_taken_and_checked_before_anything_is_examined(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["doctor", "--help-all"]) == 0
    printed = capsys.readouterr().out
    assert "--step" in printed and "--asr" in printed and "--theme" not in printed
    assert run(["doctor", "--theme", "light", "--to", "Klingon"]) == 2
    printed, errors = capsys.readouterr()
    assert printed == "" and "Klingon" in errors


@pytest.mark.usefixtures("run_before")
@pytest.mark.parametrize(("name", "opening"), [("microphone", "hear_microphone"), ("output", "open_output")])
def test_no_sound_leaves_the_machine_ready(
    name: str, opening: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise SourceError("There is none: plug one in.")

    monkeypatch.setattr(checks, opening, fail)
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
    monkeypatch.setattr(checks, "ZEROS_SECONDS", 30)
    assert checks.hear_microphone(lambda said: None) == ("Built-in", 0.25)


def test_too_little_memory_is_broken_and_nothing_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 1_000_000}))
    assert run(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "broken  models" in printed and "captions" not in printed


def test_what_native_code_writes_to_standard_error_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with examine._quiet():
        os.write(2, b"ALSA lib conf.c")
    os.write(2, b"after")
    assert capfd.readouterr().err == "after"


@pytest.mark.parametrize(("level", "state"), [(0.0, WARNING), (0.0001, WARNING), (0.05, OK)])
def test_a_microphone_that_hears_nothing_is_a_warning_with_advice(level: float, state: str) -> None:
    found = checks.check_microphone(lambda: ("USB Headset", level))
    assert found.state == state and "USB Headset" in found.text
    assert (found.advice is None) == (state == OK)


class SlowModel(FaultyModel):
    threads = 1


def test_a_slow_model_ends_in_bounded_time_and_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = 80.0
    clock, open_model = ScaledClock(SystemClock(), speed), opening.open_model

    def open_slow_model(*arguments: object) -> SlowModel:
        return SlowModel(open_model(*arguments), Schedule(clock, always=Slow(seconds=4.0)))  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "open_model", open_slow_model)
    began = clock.now()
    measured = run_trial(settings, clock)
    assert not measured.finished and not measured.keeps_up
    assert clock.now() - began < examine.LOADING_SECONDS + examine.SPEECH_SECONDS + 2 * examine.CATCH_UP_SECONDS
    assert "does not keep up" in trial_finding(measured).text
    assert no_thread_left()


def test_models_that_do_not_load_are_not_waited_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    def load(*arguments: object) -> None:
        end.wait(60)
        raise ModelError("nobody waits for this")

    monkeypatch.setattr(examine, "open_audio", load)
    monkeypatch.setattr(examine, "LOADING_SECONDS", 0.0)
    with pytest.raises(ModelError, match="not loaded after"):
        run_trial(settings, SystemClock())
    end.set()


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({}, OK, "keeps up: half of the words are shown within 0.6 s"),
        ({"left_out": "finals first"}, WARNING, "leaving out growing captions (finals first)"),
        ({"finished": False, "heard": 9.0}, WARNING, "does not keep up: 9 of 24 s"),
        ({"finished": False, "lag": None}, BROKEN, "does not keep up"),
        ({"lag": None}, WARNING, "no word of the recording was recognised"),
    ],
)
def test_each_end_has_its_words(change: dict[str, object], state: str, words: str) -> None:
    trial = replace(GOOD, **change)  # type: ignore[arg-type]
    finding = trial_finding(trial)
    assert finding.state == state and words in finding.text
    assert (finding.advice is None) == trial.keeps_up


def test_the_stage_that_computed_longest_is_to_be_made_smaller() -> None:
    for translating, option in ((9.0, "--mt"), (1.0, "--asr")):
        finding = trial_finding(replace(GOOD, finished=False, translating=translating))
        assert option in (finding.advice or "")


def test_the_doctor_predicts_what_is_here_and_what_it_would_fetch(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finding(gpu: str | None = None, slowness: float = 1.0, target: str = "de") -> checks.Finding:
        monkeypatch.setattr(checks, "this_machine", lambda: Machine(4, 8 * 10**9, gpu, slowness))
        return checks.check_machine(replace(settings, targets=(target,)))

    monkeypatch.setenv(MODELS_VARIABLE, str(tmp_path))
    found = finding()
    assert (found.state, found.text) == (OK, "4 cores, 8.0 GB of memory, no GPU, 0.63 s a trial pass")
    assert found.advice == (
        "`livetrans models pull --from en --to de` fetches parakeet-110m-en and hy-mt2-1.8b, with half of the words "
        "shown within about 1.8 s"
    )
    beside_a_server = replace(settings, language_model=replace(settings.language_model, server="http://127.0.0.1:1"))
    assert checks.check_machine(beside_a_server).advice == "`livetrans models pull parakeet-110m-en`"
    (tmp_path / "faster-whisper-small").mkdir()
    (tmp_path / "faster-whisper-small" / "model.bin").touch()
    (tmp_path / "Hy-MT2-1.8B-Q4_K_M.gguf").write_bytes(b"GGUF")
    assert "here: whisper-small and hy-mt2-1.8b, with half of the words shown within about 4.4 s" in (
        finding(slowness=2.0).text
    )
    assert "whisper-small" not in finding(target="sv").text, "the translator does not know Swedish"
    beside_a_gpu = finding("faster-whisper")
    assert beside_a_gpu.advice is None and "here:" not in beside_a_gpu.text, "what is here is what would be fetched"
