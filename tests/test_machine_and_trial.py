"""The doctor: whether the machine keeps up in a trial run, in bounded time, and what the machine says of itself."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from livetrans import doctor
from livetrans.clock import SystemClock
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings
from livetrans.doctor import BROKEN, OK, WARNING, Trial, run_trial, trial_finding
from livetrans.errors import ModelError, SourceError, UsageError
from livetrans.models.gguf import context_bytes
from livetrans.run import opening
from tests.run.faults import FaultyModel, ScaledClock, Schedule, Slow
from tests.run.scripted_run import no_thread_left

LLAMA = "CPU : SSE3 = 1 | AVX2 = 1 | FMA = 1 | F16C = 1 | OPENMP = 1 | "
GOOD = Trial(True, 24.0, 0.6, 1.9, 0.3, 0.2, {}, "normal", 0.0)


@pytest.fixture
def settings(recogniser_path: Path, translator_path: Path) -> Settings:
    return Settings(RecogniserSettings(recogniser_path), LanguageModelSettings(translator_path))


def test_figures_are_those_of_the_run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SPEECH_SECONDS", 4.0)
    measured = run_trial(settings, SystemClock())
    assert measured.finished and measured.heard == pytest.approx(4.0, abs=0.1)
    assert measured.lag is not None and measured.lag_95 is not None and 0 < measured.lag <= measured.lag_95
    assert 0 < measured.recogniser < 1 and 0 < measured.translator < 1
    assert no_thread_left()


class SlowModel(FaultyModel):
    threads = 1


def test_a_slow_model_ends_in_bounded_time_and_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = 40.0
    clock, open_model = ScaledClock(SystemClock(), speed), opening.open_model

    def open_slow_model(*arguments: object) -> SlowModel:
        return SlowModel(open_model(*arguments), Schedule(clock, always=Slow(seconds=4.0)))  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "open_model", open_slow_model)
    began = clock.now()
    measured = run_trial(settings, clock)
    assert not measured.finished and not measured.keeps_up
    assert clock.now() - began < doctor.LOADING_SECONDS + doctor.SPEECH_SECONDS + 2 * doctor.CATCH_UP_SECONDS
    finding = trial_finding(measured)
    assert finding.state != OK and "does not keep up" in finding.text and "--mt" in (finding.advice or "")
    assert no_thread_left()


def test_models_that_do_not_load_are_not_waited_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    def load(*arguments: object) -> None:
        end.wait(60)
        raise ModelError("nobody waits for this")

    monkeypatch.setattr(doctor, "open_audio", load)
    monkeypatch.setattr(doctor, "LOADING_SECONDS", 0.0)
    with pytest.raises(ModelError, match="not loaded after"):
        run_trial(settings, SystemClock())
    end.set()


def test_a_language_that_a_model_does_not_know_is_said(settings: Settings) -> None:
    with pytest.raises(UsageError, match="not de to fr"):
        run_trial(replace(settings, sources=("de",), targets=("fr",)), SystemClock())


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({}, OK, "keeps up: half of the words are shown within 0.6 s"),
        ({"translator": 0.9}, WARNING, "just keeps up"),
        ({"left_out": "few partials", "behind": 6.0}, WARNING, "up to 6 s behind"),
        ({"finished": False, "heard": 9.0}, WARNING, "does not keep up: 9 of 24 s"),
        ({"finished": False, "lag": None}, BROKEN, "does not keep up"),
        ({"lag": None}, WARNING, "no word of the recording was recognised"),
    ],
)
def test_each_end_has_its_words(change: dict[str, object], state: str, words: str) -> None:
    finding = trial_finding(replace(GOOD, **change))  # type: ignore[arg-type]
    assert finding.state == state and words in finding.text


def test_versions_name_everything_that_computes() -> None:
    found = doctor.check_versions("PortAudio V19.7.0")
    assert found.state == OK
    for name in ("livetrans", "Python", "llama-cpp-python", "ctranslate2", "faster-whisper", "PortAudio V19.7.0"):
        assert name in found.text
    assert "no PortAudio" in doctor.check_versions(None).text


def test_a_build_that_leaves_the_processor_unused_is_said() -> None:
    plain = frozenset({"avx2", "fma", "f16c"})
    assert doctor.check_llama(LLAMA, False, plain, "Linux").state == OK
    more = doctor.check_llama(LLAMA, False, plain | {"avx512f", "avx512_vnni"}, "Linux")
    assert more.state == WARNING and "without AVX512, AVX512_VNNI" in more.text and "pip install" in (more.advice or "")
    assert doctor.check_llama(LLAMA, True, plain | {"avx512f"}, "Linux").state == OK, "the GPU computes there"
    assert doctor.check_llama(LLAMA, False, None, "Linux").state == OK, "nothing is known of the processor"
    assert "without Metal" in doctor.check_llama(LLAMA, False, None, "Darwin").text
    assert doctor.check_llama(LLAMA + "Metal : EMBED_LIBRARY = 1 |", True, None, "Darwin").state == OK


def test_flags_are_read_as_linux_writes_them(tmp_path: Path) -> None:
    (tmp_path / "x86").write_text("processor : 0\nflags\t\t: fpu avx2 fma\nprocessor : 1\nflags\t\t: fpu\n")
    (tmp_path / "arm").write_text("processor\t: 0\nFeatures\t: fp asimd asimddp\n")
    assert doctor.processor_flags(tmp_path / "x86") == {"fpu", "avx2", "fma"}
    assert doctor.processor_flags(tmp_path / "arm") == {"fp", "asimd", "asimddp"}
    assert doctor.processor_flags(tmp_path / "absent") is None


@pytest.mark.parametrize(("level", "state"), [(0.0, WARNING), (0.0001, WARNING), (0.05, OK)])
def test_a_microphone_that_hears_nothing_is_a_warning_with_advice(level: float, state: str) -> None:
    found = doctor.check_microphone(lambda: ("USB Headset", level))
    assert found.state == state and "USB Headset" in found.text
    assert (found.advice is None) == (state == OK)


def test_no_microphone_is_a_warning_because_recordings_need_none() -> None:
    def listen() -> tuple[str, float]:
        raise SourceError("There is no microphone: plug one in.")

    found = doctor.check_microphone(listen)
    assert (found.state, found.text) == (WARNING, "There is no microphone: plug one in.")


def test_room_on_disk_and_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, state in ((10**10, OK), (5 * 10**8, WARNING), (10**6, BROKEN)):
        monkeypatch.setattr("shutil.disk_usage", lambda path, free=free: type("Usage", (), {"free": free}))
        found = doctor.check_disk(tmp_path / "not" / "yet" / "there")
        assert (found.state, found.advice is None) == (state, state == OK)
    assert doctor.check_memory(10**9, 2 * 10**9).state == OK
    assert doctor.check_memory(3 * 10**9, 2 * 10**9).state == BROKEN
    assert doctor.check_memory(10**9, 2 * 10**9, [6 * 10**8] * 2).state == BROKEN


def test_the_contexts_of_several_languages_count_as_memory(translator_path: Path, tmp_path: Path) -> None:
    """Layers x (keys and values) x heads x width x two bytes, for each token."""
    assert context_bytes(translator_path, 512) == 4 * 2 * 8 * 32 * 2 * 512
    (tmp_path / "none.gguf").write_bytes(b"GGUF")
    assert context_bytes(tmp_path / "none.gguf", 512) == 0


def test_each_language_is_shown_with_its_share_of_the_time() -> None:
    found = trial_finding(replace(GOOD, translator=0.9, languages={"de": 0.5, "fr": 0.4}))
    assert "de 50%, fr 40%" in found.text and "fewer languages" in str(found.advice)
    assert "de " not in trial_finding(GOOD).text


def test_a_busy_machine_is_said_before_it_is_measured() -> None:
    assert doctor.check_load_average(0.9, 2) is None
    busy = doctor.check_load_average(3.0, 2)
    assert busy is not None and busy.state == WARNING and busy.advice
    assert "2.0 of 2 cores" in busy.text, "more than all cannot be busy"
