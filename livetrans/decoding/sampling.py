"""Sampling: one distribution from a row of logits, for the target and the draft model alike, and draws from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from livetrans.config import SamplingSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Sampler:
    """Draws tokens; the seed makes two runs draw the same."""

    def __init__(self, settings: SamplingSettings) -> None:
        self._settings = settings
        self._random = np.random.default_rng(settings.seed)

    def distribution(self, row: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probabilities (vocabulary,) after temperature, then top-k, then top-p, in this order."""
        settings = self._settings
        exponents = np.exp((row.astype(np.float64) - float(row.max())) / settings.temperature)
        if 0 < settings.top_k < len(exponents):
            least = np.partition(exponents, -settings.top_k)[-settings.top_k]
            exponents[exponents < least] = 0.0
        probabilities: NDArray[np.float64] = exponents / exponents.sum()
        if settings.top_p < 1.0:
            order = np.argsort(-probabilities, kind="stable")
            # The nucleus: the fewest most likely tokens whose probabilities add up to top_p or more.
            size = int(np.searchsorted(np.cumsum(probabilities[order]), settings.top_p)) + 1
            probabilities[order[size:]] = 0.0
            probabilities /= probabilities.sum()
        return probabilities

    def draw(self, weights: NDArray[np.float64]) -> int:
        """A token, each as likely as its weight; weights need not add up to 1."""
        summed = np.cumsum(weights)
        return int(np.searchsorted(summed, self._random.random() * summed[-1], side="right"))

    def uniform(self) -> float:
        """A number from 0 to below 1."""
        return self._random.random()
