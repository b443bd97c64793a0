"""Batches of windows: grouped by length, padded with zeros as faster-whisper pads."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .features import BANDS, WINDOW_FRAMES
from .windows import Window

PADDING = 40
"""Frames of zeros after a batch's longest window, at most."""


@dataclass(frozen=True)
class Batch:
    """Windows side by side: features [rows, frames, 80], tokens and labels [rows, length] (-100: not learned)."""

    features: Tensor
    tokens: Tensor
    labels: Tensor
    characters: Tensor
    character_counts: Tensor
    frame_counts: Tensor


def batch_of(windows: list[Window], frames: int) -> Batch:
    """Pad with zeros after normalisation, as faster-whisper does; the encoder must learn to ignore them."""
    features = np.zeros((len(windows), frames, BANDS), dtype=np.float32)
    length = max(len(window.tokens) for window in windows) - 1
    tokens = torch.zeros((len(windows), length), dtype=torch.long)
    labels = torch.full((len(windows), length), -100, dtype=torch.long)
    for row, window in enumerate(windows):
        features[row, : len(window.features)] = window.features
        ids = torch.tensor(window.tokens)
        tokens[row, : len(ids) - 1] = ids[:-1]
        labels[row, window.learned_from - 1 : len(ids) - 1] = ids[window.learned_from :]
    return Batch(
        torch.from_numpy(features),
        tokens,
        labels,
        torch.tensor([character for window in windows for character in window.characters]),
        torch.tensor([len(window.characters) for window in windows]),
        torch.tensor([len(window.features) for window in windows]),
    )


def groups_of(windows: list[Window], budget: int, rng: random.Random) -> list[list[Window]]:
    """Windows of about equal length together, at most `budget` frames with their padding, in random order."""
    groups: list[list[Window]] = [[]]
    for window in sorted(windows, key=lambda window: len(window.features)):
        if groups[-1] and (len(window.features) + PADDING) * (len(groups[-1]) + 1) > budget:
            groups.append([])
        groups[-1].append(window)
    rng.shuffle(groups)
    return groups


def padded_batch(group: list[Window], rng: random.Random) -> Batch:
    """A little longer than the longest window, so that zeros are seen from the first step on."""
    frames = max(len(window.features) for window in group) + rng.randrange(2, PADDING)
    return batch_of(group, min(WINDOW_FRAMES, frames // 2 * 2))


def full_batch(group: list[Window], budget: int, rng: random.Random) -> Batch:
    """As many windows of the group as fit when each fills 30 s."""
    return batch_of(rng.sample(group, min(len(group), max(1, budget // WINDOW_FRAMES))), WINDOW_FRAMES)
