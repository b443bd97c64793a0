"""The draft model: a small language model that proposes the next tokens to a large one, the target.

The target reviews a proposal in one pass. Speculative decoding (*Fast Inference from Transformers via Speculative
Decoding*, arXiv 2211.17192, Algorithm 1) accepts what the target would have written: by `first_mismatch` where decoding
is greedy, by `rejection_sampling` where tokens are drawn. `Decoding.finish` does so wherever there is a draft model.

Both have the same vocabulary. The draft model has a context of its own: `LanguageModel.evaluate` drops from its cache
what the target rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from livetrans.config import MOST_GAMMA
from livetrans.decoding.verification import Sampler, accepted_length, log_probability
from livetrans.sequences import loop_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.lm.port import LanguageModel

MOST_SMALL_TOKENS = 10
"""Tokens that the small model writes in a row at most in BiLD (its appendix 7.1.2)."""
_MEMORY = 0.99
"""Weight of what was learned before, at each round: about the last 100 rounds count."""
_PRIOR_ACCEPTED, _PRIOR_JUDGED = 8.0, 10.0
"""An acceptance rate of 0.8 is assumed until this many tokens have been judged."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the draft model wrote behind the output, and what it cost."""

    tokens: tuple[int, ...] = ()
    end: int | None = None
    """The end of generation that it would write behind them; None where it stopped for another reason."""
    distributions: tuple[NDArray[np.float64], ...] = ()
    """From which they and the end were drawn, one (vocabulary,) each; empty where decoding is greedy."""
    unsure: bool = False
    """It stopped because its highest probability was too low."""
    passes: int = 0
    seconds: float = 0.0

    @property
    def judged(self) -> tuple[int, ...]:
        """The tokens with the end, if there is one: what the target accepts or rejects."""
        return self.tokens if self.end is None else (*self.tokens, self.end)


class DraftModel:
    """A small model, and how many tokens it proposes at a time: `gamma`, or by their measured worth where it is None.

    `vocabulary_size` is how many leading token ids it shares with the target; it proposes no others.
    """

    def __init__(self, model: LanguageModel, gamma: int | None, vocabulary_size: int | None = None) -> None:
        self.model = model
        self._gamma = gamma
        self._vocabulary_size = vocabulary_size
        self.worth = Worth()
        """The decoding loop tells it what each pass of the target accepted and cost."""

    def another_context(self) -> DraftModel:
        """Return the model with a second context over the same weights."""
        return DraftModel(self.model.another_context(), self._gamma, self._vocabulary_size)

    @property
    def gamma(self) -> int:
        """How many tokens to propose next; 0 where proposing costs more than it saves."""
        return self.worth.best_gamma() if self._gamma is None else self._gamma

    def propose(
        self,
        prompt: Sequence[int],
        output: Sequence[int],
        count: int,
        *,
        sampler: Sampler | None = None,
        confidence: float = 0.0,
    ) -> Proposal:
        """Propose up to `count` tokens behind prompt and output, greedily or drawn.

        Fewer where the model ends, where its highest probability is not above `confidence`, where the output would be
        a repetition loop, or where its context is full.
        """
        started = self.model.clock.now()
        written, distributions, end, unsure, passes = list(output), [], None, False, 0
        while (
            len(written) - len(output) < count
            and len(prompt) + len(written) <= self.model.context_tokens
            and not loop_length(written)
        ):
            row = self.model.evaluate([*prompt, *written]).logits[-1][: self._vocabulary_size]
            passes += 1
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
        self.worth.add_draft(passes, seconds)
        return Proposal(tuple(written[len(output) :]), end, tuple(distributions), unsure, passes, seconds)


class Worth:
    """What proposing is worth, measured: the acceptance rate, and the costs of the passes of both models.

    A target pass over n tokens is taken to cost a + b n seconds, by least squares over the passes so far; long ones,
    which evaluated a prompt too, are left out, because they cost less a token. Passes without a proposal fade what is
    known of the acceptance rate, so that a draft model that did not pay is asked again after some hundred tokens.
    """

    def __init__(self) -> None:
        self._accepted = self._judged = 0.0
        self._draft_seconds = self._draft_passes = 0.0
        self._passes = np.zeros((2, 2))
        self._products = np.zeros(2)

    def add_draft(self, passes: int, seconds: float) -> None:
        self._draft_passes = _MEMORY * self._draft_passes + passes
        self._draft_seconds = _MEMORY * self._draft_seconds + seconds

    def add_pass(self, accepted: int, rejected: bool, evaluated_tokens: int, seconds: float) -> None:
        """Take in one pass of the target: what it accepted, whether it rejected a token, and what it cost."""
        self._accepted = _MEMORY * self._accepted + accepted
        self._judged = _MEMORY * self._judged + accepted + rejected
        if evaluated_tokens > MOST_GAMMA + 1:
            return
        values = np.array([1.0, evaluated_tokens])
        self._passes = _MEMORY * self._passes + np.outer(values, values)
        self._products = _MEMORY * self._products + seconds * values

    @property
    def acceptance_rate(self) -> float:
        """alpha: tokens accepted / tokens judged."""
        return (self._accepted + _PRIOR_ACCEPTED) / (self._judged + _PRIOR_JUDGED)

    def best_gamma(self) -> int:
        """Return the gamma with the most tokens a second; 4 until passes of two lengths have been measured."""
        if not self._draft_passes or np.linalg.cond(self._passes) > 1e12:
            return 4
        fixed, each = np.linalg.solve(self._passes, self._products)
        step = self._draft_seconds / self._draft_passes

        def tokens_per_second(gamma: int) -> float:
            seconds = max(float(fixed), 0.0) + max(float(each), 0.0) * (gamma + 1) + gamma * step
            return expected_tokens(self.acceptance_rate, gamma) / max(seconds, 1e-9)

        return max(range(MOST_GAMMA + 1), key=tokens_per_second)


def expected_tokens(acceptance_rate: float, gamma: int) -> float:
    """Return a target pass's tokens, (1 - alpha^(gamma + 1)) / (1 - alpha), if each is accepted independently.

    Source: *Fast Inference from Transformers via Speculative Decoding* (arXiv 2211.17192, equation 1).
    """
    return sum((acceptance_rate**count for count in range(gamma + 1)), 0.0)


def first_mismatch(rows: NDArray[np.float32], proposal: Proposal) -> tuple[int, int]:
    """Return how many tokens come before the first that is not the target's own choice, and that choice.

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
