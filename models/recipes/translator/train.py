"""Train the translator: seeded, resumable, scheduled by steps.

The same command continues an interrupted run from its last checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sentencepiece
import torch
import torch.nn.functional as F

from ..common.corpus import EN_DE, PAIRS, Sources, read_sources, split_development
from ..common.optimising import Checkpoint, Optimizers, RunProgress, muon_and_adamw, scheduled_rate, take_step
from .data import VARIANTS, Batch, read_calibration, training_chunk
from .model import Llama, Shape
from .pairs import Tails, find_tails
from .vocabulary import train_vocabulary

Loss = Callable[[Llama, Batch, float, str, str], torch.Tensor]
PRECISIONS = ("bfloat16", "float32")
REPORT_STEPS = 50
SAMPLES = {
    "en": (
        "Hello there how are",
        "Where did you buy that book?",
        "I have never seen such a beautiful",
        "He said that he would",
    ),
    "de": (
        "Hallo wie geht es",
        "Wo hast du dieses Buch gekauft?",
        "Ich habe noch nie so einen schönen",
        "Er hat gesagt dass er",
    ),
}


@dataclass(frozen=True)
class Settings:
    """What one run does; stored in the checkpoint and written into the GGUF's description."""

    pair: str = str(EN_DE)
    variant: str = "prefix"
    seed: int = 1
    steps: int = 4800
    batch_tokens: int = 4096
    learning_rate: float = 2e-3
    warmup_steps: int = 200
    weight_decay: float = 0.05
    label_smoothing: float = 0.05
    clip: float = 1.0
    precision: str = "bfloat16"
    double: bool = False


@dataclass
class Progress(RunProgress):
    """Where the run is, and what it has read."""

    tokens: int = 0


def learning_rate(settings: Settings, progress: Progress) -> float:
    """The scheduled rate, counted in steps."""
    return scheduled_rate(settings.learning_rate, progress.step, settings.steps, settings.warmup_steps)


def batch_loss(model: Llama, batch: Batch, smoothing: float, device: str, precision: str) -> torch.Tensor:
    """Mean cross-entropy of the target tokens, with matrix products in one of `PRECISIONS`."""
    arrays = (batch.inputs, batch.places, batch.positions, batch.labels)
    inputs, places, positions, labels = (torch.from_numpy(array).to(device) for array in arrays)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        logits = model.logits(model(inputs, places, positions))
    if len(logits) == 1:
        return F.cross_entropy(logits[0].float(), labels, label_smoothing=smoothing)
    of_heads = F.cross_entropy(logits[0].float(), labels[0::2], label_smoothing=smoothing)
    of_tails = F.cross_entropy(logits[1].float(), labels[1::2] - model.shape.vocabulary, label_smoothing=smoothing)
    return (of_heads + of_tails) / 2


@torch.no_grad()
def development_losses(run: Training, development: Sources) -> dict[str, float]:
    """Loss on held-out sentences and their references, for whole ones (`plain`) and for the mixture with prefixes."""
    losses = {}
    for name in ("plain", "prefix"):
        batches = training_chunk(
            development, run.tokenizer, run.tails, VARIANTS[name], Settings.batch_tokens, 7, 0, PAIRS[run.settings.pair]
        )
        precision = run.settings.precision
        total = sum(batch_loss(run.model, b, 0.0, run.device, precision).item() * len(b.labels) for b in batches)
        losses[name] = total / sum(len(b.labels) for b in batches)
    return losses


