"""Decisions on a model's predictions: biased draft verification, and draws. No model.

Source of verification: *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2), equation (3),
which is (5) in the first version, and Algorithm 1, lines 4 to 12. The margin for shown tokens is our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from livetrans.config import SamplingSettings
from livetrans.lm.rows import Rows


def accepted_length(rows: Rows, draft: Sequence[int], bias: float, cost: Callable[[int], float] | None = None) -> int:
    """Return the number of draft tokens before the divergence; all if there is none.

    Row i predicts draft token i. A token that is neither the choice nor kept under the bias is a divergence. The paper
    takes the first.

    With a `cost`, ours: the *regret* of a token is log p of the choice less log p of the token. Writing the draft anew
    from token i on gains about the sum of the regrets from there on, and costs `cost(i)` nats. The divergence with the
    largest gain less cost is taken, or none if that is below 0.
    """
    divergences = (
        at for at, token in enumerate(draft) if rows.choice(at) != token and not is_kept(rows, at, token, bias)
    )
    if cost is None:
        return next(divergences, len(draft))
    regrets = np.array([rows.regret(at, token) for at, token in enumerate(draft)])
    gains = regrets[::-1].cumsum()[::-1]
    worth = {at: float(gains[at]) - cost(at) for at in divergences}
    best = max(worth, key=worth.__getitem__, default=len(draft))
    return best if best in worth and worth[best] >= 0.0 else len(draft)


def is_kept(rows: Rows, row: int, token: int, bias: float) -> bool:
    """Return whether a draft token that is not the argmax wins under the bias (equation 3).

    (1 - bias) p(token) + bias >= (1 - bias) max p, that is max p - p(token) <= bias / (1 - bias): no biased vector is
    needed. From bias 0.5 on every token is kept. At bias 0 a tie goes to the argmax, so that the output is greedy
    re-translation's. Ties under a positive bias go to the draft.
    """
    if bias <= 0.0:
        return False
    if bias >= 0.5:
        return True
    gap = (1.0 - math.exp(-rows.regret(row, token))) * rows.confidence(row)
    return gap <= bias / (1.0 - bias)


def log_probability(row: NDArray[np.float32], token: int) -> float:
    """Return log p(token) in nats, from one row of logits."""
    highest = row.max()
    return float(row[token] - highest) - float(np.log(np.exp(row - highest).sum()))


class Sampler:
    """Random draws of tokens, for the target and the draft model alike; the seed makes two runs draw the same."""

    def __init__(self, settings: SamplingSettings) -> None:
        self._settings = settings
        self._random = np.random.default_rng(settings.seed)

    def distribution(self, row: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return probabilities (vocabulary,) after temperature, then top-k, then top-p, in this order."""
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
        """Return a token, each as likely as its weight; weights need not add up to 1."""
        summed = np.cumsum(weights)
        return int(np.searchsorted(summed, self._random.random() * summed[-1], side="right"))

    def uniform(self) -> float:
        """Return a number from 0 to below 1."""
        return self._random.random()
