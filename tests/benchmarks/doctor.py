"""The doctor's prediction beside what real-time replays of the demo measure: a table for docs/LOG.md.

    python tests/benchmarks/doctor.py [--folder FOLDER]

Takes about 8 minutes on a quiet machine, and 2 GB in FOLDER, where the models are kept for the next time.

Large models come without weights here. Recognisers of OpenAI's shapes have random ones and write the same phrase at
each pass, whatever they hear (`tests/speech/random_whisper.py`): the cost of the pass is real, the words are not. So
each of their passes is followed by one of the embedded recogniser, whose words are taken; prediction and measurement
pay for both. The large translator is the embedded one in the shape of 1.4 billion parameters, which writes the same
text.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from livetrans.cli import run
from livetrans.clock import SystemClock
from livetrans.config import GateSettings, LanguageModelSettings, RecogniserSettings, Settings, TranscriberSettings
from livetrans.doctor.measuring import measure_recogniser, measure_translator, predict
from livetrans.doctor.prediction import Costs, Load, predict_load
from livetrans.events import Caption, Transcript, Translation
from livetrans.metrics.latency import caption_lag
from livetrans.models.find import find_recogniser, find_translator
from livetrans.session.codec import from_dict
from livetrans.signature import machine
from livetrans.speech import recogniser as recognisers
from livetrans.speech.recogniser import Hypothesis, Recogniser

TREE = Path(__file__).parents[2]
DEMO = TREE / "recordings/demo.flac"
COMBINATIONS = (
    ("embedded", "embedded", None),
    ("tiny", "embedded", "full"),
    ("tiny", "embedded", "partials"),
    ("small", "embedded", "full"),
    ("embedded", "grown", None),
    ("tiny", "grown", "partials"),
)
"""Recogniser, translator, and what the recogniser's passes encode (`--window`)."""


class Samples(dict[bool, list[float]]):
    """Of partials (False) and of finals."""

    def __init__(self) -> None:
        super().__init__({False: [], True: []})


class PaidRecogniser:
    """Words of the embedded recogniser at the cost of another one's passes besides."""

    hot_words = ()

    def __init__(self, paid: Recogniser, embedded: Recogniser) -> None:
        self._paid, self._embedded = paid, embedded
        self.maximum_length = min(paid.maximum_length, embedded.maximum_length)

    def recognise(self, samples: np.ndarray, *, prompt: str = "", final: bool = False) -> Hypothesis:
        self._paid.recognise(samples, prompt=prompt, final=final)
        return self._embedded.recognise(samples, prompt=prompt, final=final)


@dataclass(frozen=True)
class Figures:
    """Of one combination, predicted or measured; seconds."""

    passes: Costs
    updates: Costs
    lag: float
    final_lag: float


def model_path(name: str, folder: Path) -> Path:
    """The recogniser or translator of that name, made where it is not there yet."""
    path = folder / (f"{name}.gguf" if name == "grown" else name)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"making {path} …", file=sys.stderr)
        if name == "grown":
            command = ["-m", "models.recipes.translator.grow", "--output", str(path)]
        else:
            command = [str(TREE / "tests/speech/random_whisper.py"), str(path), "--shape", name]
        subprocess.run([sys.executable, *command], check=True, cwd=TREE, stdout=sys.stderr)
    return path


def predicted(settings: Settings) -> Figures:
    """What the doctor says of the pair."""
    assert settings.recogniser is not None
    clock = SystemClock()
    recogniser = measure_recogniser(settings.recogniser, clock)
    translator = measure_translator(settings, clock)
    load = predict(recogniser, translator, settings)
    return Figures(recogniser.costs, translator.updates, load.lag, load.final_lag)


