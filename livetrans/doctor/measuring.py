"""What a pass and an update of the run's models cost on this machine, and the findings about them."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from livetrans.bench.cost import Cost, measure_cost
from livetrans.clock import Clock
from livetrans.config import MaskSettings, RecogniserSettings, Settings
from livetrans.doctor.machine import OK, WARNING, Finding
from livetrans.doctor.prediction import Costs, Load, predict_load
from livetrans.events import FULL_SCALE, SAMPLE_RATE
from livetrans.installation import data_folder
from livetrans.speech.recogniser import Recogniser

if TYPE_CHECKING:
    from numpy.typing import NDArray

PASS_LENGTHS = (1.0, 4.0, 12.0)
"""Seconds of sound in the buffer of a measured pass."""
PARTIAL_LENGTH = 2.4
"""Seconds; mean length of the buffer in partials' passes, in the seven recordings (2026-11-21)."""
FINAL_LENGTH = PASS_LENGTHS[1]
"""Seconds; the mean of finals' passes there is 3.6."""
PROMPT_CHARACTERS = 150
"""Length of the prompt in a measured pass; that of a run has up to 200."""
QUICK = 1.0
"""Seconds; a shorter pass is measured three times."""

PASS_TOKENS = (1, 4, 8, 16, 32)
"""New tokens of the translator's measured passes."""
ROUNDS = 3

MOST_DEFAULT_THREADS = 4
"""CTranslate2's default, on a machine with at least as many cores."""


@dataclass(frozen=True, slots=True)
class UpdateShape:
    """The tokens that an update evaluates, of the embedded translator."""

    verified: float
    """Tokens of the pass over the end of the prompt and the draft."""
    steps: float
    """Passes over a single token."""


PARTIAL_UPDATE, FINAL_UPDATE = UpdateShape(7.4, 3.8), UpdateShape(11.0, 2.7)
"""Means of the seven recordings at a step of 0.8 s, with the default decoder (369 partials, 134 finals; 2026-11-21)."""
TOKENS_A_WORD = 1.26
"""The embedded translator's tokens for a word of those recordings' finals."""


@dataclass(frozen=True, slots=True)
class MeasuredRecogniser:
    """The cost of passes, and the threads of a pass."""

    passes: tuple[tuple[float, float], ...]
    """Seconds of sound, with the seconds of a partial's pass over it."""
    final_seconds: float
    """Duration of a final's pass."""
    threads: int

    @property
    def costs(self) -> Costs:
        """The cost of a partial's pass, interpolated between the measured lengths, and of a final's."""
        lengths, seconds = zip(*self.passes, strict=True)
        return Costs(float(np.interp(PARTIAL_LENGTH, lengths, seconds)), self.final_seconds)


@dataclass(frozen=True, slots=True)
class MeasuredTranslator:
    """The cost of updates, and the processor's threads that they use: none on a GPU."""

    curve: tuple[Cost, ...]
    updates: Costs
    threads: int


def measure_recogniser(settings: RecogniserSettings, clock: Clock) -> MeasuredRecogniser:
    """Load the recogniser, and measure its passes over the shipped recording.

    Raises:
        ModelError: it cannot be loaded, or fails.
        UsageError: it does not know the language.
        SourceError: the recording cannot be read.
    """
    from livetrans.speech.recogniser import open_recogniser
    from livetrans.speech.whisper import usual_threads

    recordings = data_folder("recordings")
    speech = speech_of(recordings / "demo.flac", clock)
    before = (recordings / "demo.txt").read_text(encoding="utf-8")
    passes, final_seconds = measure_passes(open_recogniser(settings), speech, before, clock)
    own_choice = min(int(os.environ.get("OMP_NUM_THREADS") or MOST_DEFAULT_THREADS), _cores())
    threads = settings.threads or usual_threads(settings.model) or own_choice
    return MeasuredRecogniser(tuple(passes), final_seconds, threads)


