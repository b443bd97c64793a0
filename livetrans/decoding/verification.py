"""Biased draft verification: who is accepted. Pure numpy, no model.

Source: *Self-Speculative Biased Decoding for Faster Re-translation*, eq. (3) and Algorithm 1, lines 4 to 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Verification:
    accepted_tokens: int
    """Draft tokens before the divergence; the draft's length where it has none."""
    next_token: int
    """The model's unbiased choice at the divergence, or after the whole draft: the verifying pass already paid for
    it.
    """


def verify(logits: NDArray[np.float32], draft: Sequence[int], bias: float) -> Verification:
    """Accept draft tokens while the biased argmax is the draft token.

    `logits` has shape (len(draft) + 1, vocabulary): row i predicts draft token i, the last row what follows the draft.
    """
    choices = logits.argmax(axis=1)
    for position, token in enumerate(draft):
        if choices[position] != token and not is_kept(logits[position], token, bias):
            return Verification(position, int(choices[position]))
    return Verification(len(draft), int(choices[len(draft)]))


def is_kept(row: NDArray[np.float32], token: int, bias: float) -> bool:
    """Whether a draft token that is not the argmax wins under the bias (eq. 3).

    (1 - bias) p(token) + bias >= (1 - bias) max p, that is max p - p(token) <= bias / (1 - bias): no biased vector is
    needed. From bias 0.5 on every token is kept. At bias 0 a tie goes to the argmax, so that the output is greedy
    re-translation's. Ties under a positive bias go to the draft.
    """
    if bias <= 0.0:
        return False
    if bias >= 0.5:
        return True
    shifted = row.astype(np.float64) - float(row.max())
    total = float(np.exp(shifted).sum())
    gap = (1.0 - float(np.exp(shifted[token]))) / total
    return gap <= bias / (1.0 - bias)
