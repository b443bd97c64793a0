"""The pair of models that a run would take: loaded, measured, and the lag and load that it will have here."""

from __future__ import annotations

import os
from dataclasses import dataclass

from livetrans.bench.cost import Cost
from livetrans.clock import Clock
from livetrans.config import MaskSettings, RecogniserSettings, Settings
from livetrans.doctor.machine import OK, WARNING, Finding
from livetrans.doctor.measuring import (
    measure_curve,
    measure_passes,
    pass_costs,
    speech_of,
    update_costs,
)
from livetrans.installation import data_folder
from livetrans.metrics.prediction import Costs, Load, predict_load

MOST_DEFAULT_THREADS = 4
"""CTranslate2's default, on a machine with at least as many cores."""


@dataclass(frozen=True, slots=True)
class MeasuredRecogniser:
    """What a pass costs, and the threads it takes."""

    passes: tuple[tuple[float, float], ...]
    """Seconds of sound, and of a partial's pass over it."""
    final_seconds: float
    """Of a final's pass."""
    threads: int

    @property
    def costs(self) -> Costs:
        return pass_costs(self.passes, self.final_seconds)


@dataclass(frozen=True, slots=True)
class MeasuredTranslator:
    """What an update costs, and the processor's threads it takes: none on a GPU."""

    curve: tuple[Cost, ...]
    updates: Costs
    threads: int


def measure_recogniser(settings: RecogniserSettings, clock: Clock) -> MeasuredRecogniser:
    """Load the recogniser, and let it recognise the shipped recording.

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


def measure_translator(settings: Settings, clock: Clock) -> MeasuredTranslator:
    """Load the translator, and measure its cost curve.

    Raises:
        ModelError: it cannot be loaded, or its context is too small.
        UsageError: it does not know the languages.
    """
    from livetrans.lm.llama import LlamaModel, engine
    from livetrans.lm.prompts import build_prompt
    from livetrans.run.translating import languages

    model = LlamaModel(settings.language_model, clock=clock)
    try:
        prompt = build_prompt(model, settings.language_model.prompt, *languages(settings))
        curve = measure_curve(model)
        # German stands for every target language: it is the one that ships.
        text = (data_folder("recordings") / "demo.de.txt").read_text(encoding="utf-8")
        updates = update_costs(curve, len(model.tokenize(text)) / len(text.split()), len(prompt.after))
        return MeasuredTranslator(tuple(curve), updates, 0 if engine().offloads else model.threads)
    finally:
        model.close()


def predict(recogniser: MeasuredRecogniser, translator: MeasuredTranslator, settings: Settings) -> Load:
    """The lag and load of a run with both."""
    slowed = contention(recogniser, translator)
    return predict_load(recogniser.costs, translator.updates, settings.transcriber, settings.gate, slowed)


def contention(recogniser: MeasuredRecogniser, translator: MeasuredTranslator) -> float:
    """How many times slower one runs while the other does too."""
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


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f}" if seconds >= 0.01 else f"{seconds * 1000:.1f}"


def captions_finding(load: Load, mask: MaskSettings) -> Finding:
    needs = f"the recogniser needs {load.recogniser:.0%} of its step, the translator {load.translator:.0%}"
    if load.falls_behind:
        return Finding("captions", WARNING, f"{needs}; captions fall further and further behind", load.advice)
    hidden = "" if mask.mode == "none" or mask.k == 0 else ", and longer until the mask no longer hides it"
    text = (
        f"{needs}; from the end of a word to the update that translates it about {load.lag:.1f} s{hidden}; a final "
        f"{load.final_lag:.1f} s after a sentence"
    )
    return Finding("captions", OK if load.keeps_up else WARNING, text, load.advice)


def _cores() -> int:
    return os.cpu_count() or 1
