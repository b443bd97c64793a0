"""Train the recogniser: seeded, resumable, scheduled by steps.

The same command continues an interrupted run from its last checkpoint. Loss: the decoder's cross-entropy plus a
share of CTC over characters on the encoder (Watanabe et al. 2017), without which the decoder does not learn to listen
in the hours that a small machine has.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..common.optimising import Checkpoint, RunProgress, take_step
from .batches import Batch, full_batch, groups_of, padded_batch
from .learning import Optimizers, Settings, learning_rate, losses_of, optimizers_of
from .network import Recogniser, Shape
from .pieces import CHARACTERS, Pieces, train_pieces
from .sentences import read_sentences
from .windows import Clip, Mixture, Window, chunk_of_windows, load_clips

REPORT_STEPS = 50
CHUNK = 2000
LONG_PROMPTS = Mixture(prompted=0.6, prompt_tokens=90)
"""Previous text as long as livetrans gives it; in every fifth chunk only, because one pads its whole batch."""


@dataclass
class Training:
    """One run in progress: everything that a step touches."""

    work: Path
    settings: Settings
    pieces: Pieces
    model: Recogniser
    optimizers: Optimizers
    checkpoint: Checkpoint
    progress: RunProgress
    device: str

    def learn(self, batch: Batch) -> tuple[float, float]:
        """One optimiser step; returns both losses before it."""
        rate = learning_rate(self.settings, self.progress.step)
        attention, ctc = losses_of(self.model, batch, self.device)
        take_step(attention + self.settings.ctc * ctc, self.model, self.optimizers, rate, self.settings.clip)
        return attention.item(), ctc.item()

    def groups(self, clips: list[Clip]) -> Iterator[tuple[int, int, list[Window]]]:
        """(chunk, number, windows of a batch) from where the run is."""
        chunk, first = self.progress.chunk, self.progress.batch
        while True:
            mixture = LONG_PROMPTS if chunk % 5 == 4 else Mixture()
            windows = chunk_of_windows(clips, self.pieces, mixture, self.settings.seed, chunk, CHUNK)
            rng = random.Random(f"{self.settings.seed}-groups-{chunk}")
            groups = groups_of(list(windows), self.settings.budget, rng)
            for number in range(first, len(groups)):
                yield chunk, number, groups[number]
            chunk, first = chunk + 1, 0

    def batch(self, group: list[Window]) -> Batch:
        """Pad a little, or to 30 s."""
        rng = random.Random(f"{self.settings.seed}-step-{self.progress.step}")
        is_late = self.progress.step >= self.settings.late * self.settings.steps
        if rng.random() < (0.5 if is_late else self.settings.full):
            return full_batch(group, self.settings.budget, rng)
        return padded_batch(group, rng)

    def run(self, clips: list[Clip], development: dict[str, list[Batch]], save_seconds: float) -> None:
        """Train until the schedule is over."""
        settings, progress = self.settings, self.progress
        before, started = progress.seconds, time.monotonic()
        saved = started
        sums: list[tuple[float, float]] = []
        for chunk, number, group in self.groups(clips):
            sums.append(self.learn(self.batch(group)))
            now = time.monotonic()
            progress.step, progress.chunk, progress.batch = progress.step + 1, chunk, number + 1
            progress.seconds = before + now - started
            if progress.step % REPORT_STEPS == 0:
                attention, ctc = np.mean(sums, axis=0)
                print(
                    f"step {progress.step}  {progress.seconds / 60:.1f} min  attention {attention:.3f}  ctc {ctc:.3f}",
                    flush=True,
                )
                sums = []
            over = progress.step >= settings.steps
            if over or now - saved > save_seconds:
                self.checkpoint.save(progress)
                self.report(development)
                saved = time.monotonic()
            if over:
                return

    @torch.no_grad()
    def report(self, development: dict[str, list[Batch]]) -> None:
        """Log the held-out losses."""
        line = dataclasses.asdict(self.progress)
        for name, batches in development.items():
            losses = [[loss.item() for loss in losses_of(self.model, batch, self.device)] for batch in batches]
            line |= dict(
                zip((f"{name}_attention", f"{name}_ctc"), np.mean(losses, axis=0).round(4).tolist(), strict=True)
            )
        with open(self.work / "log.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        print(f"saved; held out: {line}", flush=True)


def development_batches(work: Path, pieces: Pieces, settings: Settings) -> dict[str, list[Batch]]:
    """Unseen sentences: as short batches, padded to 30 s, and after long previous text."""
    rng = random.Random(7)
    clips = load_clips(work, "unseen")

    def groups(mixture: Mixture) -> list[list[Window]]:
        windows = list(chunk_of_windows(clips, pieces, mixture, 7, 0, len(clips)))
        return groups_of(windows, settings.budget, random.Random(7))[:6]

    plain = groups(Mixture(prompted=0.0))
    return {
        "short": [padded_batch(group, rng) for group in plain],
        "full": [full_batch(group, settings.budget, rng) for group in plain],
        "prompted": [padded_batch(group, rng) for group in groups(Mixture(prompted=1.0, prompt_tokens=90))],
    }


def start(work: Path, settings: Settings, save_seconds: float, device: str) -> None:
    """Begin or continue the run of a prepared folder, leaving `checkpoint.pt`, `tokenizer.json` and `log.jsonl`."""
    clips = load_clips(work, "clips")
    if not (work / "tokenizer.json").exists():
        train_pieces(read_sentences()[0], work / "tokenizer.json")
    pieces = Pieces(work / "tokenizer.json")
    torch.manual_seed(settings.seed)
    model = Recogniser(Shape(pieces.size, len(CHARACTERS) + 1)).to(device)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters:,} parameters; {len(clips)} clips; {settings}", flush=True)
    optimizers = optimizers_of(model, settings)
    checkpoint = Checkpoint(work, model, optimizers, model.shape, settings)
    run = Training(work, settings, pieces, model, optimizers, checkpoint, checkpoint.restore(RunProgress()), device)
    if run.progress.step < settings.steps:
        run.run(clips, development_batches(work, pieces, settings), save_seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder that prepare.py filled")
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--batch-seconds", type=float, default=Settings.batch_seconds)
    parser.add_argument("--learning-rate", type=float, default=Settings.learning_rate)
    parser.add_argument("--ctc", type=float, default=Settings.ctc)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save-seconds", type=float, default=240.0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = Settings(
        steps=options.steps,
        seed=options.seed,
        batch_seconds=options.batch_seconds,
        learning_rate=options.learning_rate,
        ctc=options.ctc,
    )
    start(options.work, settings, options.save_seconds, device)


if __name__ == "__main__":
    main()