def speech_of(path: Path, clock: Clock, length: float = PASS_LENGTHS[-1]) -> NDArray[np.float32]:
    """Return the first `length` seconds of a recording, -1..1, shape (n,)."""
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
    """Measure a partial's pass over each of `PASS_LENGTHS`, and a final's pass.

    Returns pairs of a length and the seconds of its pass, and the seconds of the final's. A quick pass is measured
    three times, for the median. The first pass is slower than the others, and is not counted.

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
        return statistics.median(seconds)

    recogniser.recognise(speech[: round(PASS_LENGTHS[0] * SAMPLE_RATE)])
    return [(length, measured(length, False)) for length in PASS_LENGTHS], measured(FINAL_LENGTH, True)


def measure_translator(settings: Settings, clock: Clock) -> MeasuredTranslator:
    """Load the translator, and measure its cost curve.

    Raises:
        ModelError: it cannot be loaded, or its context is too small.
        UsageError: it does not know the languages, or writes two tokens at a time.
    """
    from livetrans.lm.llama.model import LlamaModel, engine
    from livetrans.lm.prompts import build_prompt
    from livetrans.run.translating import languages

    model = LlamaModel(settings.language_model, clock=clock)
    try:
        prompt = build_prompt(model, settings.language_model.prompt, *languages(settings))
        curve = measure_cost(model, ROUNDS, PASS_TOKENS)
        # German stands for every target language: it is the one that ships.
        text = (data_folder("recordings") / "demo.de.txt").read_text(encoding="utf-8")
        updates = update_costs(curve, len(model.tokenize(text)) / len(text.split()), len(prompt.after))
        return MeasuredTranslator(tuple(curve), updates, 0 if engine().offloads else model.threads)
    finally:
        model.close()


def update_costs(curve: Sequence[Cost], tokens_a_word: float, template_tokens: int) -> Costs:
    """Estimate the cost of a partial's and of a final's update from the curve.

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


def predict(recogniser: MeasuredRecogniser, translator: MeasuredTranslator, settings: Settings) -> Load:
    """Predict the lag and load of a run with both models."""
    slowed = contention(recogniser, translator)
    return predict_load(recogniser.costs, translator.updates, settings.transcriber, settings.gate, slowed)


def contention(recogniser: MeasuredRecogniser, translator: MeasuredTranslator) -> float:
    """Return how many times slower one model runs while the other runs too."""
    return max((recogniser.threads + translator.threads) / _cores(), 1.0)


def recogniser_finding(measured: MeasuredRecogniser, step: float) -> Finding:
    lengths = ", ".join(f"{length:g}" for length, _ in measured.passes)
    passes = ", ".join(f"{seconds:.2f}" for _, seconds in measured.passes)
    return Finding("recogniser", OK, f"a pass over {lengths} s of sound takes {passes} s; one is due every {step:g} s")


def translator_finding(measured: MeasuredTranslator) -> Finding:
    tokens = ", ".join(str(cost.new_tokens) for cost in measured.curve)
    passes = ", ".join(_milliseconds(cost.seconds) for cost in measured.curve)
    update = f"an update about {_milliseconds(measured.updates.partial)} ms"
    return Finding("translator", OK, f"a pass over {tokens} tokens takes {passes} ms; {update}")


def captions_finding(load: Load, mask: MaskSettings) -> Finding:
    needs = f"the recogniser needs {load.recogniser:.0%} of its step, the translator {load.translator:.0%}"
    if load.falls_behind:
        return Finding("captions", WARNING, f"{needs}; captions fall further and further behind", load.advice)
    hidden = "" if mask.mode == "none" or mask.k == 0 else ", and longer for words that the mask hides at first"
    text = (
        f"{needs}; from the end of a word to the update that translates it about {load.lag:.1f} s{hidden}; a final "
        f"{load.final_lag:.1f} s after a sentence"
    )
    return Finding("captions", OK if load.keeps_up else WARNING, text, load.advice)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f}" if seconds >= 0.01 else f"{seconds * 1000:.1f}"


def _cores() -> int:
    return os.cpu_count() or 1
