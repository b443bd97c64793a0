"""The draft model: a small language model that proposes the next tokens to a large one, the target.

The target reviews a proposal in one pass. Speculative decoding (*Fast Inference from Transformers via Speculative
Decoding*, arXiv 2211.17192, Algorithm 1) accepts what the target would have written: by `first_mismatch` where decoding
is greedy, by `rejection_sampling` where tokens are drawn. `Decoding.finish` does so wherever there is a draft model.

Both have the same vocabulary. The draft model has a context of its own: `LanguageModel.evaluate` drops from its cache
what the target rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from livetrans.base.sequences import loop_length
from livetrans.decoding.verification import Sampler, accepted_length, log_probability
from livetrans.lm.port import LanguageModel
from livetrans.lm.rows import Logits

MOST_SMALL_TOKENS = 10
"""Tokens that the small model writes in a row at most in BiLD (its appendix 7.1.2)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Tokens that the draft model wrote after the output, and their cost."""

    tokens: tuple[int, ...] = ()
    end: int | None = None
    """The end of generation that it would write next; None if it stopped for another reason."""
    distributions: tuple[NDArray[np.float64], ...] = ()
    """Distributions from which they and the end were drawn, one (vocabulary,) each; empty if decoding is greedy."""
    unsure: bool = False
    """It stopped because its highest probability was too low."""
    seconds: float = 0.0

    @property
    def judged(self) -> tuple[int, ...]:
        """The tokens with the end, if there is one: what the target accepts or rejects."""
        return self.tokens if self.end is None else (*self.tokens, self.end)


@dataclass(frozen=True, slots=True)
class DraftModel:
    """A small model that proposes `gamma` tokens at a time."""

    model: LanguageModel
    gamma: int
    vocabulary_size: int | None = None
    """Number of leading token ids that it shares with the target; it proposes no others."""

    def another_context(self) -> DraftModel:
        """Return the model with a second context over the same weights."""
        return replace(self, model=self.model.another_context())

    def propose(
        self,
        prompt: Sequence[int],
        output: Sequence[int],
        count: int,
        *,
        sampler: Sampler | None = None,
        confidence: float = 0.0,
    ) -> Proposal:
        """Propose up to `count` tokens after prompt and output, greedily or drawn.

        There are fewer if the model ends, if its highest probability is not above `confidence`, if the output would be
        a repetition loop, or if its context is full.
        """
        started = self.model.clock.now()
        written, distributions, end, unsure = list(output), [], None, False
        while (
            len(written) - len(output) < count
            and len(prompt) + len(written) <= self.model.context_tokens
            and not loop_length(written)
        ):
            row = self.model.evaluate([*prompt, *written]).logits[-1][: self.vocabulary_size]
            token = int(row.argmax())
            if confidence > 0.0 and np.exp(log_probability(row, token)) <= confidence:
                unsure = True
                break
            if sampler is not None:
                distributions.append(sampler.distribution(row))
                token = sampler.draw(distributions[-1])
            if self.model.is_end_of_generation(token):
                end = token
                break
            written.append(token)
        seconds = self.model.clock.now() - started
        return Proposal(tuple(written[len(output) :]), end, tuple(distributions), unsure, seconds)


def first_mismatch(rows: NDArray[np.float32], proposal: Proposal) -> tuple[int, int]:
    """Return the number of tokens before the first that is not the target's own choice, and that choice.

    `rows` has shape (tokens + 1, vocabulary), row i predicting the proposal's token i.
    """
    of_target = Logits(rows)
    length = accepted_length(of_target, proposal.tokens, 0.0)
    return length, of_target.choice(length)


def rejection_sampling(rows: NDArray[np.float32], proposal: Proposal, sampler: Sampler) -> tuple[int, int]:
    """Accept token x with probability min(1, p(x) / q(x)); draw the first rejected one again from max(p - q, 0).

    If all are accepted, one more token is drawn from p. So every token is distributed as the target's own
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
