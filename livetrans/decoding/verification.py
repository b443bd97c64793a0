"""Biased draft verification: how many draft tokens are accepted. Pure numpy, no model.

Source: *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2), equation (3), which is (5) in
the first version, and Algorithm 1, lines 4 to 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def accepted_length(logits: NDArray[np.float32], choices: NDArray[np.intp], draft: Sequence[int], bias: float) -> int:
    """Draft tokens before the divergence; the draft's length where it has none.

    `logits` has shape (at least len(draft), vocabulary), row i predicting draft token i; `choices` are their argmaxes.
    """
    for position, token in enumerate(draft):
        if choices[position] != token and not is_kept(logits[position], token, bias):
            return position
    return len(draft)


def is_kept(row: NDArray[np.float32], token: int, bias: float) -> bool:
    """Whether a draft token that is not the argmax wins under the bias (equation 3).

    (1 - bias) p(token) + bias >= (1 - bias) max p, that is max p - p(token) <= bias / (1 - bias): no biased vector is
    needed. From bias 0.5 on every token is kept. At bias 0 a tie goes to the argmax, so that the output is greedy
    re-translation's. Ties under a positive bias go to the draft.
    """
    if bias <= 0.0:
        return False
    if bias >= 0.5:
        return True
    highest = row.max()
    gap = (1.0 - float(np.exp(row[token] - highest))) / float(np.exp(row - highest).sum())
    return gap <= bias / (1.0 - bias)


def log_probability(row: NDArray[np.float32], token: int) -> float:
    """log p(token) in nats, from one row of logits."""
    highest = row.max()
    return float(row[token] - highest) - float(np.log(np.exp(row - highest).sum()))