@torch.no_grad()
def translate(run: Training, text: str) -> str:
    """Greedy translation without a cache, for a look at the progress."""
    tokenizer, tails = run.tokenizer, run.tails
    source_mark, target_mark = (tokenizer.piece_to_id(mark) for mark in ("<|src|>", "<|tgt|>"))
    prompt = [tokenizer.bos_id(), source_mark, *tokenizer.encode(text), target_mark]
    mark, step = len(prompt) - 1, 2 if tails else 1
    written = [tails[target_mark]] if tails else []
    heads: list[int] = []
    tail: list[int] = []
    for _ in range(60 // step):
        ids = [*prompt, *written]
        places = [min(at, mark + (at - mark) // step) for at in range(len(ids))]
        inputs, where, last = (
            torch.tensor(values, device=run.device) for values in ([ids], [places], range(len(ids) - step, len(ids)))
        )
        choices = [int(row.argmax()) for row in run.model.logits(run.model(inputs, where, last))]
        heads.append(choices[0])
        if tails:
            tail.append(tails.pieces[choices[1]])
        if tokenizer.eos_id() in (heads[-1], *tail[-1:]):
            break
        written += [heads[-1], *(tails[piece] for piece in tail[-1:])]
    pieces = [piece for piece in (*heads, *reversed(tail)) if piece != tokenizer.eos_id()]
    return tokenizer.decode(pieces)


def optimizers_of(model: Llama, settings: Settings) -> Optimizers:
    """Muon for the blocks' matrices, AdamW for the embeddings and the norms' gains."""
    matrices = [p for block in model.blocks for p in block.parameters() if p.dim() == 2]
    gains = [p for p in model.parameters() if p.dim() == 1]
    return muon_and_adamw(matrices, [model.embedding.weight], gains, settings.learning_rate, settings.weight_decay)


@dataclass
class Training:
    """One run in progress: everything that a step touches."""

    work: Path
    settings: Settings
    tokenizer: sentencepiece.SentencePieceProcessor
    tails: Tails | None
    """The tail pieces of a double-token model."""
    model: Llama
    optimizers: Optimizers
    checkpoint: Checkpoint
    progress: Progress
    device: str
    loss: Loss
    """`batch_loss`, compiled: fused, a step takes half the time on CPUs."""

    def learn(self, batch: Batch) -> float:
        """One optimiser step; returns the loss before it."""
        rate = learning_rate(self.settings, self.progress)
        settings = self.settings
        loss = self.loss(self.model, batch, settings.label_smoothing, self.device, settings.precision)
        take_step(loss, self.model, self.optimizers, rate, settings.clip)
        return loss.item()

    def report(self, development: Sources) -> None:
        """Log the held-out losses, and show a few translations."""
        losses = development_losses(self, development)
        with open(self.work / "log.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps(dataclasses.asdict(self.progress) | losses) + "\n")
        print(f"saved; held-out loss: whole {losses['plain']:.3f}, with prefixes {losses['prefix']:.3f}")
        for text in SAMPLES[PAIRS[self.settings.pair].source]:
            print(f"    {text} -> {translate(self, text)}", flush=True)

    def run(self, training: Sources, development: Sources, save_seconds: float) -> None:
        """Train until the schedule is over."""
        settings, progress = self.settings, self.progress
        seconds_before, started = progress.seconds, time.monotonic()
        saved = reported = started
        losses: list[float] = []
        reported_tokens = progress.tokens
        while progress.step < settings.steps:
            mixture = VARIANTS[settings.variant].at((progress.step - progress.batch) / settings.steps)
            chunk = training_chunk(
                training,
                self.tokenizer,
                self.tails,
                mixture,
                settings.batch_tokens,
                settings.seed,
                progress.chunk,
                PAIRS[settings.pair],
            )
            for batch in chunk[progress.batch :]:
                losses.append(self.learn(batch))
                now = time.monotonic()
                progress.step, progress.batch = progress.step + 1, progress.batch + 1
                progress.tokens, progress.seconds = progress.tokens + batch.tokens, seconds_before + now - started
                if len(losses) == REPORT_STEPS:
                    speed = (progress.tokens - reported_tokens) / (now - reported)
                    print(
                        f"step {progress.step}  {progress.seconds / 60:.1f} min  loss {sum(losses) / len(losses):.3f}  "
                        f"lr {learning_rate(settings, progress):.1e}  {speed:.0f} tokens/s",
                        flush=True,
                    )
                    losses, reported, reported_tokens = [], now, progress.tokens
                over = progress.step >= settings.steps
                if over or now - saved > save_seconds:
                    self.checkpoint.save(progress)
                    self.report(development)
                    saved = time.monotonic()
                if over:
                    return
            progress.chunk, progress.batch = progress.chunk + 1, 0


def start(
    work: Path, settings: Settings, shape: Shape, save_seconds: float, device: str, calibration: Path | None
) -> None:
    """Begin or continue the run of a folder, leaving `checkpoint.pt`, `vocabulary.model` and `log.jsonl` there."""
    pair = PAIRS[settings.pair]
    training, development = split_development(read_sources(pair=pair))
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "vocabulary.model").exists():
        train_vocabulary(training, pair, work / "vocabulary", shape.vocabulary, settings.seed)
    if calibration:
        training = read_calibration(calibration)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(work / "vocabulary.model"))
    tails = find_tails(work / "tails.txt", training, tokenizer) if settings.double else None
    shape = dataclasses.replace(shape, tails=len(tails) if tails else 0)
    torch.manual_seed(settings.seed)
    model = Llama(shape)
    if tails:
        model.pieces_of_tails.copy_(torch.tensor(tails.pieces))
    model.to(device)
    print(f"{model.parameter_count():,} parameters; {len(training)} sources, {len(development)} held out; {settings}")
    optimizers = optimizers_of(model, settings)
    checkpoint = Checkpoint(work, model, optimizers, shape, settings)
    progress = checkpoint.restore(Progress())
    loss = torch.compile(batch_loss, dynamic=True)
    run = Training(work, settings, tokenizer, tails, model, optimizers, checkpoint, progress, device, loss)
    run.run(training, development, save_seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of this run: vocabulary, checkpoint, log")
    parser.add_argument("--pair", choices=PAIRS, default=Settings.pair, help="languages to translate from and to")
    parser.add_argument("--variant", choices=VARIANTS, default=Settings.variant)
    parser.add_argument("--calibration", type=Path, help="what align.py wrote, for the variant `aligned`")
    parser.add_argument("--double", action="store_true", help="a model that writes from both ends (pairs.py)")
    parser.add_argument("--precision", choices=PRECISIONS, default=Settings.precision)
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--batch-tokens", type=int, default=Settings.batch_tokens)
    parser.add_argument("--learning-rate", type=float, default=Settings.learning_rate)
    parser.add_argument("--layers", type=int, default=Shape.layers)
    parser.add_argument("--width", type=int, default=Shape.width)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save-seconds", type=float, default=180.0)
    options = parser.parse_args()
    if (options.variant == "aligned") != (options.calibration is not None):
        parser.error("--variant aligned and --calibration go together")
    torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    feed_forward = options.width * 11 // 4 // 32 * 32
    shape = Shape(width=options.width, layers=options.layers, heads=options.width // 32, feed_forward=feed_forward)
    settings = Settings(
        pair=options.pair,
        variant=options.variant,
        seed=options.seed,
        steps=options.steps,
        batch_tokens=options.batch_tokens,
        learning_rate=options.learning_rate,
        precision=options.precision,
        double=options.double,
    )
    start(options.work, settings, shape, options.save_seconds, device, options.calibration)


if __name__ == "__main__":
    main()
