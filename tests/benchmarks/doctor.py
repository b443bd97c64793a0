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

from livetrans.catalogue import find_recogniser, find_translator
from livetrans.cli import run
from livetrans.clock import SystemClock
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings
from livetrans.doctor.pair import measure_recogniser, measure_translator, pass_costs, predict
from livetrans.events import Caption, SourceProgress, Translation
from livetrans.metrics.latency import caption_lag, percentile
from livetrans.session.codec import from_dict
from livetrans.signature import machine
from livetrans.speech import recogniser as recognisers
from livetrans.speech.recogniser import Hypothesis, Recogniser

TREE = Path(__file__).parents[2]
DEMO = TREE / "recordings/demo.flac"
COMBINATIONS = (
    ("embedded", "embedded"),
    ("tiny", "embedded"),
    ("small", "embedded"),
    ("embedded", "grown"),
    ("tiny", "grown"),
)


class PaidRecogniser:
    """Words of the embedded recogniser at the cost of another one's passes besides."""

    def __init__(self, paid: Recogniser, embedded: Recogniser) -> None:
        self._paid, self._embedded = paid, embedded
        self.maximum_length = min(paid.maximum_length, embedded.maximum_length)

    def recognise(self, samples: np.ndarray, *, prompt: str = "", final: bool = False) -> Hypothesis:
        self._paid.recognise(samples, prompt=prompt, final=final)
        return self._embedded.recognise(samples, prompt=prompt, final=final)


@dataclass(frozen=True)
class Figures:
    """Of one combination, predicted or measured; seconds."""

    pass_seconds: float
    update_seconds: float
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
    return Figures(pass_costs(recogniser.passes).partial, translator.updates.partial, load.lag, load.final_lag)


def measured(settings: Settings) -> Figures:
    """What a replay of the demo at the pace of speech gives."""
    assert settings.recogniser is not None
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        lines = Path(folder) / "events.jsonl"
        models = ["--asr", str(settings.recogniser.model), "--mt", str(settings.language_model.model)]
        with contextlib.redirect_stdout(nowhere):
            code = run(["replay", str(DEMO), "--plain", "--no-session", "--jsonl", str(lines), *models])
        assert code == 0, f"the replay ended with {code}"
        events = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    records = [from_dict(event) for event in events]
    lags: dict[bool, list[float]] = {False: [], True: []}
    updates: list[float] = []
    progress = SourceProgress(0.0, None, False)
    for record in records:
        lag = caption_lag(record)
        if isinstance(record.event, Caption) and lag is not None:
            lags[record.event.final].append(lag)
        elif isinstance(record.event, Translation) and not record.event.final:
            updates.append(record.event.stats.total_seconds)
        elif isinstance(record.event, SourceProgress):
            progress = record.event
    growing, finals = (percentile(sorted(values), 0.5) or 0.0 for values in lags.values())
    seconds = progress.recognition_seconds / max(progress.passes, 1)
    return Figures(seconds, statistics.mean(updates) if updates else 0.0, growing, finals)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the doctor's prediction with replays of the demo.")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "livetrans-doctor")
    parser.add_argument("--only", type=int, help="only the combination of this number, from 1")
    options = parser.parse_args()
    embedded = find_recogniser("livetrans-recogniser-en").path, find_translator("livetrans-en-de").path
    plain_open = recognisers.open_recogniser
    about = f"{machine()['cores']} cores {machine()['processor']}, load average {os.getloadavg()[0]:.1f} before it"
    print(f"`python tests/benchmarks/doctor.py`, {date.today()}, {about}.")
    print("Seconds, predicted / measured; lags are medians.\n")
    print("| Recogniser | Translator | Pass | Update | Lag, growing | Lag, finals |")
    print("|---|---|---|---|---|---|")
    for names in COMBINATIONS if options.only is None else COMBINATIONS[options.only - 1 :][:1]:
        asr, mt = (
            own if name == "embedded" else model_path(name, options.folder)
            for name, own in zip(names, embedded, strict=True)
        )

        def open_paid(settings: RecogniserSettings, paid: bool = names[0] != "embedded") -> Recogniser:
            if not paid:
                return plain_open(settings)
            own = plain_open(RecogniserSettings(embedded[0], settings.language))
            return PaidRecogniser(plain_open(settings), own)

        recognisers.open_recogniser = open_paid
        settings = Settings(RecogniserSettings(asr), LanguageModelSettings(mt))
        before, after = predicted(settings), measured(settings)
        pairs = zip(vars(before).values(), vars(after).values(), strict=True)
        print(f"| {' | '.join(names)} | {' | '.join(f'{one:.3f} / {other:.3f}' for one, other in pairs)} |", flush=True)


if __name__ == "__main__":
    main()
