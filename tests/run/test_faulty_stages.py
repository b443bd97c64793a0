"""Each fault does what it says at the calls that the schedule names, and at no other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from livetrans.clock import ManualClock, SystemClock
from livetrans.events import AudioChunk, Word
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, word_by_word_rule
from tests.speech.scripted import ScriptedRecogniser, speak

from .faults import (
    FaultyModel,
    FaultyRecogniser,
    FaultySource,
    Garbage,
    Hang,
    Raise,
    ScaledClock,
    Schedule,
    Slow,
)

WORDS = (Word("one", 0.0, 0.5), Word("two.", 0.5, 1.0))


def test_a_slow_call_takes_its_factor_and_its_seconds() -> None:
    clock = ManualClock()
    schedule = Schedule(clock, {1: Slow(3.0, 2.0)})
    for taken in (1.0, 5.0, 1.0):
        began = clock.now()
        schedule.call(lambda: clock.advance(1.0), lambda result: result)
        assert clock.now() - began == taken


def test_a_recogniser_raises_and_gives_garbage_at_its_calls_only() -> None:
    schedule = Schedule(ManualClock(), {0: Raise(RuntimeError("no")), 2: Garbage()})
    recogniser = FaultyRecogniser(ScriptedRecogniser(WORDS), schedule)
    samples = speak(WORDS).astype(np.float32) / 32_768
    with pytest.raises(RuntimeError, match="no"):
        recogniser.recognise(samples)
    texts = [[word.text for word in recogniser.recognise(samples).words] for _ in range(3)]
    assert texts[0] == texts[2] == ["one", "two."] != texts[1]


def test_a_model_gives_logits_that_are_no_numbers() -> None:
    model = FaultyModel(ScriptedModel(word_by_word_rule()), Schedule(ManualClock(), {0: Garbage()}))
    context = [BEGIN, SOURCE, *model.tokenize("a dog"), TARGET]
    assert np.isnan(model.evaluate(context).logits).all()
    assert np.isfinite(model.evaluate(context).logits).all()


def test_a_call_hangs_until_it_is_released() -> None:
    schedule = Schedule(SystemClock(), always=Hang())
    thread = threading.Thread(target=schedule.call, args=(lambda: None, lambda result: result))
    thread.start()
    assert schedule.hanging.wait(20)
    assert thread.is_alive()
    schedule.release()
    thread.join(20)
    assert not thread.is_alive()


class Sounds:
    duration, skipped = 1.0, 0.0

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield from (AudioChunk(np.zeros(160, np.int16), start) for start in (0, 160))

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None: ...


def test_garbage_sound_keeps_its_place_and_length() -> None:
    noise, silence = FaultySource(Sounds(), Schedule(ManualClock(), {0: Garbage()}))
    assert (noise.start_sample, len(noise.samples)) == (0, 160)
    assert noise.samples.any() and not silence.samples.any()


def test_a_scaled_clock_runs_and_waits_at_its_factor() -> None:
    real = ManualClock()
    clock = ScaledClock(real, 10.0)
    clock.sleep(5.0)
    assert (real.now(), clock.now()) == (0.5, 5.0)
    clock.jump(-2.0)
    assert (real.now(), clock.now()) == (0.5, 3.0)
