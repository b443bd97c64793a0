"""From measured passes and tokens to what a partial and a final cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.cost import Cost
from livetrans.clock import ManualClock
from livetrans.doctor.measuring import (
    FINAL_LENGTH,
    PARTIAL_LENGTH,
    PASS_LENGTHS,
    PASS_TOKENS,
    TOKENS_A_WORD,
    MeasuredRecogniser,
    measure_passes,
    speech_of,
    update_costs,
)
from livetrans.doctor.prediction import Costs
from livetrans.events import SAMPLE_RATE
from livetrans.speech.recogniser import Hypothesis

RECORDINGS = Path(__file__).parents[2] / "recordings"


class TimedRecogniser:
    """Takes `seconds` for each second of sound, twice as long for finals, and ten times as long in its first pass."""

    maximum_length = 28.0

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self.clock, self.seconds, self.heard = clock, seconds, []

    def recognise(self, samples: np.ndarray, *, prompt: str = "", final: bool = False) -> Hypothesis:
        length = len(samples) / SAMPLE_RATE
        self.clock.advance(self.seconds * length * (2 if final else 1) * (1 if self.heard else 10))
        self.heard.append((length, len(prompt)))
        return Hypothesis(())


def test_the_first_pass_warms_up_and_slow_passes_are_measured_once() -> None:
    speech = np.zeros(round(PASS_LENGTHS[-1] * SAMPLE_RATE), np.float32)
    quick = TimedRecogniser(ManualClock(), 0.01)
    passes, final = measure_passes(quick, speech, "x" * 500, quick.clock)
    assert dict(passes) == pytest.approx({length: 0.01 * length for length in PASS_LENGTHS})
    assert final == pytest.approx(0.02 * FINAL_LENGTH)
    assert len(quick.heard) == 1 + 3 * len(PASS_LENGTHS) + 3
    assert quick.heard[-1] == (FINAL_LENGTH, 150)
    slow = TimedRecogniser(ManualClock(), 5.0)
    assert dict(measure_passes(slow, speech, "", slow.clock)[0])[1.0] == pytest.approx(5.0)
    assert len(slow.heard) == 1 + len(PASS_LENGTHS) + 1


def test_a_partial_is_read_between_the_measured_lengths() -> None:
    measured = MeasuredRecogniser(tuple((length, 0.1 + 0.01 * length) for length in PASS_LENGTHS), 0.7, threads=1)
    assert measured.costs == Costs(pytest.approx(0.1 + 0.01 * PARTIAL_LENGTH), 0.7)


def curve(seconds: float) -> list[Cost]:
    """Each token of a pass costs the same."""
    return [Cost(tokens, seconds * tokens, tokens, 0.0, 0.0, 0.0) for tokens in PASS_TOKENS]


@given(st.floats(1e-4, 1), st.floats(0.5, 10), st.integers(0, 60))
def test_where_all_tokens_cost_the_same_an_update_costs_its_tokens(one: float, per_word: float, template: int) -> None:
    costs, ratio = update_costs(curve(one), per_word, template), per_word / TOKENS_A_WORD
    assert costs.partial == pytest.approx(one * (template + ratio * (7.4 + 3.8)))
    assert costs.final == pytest.approx(one * (template + ratio * (11.0 + 2.7)))


def test_the_shipped_recording_is_what_is_recognised() -> None:
    speech = speech_of(RECORDINGS / "demo.flac", ManualClock(), 3.0)
    assert speech.shape == (3 * SAMPLE_RATE,) and speech.dtype == np.float32
    assert 0.01 < np.abs(speech).max() <= 1
