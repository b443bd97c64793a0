"""What both recipes' trainings share: optimisers, the rate's schedule, one step, and checkpoints."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def scheduled_rate(rate: float, share: float, step: int, warmup_steps: int) -> float:
    """Linear warm-up, then a cosine to 1 % over the share (0..1) of the run that has passed."""
    cosine = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
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


def save_checkpoint(path: Path, model: nn.Module, optimizers: Optimizers, **described: Any) -> None:
    """Write the checkpoint and its `described` dataclasses beside its place first: nothing can spoil it half-way."""
    state = {name: dataclasses.asdict(value) for name, value in described.items()}
    state |= {"model": model.state_dict(), "optimizers": [optimizer.state_dict() for optimizer in optimizers]}
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def load_checkpoint(
    path: Path, model: nn.Module, optimizers: Optimizers, device: str, **described: Any
) -> dict[str, Any] | None:
    """Continue from what `save_checkpoint` wrote, and return it; None when there is nothing.

    Exits when any of the `described` dataclasses (shape, settings) is another there: half a run of each is neither.
    """
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, map_location=device)
    for name, value in described.items():
        if state[name] != dataclasses.asdict(value):
            sys.exit(f"{path} is of a run with {state[name]}: repeat those options, or choose another --work.")
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return state
