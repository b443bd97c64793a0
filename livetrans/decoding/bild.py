"""Big Little Decoder: the small model writes, and the large one takes over where the small one is unsure or wrong.

Source: *Speculative Decoding with Big Little Decoder* (arXiv 2302.07863), Algorithm 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from livetrans.config import DecodingSettings
from livetrans.decoding.drafting import Proposal
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.decoding.verification import log_probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SMALL_TOKENS = 10
"""Tokens that the small model writes in a row at most (appendix 7.1.2)."""


def bild(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Fallback and rollback (Algorithm 1); the previous output is not used.

    *Fallback*: where the small model's highest probability is not above `settings.fallback`, the large model writes the
    token, after a review of what the small one wrote. *Rollback*: there the first token whose distance exceeds
    `settings.rollback` is replaced, and those after it are dropped. The distance is the cross-entropy of the small
    model's token under the large model, -log p_L(token), in nats. Other than Algorithm 1, a small model that ends the
    output is reviewed too, so that nothing is shown that the large model has not seen.
    """

    def review(rows: NDArray[np.float32], proposal: Proposal) -> tuple[int, int]:
        for place, token in enumerate(proposal.judged):
            if -log_probability(rows[place], token) > settings.rollback:
                return place, decoding.choose(rows[place])
        length = len(proposal.tokens)
        return length, decoding.choose(rows[length]) if proposal.end is None else proposal.end

    while not decoding.is_over:
        decoding.propose_and_review(MOST_SMALL_TOKENS, review, confidence=settings.fallback)
        if not decoding.step():
            break
    return decoding.decoded()
