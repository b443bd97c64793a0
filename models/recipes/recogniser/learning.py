"""What is learned and how: the settings of a run, its two losses, its optimisers and their rate."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..common.optimising import Optimizers, muon_and_adamw, scheduled_rate
from .batches import Batch
from .features import FRAMES_PER_SECOND
from .network import Recogniser


@dataclass(frozen=True)
class Settings:
    """What one run does; a checkpoint is continued with the same settings only."""

    steps: int = 6000
    seed: int = 1
    batch_seconds: float = 120.0
    learning_rate: float = 2e-3
    warmup_steps: int = 300
    weight_decay: float = 0.05
    ctc: float = 0.5
    clip: float = 1.0
    full: float = 0.04
    """Share of batches that are zero-padded to 30 s, as faster-whisper pads every window; they are dear."""
    late: float = 0.8
    """From this share of the steps on, half of the batches are."""

    @property
    def budget(self) -> int:
        """Frames of a batch."""
        return round(self.batch_seconds * FRAMES_PER_SECOND)


def losses_of(model: Recogniser, batch: Batch, device: str) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy per token and mean CTC loss per character; matrix products in bfloat16."""
    with torch.autocast(device, dtype=torch.bfloat16):
        states = model.encode(batch.features.to(device))
        learned = batch.labels.flatten() != -100
        hidden = model.decode(batch.tokens.to(device), states).flatten(0, 1)[learned.to(device)]
        logits = model.logits(hidden)
        characters = model.characters(states)
    attention = F.cross_entropy(logits.float(), batch.labels.flatten()[learned].to(device))
    spoken = batch.character_counts > 0
    if not bool(spoken.any()):
        return attention, attention.new_zeros(())
    ctc = F.ctc_loss(
        characters.float().log_softmax(-1)[spoken.to(device)].transpose(0, 1),
        batch.characters.to(device),
        ((batch.frame_counts[spoken] + 1) // 2).to(device),
        batch.character_counts[spoken].to(device),
        reduction="sum",
        zero_infinity=True,
    )
    return attention, ctc / batch.character_counts.sum()


def optimizers_of(model: Recogniser, settings: Settings) -> Optimizers:
    """Muon for the blocks' matrices, AdamW for the rest, at one rate (the translator's recipe found it faster)."""
    blocks = [*model.encoder, *model.decoder]
    matrices = [p for block in blocks for p in block.parameters() if p.dim() == 2]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    matrices_apart = [p for p in others if p.dim() > 1]
    vectors = [p for p in others if p.dim() <= 1]
    return muon_and_adamw(matrices, matrices_apart, vectors, settings.learning_rate, settings.weight_decay)


def learning_rate(settings: Settings, step: int) -> float:
    """The scheduled rate, counted in steps."""
    return scheduled_rate(settings.learning_rate, step, settings.steps, settings.warmup_steps)