def measured(settings: Settings) -> Figures | None:
    """What a replay of the demo at the pace of speech gives; None where it gives no caption before the sound ends."""
    assert settings.recogniser is not None
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        lines = Path(folder) / "events.jsonl"
        models = ["--asr", str(settings.recogniser.model), "--mt", str(settings.language_model.model)]
        if settings.recogniser.window:
            models += ["--window", settings.recogniser.window]
        with contextlib.redirect_stdout(nowhere):
            run(["replay", str(DEMO), "--plain", "--no-session", "--jsonl", str(lines), *models])
        events = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    records = [from_dict(event) for event in events]
    passes, updates, lags = Samples(), Samples(), Samples()
    for record in records:
        event, lag = record.event, caption_lag(record)
        if isinstance(event, Caption) and lag is not None:
            lags[event.final].append(lag)
        elif isinstance(event, Translation):
            updates[event.final].append(event.stats.total_seconds)
        elif isinstance(event, Transcript) and event.recognition is not None:
            passes[event.final].append(event.recognition.pass_seconds)
    if not all(samples[final] for samples in (passes, updates, lags) for final in (False, True)):
        return None
    medians = [statistics.median(lags[final]) for final in (False, True)]
    return Figures(mean_costs(passes), mean_costs(updates), *medians)


def mean_costs(samples: Samples) -> Costs:
    return Costs(statistics.mean(samples[False]), statistics.mean(samples[True]))


def by_own_costs(figures: Figures) -> Load:
    """The load that the costs of the replay itself predict: what is wrong in it is not the machine's."""
    return predict_load(figures.passes, figures.updates, TranscriberSettings(), GateSettings())


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the doctor's prediction with replays of the demo.")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "livetrans-doctor")
    parser.add_argument("--only", type=int, help="only the combination of this number, from 1")
    options = parser.parse_args()
    embedded = find_recogniser("livetrans-recogniser-en").path, find_translator("livetrans-en-de").path
    plain_open = recognisers.open_recogniser
    about = f"{machine()['cores']} cores {machine()['processor']}, load average {os.getloadavg()[0]:.1f} before it"
    print(f"`python tests/benchmarks/doctor.py`, {date.today()}, {about}.")
    print("Seconds, predicted / measured (in brackets: predicted from the costs that the replay itself had). Costs are")
    print("means of partials, lags medians.\n")
    print("| Recogniser | Translator | Pass | Update | Lag, growing | Lag, finals |")
    print("|---|---|---|---|---|---|")
    for name, translator, window in COMBINATIONS if options.only is None else COMBINATIONS[options.only - 1 :][:1]:
        asr, mt = (
            own if model == "embedded" else model_path(model, options.folder)
            for model, own in zip((name, translator), embedded, strict=True)
        )

        def open_paid(settings: RecogniserSettings, paid: bool = name != "embedded") -> Recogniser:
            if not paid:
                return plain_open(settings)
            own = plain_open(RecogniserSettings(embedded[0], settings.language))
            return PaidRecogniser(plain_open(settings), own)

        recognisers.open_recogniser = open_paid
        settings = Settings(RecogniserSettings(asr, window=window), LanguageModelSettings(mt))
        cells = figures_cells(predicted(settings), measured(settings))
        print(f"| {name}{f', {window}' if window else ''} | {translator} | {' | '.join(cells)} |", flush=True)


def figures_cells(before: Figures, after: Figures | None) -> tuple[str, ...]:
    """The row of a combination, predicted and measured."""
    if after is None:
        return f"{before.passes.partial:.2f}", f"{before.updates.partial:.3f}", "no captions in time", ""
    load = by_own_costs(after)
    return (
        f"{before.passes.partial:.2f} / {after.passes.partial:.2f}",
        f"{before.updates.partial:.3f} / {after.updates.partial:.3f}",
        f"{before.lag:.2f} / {after.lag:.2f} ({load.lag:.2f})",
        "falls behind"
        if load.falls_behind
        else f"{before.final_lag:.2f} / {after.final_lag:.2f} ({load.final_lag:.2f})",
    )


if __name__ == "__main__":
    main()
