"""A trial run says whether the machine keeps up, in bounded time, from what the run measured."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.clock import SystemClock
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings
from livetrans.doctor import trial
from livetrans.doctor.machine import BROKEN, OK, WARNING
from livetrans.doctor.trial import Trial, run_trial, trial_finding
from livetrans.errors import ModelError, UsageError
from livetrans.run import opening
from tests.run.faults import FaultyModel, ScaledClock, Schedule, Slow
from tests.run.scripted_run import no_thread_left

GOOD = Trial(True, 24.0, 0.6, 1.9, 0.3, 0.2, "normal", 0.0)


@pytest.fixture
def settings(recogniser_path: Path, translator_path: Path) -> Settings:
    return Settings(RecogniserSettings(recogniser_path), LanguageModelSettings(translator_path))


def test_figures_are_those_of_the_run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SPEECH_SECONDS", 4.0)
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
    assert clock.now() - began < trial.LOADING_SECONDS + trial.SPEECH_SECONDS + 2 * trial.CATCH_UP_SECONDS
    finding = trial_finding(measured)
    assert finding.state != OK and "does not keep up" in finding.text and "--mt" in (finding.advice or "")
    assert no_thread_left()


def test_models_that_do_not_load_are_not_waited_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    def load(*arguments: object) -> None:
        end.wait(60)
        raise ModelError("nobody waits for this")

    monkeypatch.setattr(trial, "open_audio", load)
    monkeypatch.setattr(trial, "LOADING_SECONDS", 0.0)
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
