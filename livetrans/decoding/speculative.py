"""Speculative decoding: a draft model proposes gamma tokens, one pass of the target accepts or rejects them.

Source: *Fast Inference from Transformers via Speculative Decoding* (arXiv 2211.17192), Algorithm 1. The rule in use is
`first_mismatch` where decoding is greedy, and `rejection_sampling` where tokens are drawn. `Decoding.finish` goes on by
it wherever a decoding has a draft model, so that the other decoders use it after their divergence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from livetrans.decoding.verification import accepted_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.decoding.drafting import Proposal
    from livetrans.decoding.sampling import Sampler


def first_mismatch(rows: NDArray[np.float32], proposal: Proposal) -> tuple[int, int]:
    """How many tokens come before the first that is not the target's own choice, and that choice.

    `rows` has shape (tokens + 1, vocabulary), row i predicting the proposal's token i.
    """
    choices = rows.argmax(axis=1)
    length = accepted_length(rows, choices, proposal.tokens, 0.0)
    return length, int(choices[length])


def rejection_sampling(rows: NDArray[np.float32], proposal: Proposal, sampler: Sampler) -> tuple[int, int]:
    """Accept token x with probability min(1, p(x) / q(x)); draw the first rejected one again from max(p - q, 0).

    Where all are accepted, one token more is drawn from p. So every token is distributed as the target's own
    (arXiv 2211.17192, appendix A.1). The draft model's end of generation is a token like the others.
    """
    for place, (token, q) in enumerate(zip(proposal.judged, proposal.distributions, strict=True)):
        p = sampler.distribution(rows[place])
        if sampler.uniform() * q[token] >= p[token]:
            # The draft model may know fewer tokens than the target.
            p[: len(q)] = np.maximum(p[: len(q)] - q, 0.0)
            return place, sampler.draw(p)
    length = len(proposal.tokens)
    return length, sampler.draw(sampler.distribution(rows[length])) if proposal.end is None else proposal.end
