"""What both recipes' trainings share: optimisers, the rate's schedule, one step, and checkpoints."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Optimizers = list[torch.optim.Optimizer]


def muon_and_adamw(
    matrices: Sequence[Tensor], decayed: Sequence[Tensor], plain: Sequence[Tensor], rate: float, weight_decay: float
) -> Optimizers:
    """Muon for the blocks' matrices, AdamW for the rest, whose `plain` part is not decayed.

    Muon steps take a fifth longer but learned more each in a short trial (README.md). Its
    rate is scaled to the size of AdamW's updates, so both share one schedule.
    """
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    return [
        torch.optim.Muon(matrices, lr=rate, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True),
    ]


def scheduled_rate(rate: float, step: int, steps: int, warmup_steps: int) -> float:
    """Linear warm-up, then a cosine to 1 % at the last of `steps`."""
    cosine = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step / steps)))
    return rate * min(1.0, (step + 1) / warmup_steps) * cosine


def take_step(loss: Tensor, model: nn.Module, optimizers: Optimizers, rate: float, clip: float) -> None:
    """One step of all optimisers at `rate`, down the gradient of `loss`, whose norm is clipped."""
    for group in (group for optimizer in optimizers for group in optimizer.param_groups):
        group["lr"] = rate
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


@dataclass
class RunProgress:
    """Where a run is; enough to continue it."""

    step: int = 0
    chunk: int = 0
    batch: int = 0
    seconds: float = 0.0


Progress = TypeVar("Progress", bound=RunProgress)


@dataclass(frozen=True)
class Checkpoint:
    """`checkpoint.pt` of a run's folder; `shape` and `settings` are dataclasses that say which run it is of."""

    folder: Path
    model: nn.Module
    optimizers: Optimizers
    shape: Any
    settings: Any

    def save(self, progress: Progress) -> None:
        """Write it beside its place first: nothing can spoil it half-way."""
        path = self.folder / "checkpoint.pt"
        state = {
            "shape": dataclasses.asdict(self.shape),
            "settings": dataclasses.asdict(self.settings),
            "progress": dataclasses.asdict(progress),
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }
        torch.save(state, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)

    def restore(self, progress: Progress) -> Progress:
        """Load what was saved and return where it was; the given `progress` when nothing was.

        Exits when the checkpoint is of another shape or other settings: half a run of each is neither.
        """
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return progress
        state = torch.load(path, map_location="cpu")
        for name, value in (("shape", self.shape), ("settings", self.settings)):
            if state[name] != dataclasses.asdict(value):
                sys.exit(f"{path} is of a run with {state[name]}: repeat those options, or choose another --work.")
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        progress = dataclasses.replace(progress, **state["progress"])
        print(f"continuing at step {progress.step}, {progress.seconds / 60:.1f} minutes", flush=True)
        if progress.step >= self.settings.steps:
            print("this run is finished: export.py makes the model of it")
        return progress
