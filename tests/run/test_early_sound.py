"""What is said while models load is heard: recording begins with the program."""

from __future__ import annotations

import threading
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from livetrans.base.clock import Clock, SystemClock
from livetrans.config import OutputSettings, RecogniserSettings, Settings
from livetrans.events import (
    SAMPLE_RATE,
    AudioChunk,
    BackPressure,
    Caption,
    Gap,
    Notice,
    Origin,
    RunEnded,
    RunStarted,
    Transcript,
    Word,
)
from livetrans.run.opening import from_live
from livetrans.run.pipeline import Pipeline
from livetrans.run.postponed import Postponed
from livetrans.run.resuming import unheard_sound
from livetrans.run.summary import RunSummary
from livetrans.session.recorded import read_unfinished
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import Sink
from livetrans.session.store import summarise
from tests.lm.scripted import ScriptedModel, word_by_word_rule
from tests.speech.scripted import ScriptedRecogniser

from .faults import ScaledClock
from .scripted_run import SPEED, Collected, SilenceGate, Spoken, finals_of, scripted_translating, sentences

WORDS = sentences(5)
LOADING = 8.0
"""Seconds of the run's clock that the recogniser loads: half of all that is said."""


class Heard(Spoken):
    """A speaker who can be paused, as a microphone can."""

    is_paused = False

    def __init__(self, words: list[Word], clock: Clock) -> None:
        super().__init__(words, clock)
        self.has_begun = threading.Event()

    def __iter__(self) -> Iterator[AudioChunk]:
        for chunk in super().__iter__():
            yield chunk
            if chunk.end > LOADING / 3:  # The one before was taken.
                self.has_begun.set()

    def pause(self, paused: bool) -> None:
        self.is_paused = paused


@pytest.fixture(autouse=True)
def no_loader_is_left() -> Iterator[None]:
    """A stopped run does not wait for it; other tests count threads."""
    yield
    for thread in threading.enumerate():
        if thread.name == "listening":
            thread.join(60)


def start(
    monkeypatch: pytest.MonkeyPatch, collected: Collected, records: Sequence[Sink] = ()
) -> tuple[Pipeline, Heard]:
    clock = ScaledClock(SystemClock(), SPEED)

    def load(settings: RecogniserSettings, publish: object) -> ScriptedRecogniser:
        clock.sleep(LOADING)
        return ScriptedRecogniser(WORDS)

    monkeypatch.setattr("livetrans.run.opening.open_recogniser", load)
    monkeypatch.setattr("livetrans.speech.gate.VoiceActivityGate", lambda settings: SilenceGate())
    settings = Settings(RecogniserSettings(), output=OutputSettings(record_session=False))
    speaker, notices = Heard(WORDS, clock), Postponed[Notice | Gap]()
    opened = from_live([(speaker, notices)], Origin("early"), settings, clock)
    model = ScriptedModel(word_by_word_rule(unsure_of_last=False))
    pipeline = Pipeline(
        settings, opened, lambda publish: scripted_translating(model), clock, [collected], records, [speaker]
    )
    pipeline.start()
    return pipeline, speaker


def test_words_spoken_while_models_load_are_in_the_first_captions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected = Collected()
    pipeline, _ = start(monkeypatch, collected, [SessionRecorder(tmp_path, keep_audio=True)])
    assert pipeline.join(60)
    captions = [event.text for event in collected.of(Caption) if event.final]
    assert captions == finals_of(WORDS)
    began = next(record.at for record in collected.records if isinstance(record.event, RunStarted))
    first: Transcript = collected.of(Transcript)[0]
    assert first.start < LOADING / 2 < began
    assert collected.of(BackPressure) == [], "loading is no sign of a slow machine"
    with wave.open(str(tmp_path / "audio.wav")) as kept:
        samples = np.frombuffer(kept.readframes(kept.getnframes()), "<i2")
    first_sound = np.flatnonzero(samples)[0] / SAMPLE_RATE
    assert first_sound == pytest.approx(WORDS[0].start, abs=0.01)


def test_space_is_heard_while_models_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hears already can be paused already."""
    pipeline, speaker = start(monkeypatch, Collected())
    pipeline.pause(True)
    assert speaker.is_paused
    pipeline.pause(False)
    assert not speaker.is_paused
    pipeline.stop()
    assert pipeline.join(60)


def test_sound_of_a_run_that_is_stopped_while_models_load_is_kept_for_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected, said = Collected(), list[str]()
    recorder = SessionRecorder(tmp_path, keep_audio=True)
    with RunSummary(said.append, [recorder]) as summary:
        pipeline, speaker = start(monkeypatch, collected, [recorder])
        pipeline.add(summary)
        assert speaker.has_begun.wait(60)
        pipeline.stop()
        assert pipeline.join(60)
    assert [type(one) for one in collected.of((RunStarted, RunEnded))] == [RunStarted, RunEnded]
    with wave.open(str(tmp_path / "audio.wav")) as kept:
        samples = np.frombuffer(kept.readframes(kept.getnframes()), "<i2")
    assert len(samples) and np.flatnonzero(samples)[0] / SAMPLE_RATE == pytest.approx(WORDS[0].start, abs=0.01)
    assert summarise(tmp_path).state == "unfinished"
    assert said[0] == "The run ended before its models were loaded." and "livetrans resume" in said[-1]
    unfinished = read_unfinished(tmp_path)
    [rest] = unheard_sound(unfinished, None, lambda notice: None)
    assert sum(len(chunk.samples) for chunk in rest.chunks) == len(samples)
