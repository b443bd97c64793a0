"""What a pass and an update cost on this machine, and the lag and load that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from livetrans.bench.cost import Cost, measure_cost
from livetrans.clock import Clock
from livetrans.events import SAMPLE_RATE
from livetrans.lm.port import LanguageModel
from livetrans.metrics.prediction import Costs
from livetrans.speech.recogniser import FULL_SCALE, Recogniser

if TYPE_CHECKING:
    from numpy.typing import NDArray

PASS_LENGTHS = (1.0, 4.0, 12.0)
"""Seconds of sound in the buffer of a measured pass."""
PARTIAL_LENGTH = 2.4
"""Mean length of the buffer in partials' passes, in the seven recordings (2026-11-21)."""
FINAL_LENGTH = PASS_LENGTHS[1]
"""About the mean length in finals' passes: 3.6 s there."""
PROMPT_CHARACTERS = 150
"""Of the text before, in a measured pass; a run gives up to 200."""
QUICK = 1.0
"""A pass that takes less seconds is measured three times."""

PASS_TOKENS = (1, 4, 8, 16, 32)
"""New tokens of the translator's measured passes."""
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class UpdateShape:
    """What an update evaluates, in the embedded translator's tokens."""

    verified: float
    """Tokens of the one pass over the end of the prompt and the draft."""
    steps: float
    """Passes over a single token."""


PARTIAL_UPDATE, FINAL_UPDATE = UpdateShape(7.4, 3.8), UpdateShape(11.0, 2.7)
"""Means of the seven recordings at a step of 0.8 s, with the default decoder (369 partials, 134 finals; 2026-11-21)."""
TOKENS_A_WORD = 1.26
"""The embedded translator's tokens for a word of those recordings' finals."""


def speech_of(path: Path, clock: Clock, length: float = PASS_LENGTHS[-1]) -> NDArray[np.float32]:
    """The first `length` seconds of a recording, -1..1, shape (n,)."""
    from livetrans.audio.file import AudioFile

    parts: list[NDArray[np.int16]] = []
    source = AudioFile(path, clock, real_time=False)
    for chunk in source:
        parts.append(chunk.samples)
        if chunk.end >= length:
            break
    source.close()
    return np.concatenate(parts)[: round(length * SAMPLE_RATE)].astype(np.float32) / np.float32(FULL_SCALE)


def measure_passes(
    recogniser: Recogniser, speech: NDArray[np.float32], prompt: str, clock: Clock
) -> tuple[list[tuple[float, float]], float]:
    """Seconds of sound and of a partial's pass over it, for each of `PASS_LENGTHS`; and seconds of a final's pass.

    The median of three where a pass is quick. A first one, which warms the memory up, is not counted.

    Raises:
        ModelError: the recogniser fails.
    """

    def measured(length: float, final: bool) -> float:
        seconds: list[float] = []
        while not seconds or (seconds[0] < QUICK and len(seconds) < 3):
            began = clock.now()
            samples = speech[: round(length * SAMPLE_RATE)]
            recogniser.recognise(samples, prompt=prompt[:PROMPT_CHARACTERS], final=final)
            seconds.append(clock.now() - began)
        return sorted(seconds)[len(seconds) // 2]

    recogniser.recognise(speech[: round(PASS_LENGTHS[0] * SAMPLE_RATE)])
    return [(length, measured(length, False)) for length in PASS_LENGTHS], measured(FINAL_LENGTH, True)


def pass_costs(measured: Sequence[tuple[float, float]], final_seconds: float) -> Costs:
    """A partial's pass, between the measured lengths, and a final's."""
    lengths, seconds = zip(*measured, strict=True)
    return Costs(float(np.interp(PARTIAL_LENGTH, lengths, seconds)), final_seconds)


def measure_curve(model: LanguageModel) -> list[Cost]:
    """The translator's cost of a pass over each of `PASS_TOKENS`."""
    return measure_cost(model, ROUNDS, PASS_TOKENS)


def update_costs(curve: Sequence[Cost], tokens_a_word: float, template_tokens: int) -> Costs:
    """A partial's and a final's update, from the curve.

    `tokens_a_word`: of the model's tokenizer; `template_tokens`: those of the prompt behind the speech, which every
    update evaluates again.
    """
    sizes, seconds = [cost.new_tokens for cost in curve], [cost.seconds for cost in curve]
    ratio = tokens_a_word / TOKENS_A_WORD

    def update(shape: UpdateShape) -> float:
        verified = shape.verified * ratio + template_tokens
        # Beyond the longest measured pass the cost is linear (docs/LOG.md).
        batch = float(np.interp(verified, sizes, seconds)) * max(verified / sizes[-1], 1.0)
        return batch + shape.steps * ratio * seconds[0]

    return Costs(update(PARTIAL_UPDATE), update(FINAL_UPDATE))
