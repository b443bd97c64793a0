"""The decoding loop that the decoders share, in the order of the paper's Algorithm 1.

Source: *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2), Algorithm 1: evaluate the
prompt's rest and the draft in one pass (line 3), accept the draft up to the divergence (lines 4 to 12), decode greedily
from there to the end (lines 13 to 17). A decoder calls `freeze`, `verify`, `force` and `step` as it needs them, and
ends with `finish`. With a draft model, what comes after the divergence is proposed by it and verified: the future work
of that paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from livetrans.base.sequences import loop_length
from livetrans.decoding.drafting import DraftModel, Proposal, first_mismatch, rejection_sampling
from livetrans.decoding.stopping import Stop
from livetrans.decoding.verification import Sampler, accepted_length
from livetrans.events import DRAFT_MODEL, DecodingStats, Span
from livetrans.lm.port import Counts, LanguageModel
from livetrans.lm.rows import Logits, Rows

Review = Callable[[NDArray[np.float32], Proposal], tuple[int, int]]
"""Returns, from the target's rows (tokens + 1, vocabulary), the number of accepted tokens and the next token."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The segment's previous output, from which the next one is drafted."""

    tokens: tuple[int, ...] = ()
    prompt: tuple[int, ...] = ()
    source: tuple[int, ...] = ()
    hidden_tokens: int = 0
    """Last tokens that were not shown: to change them erases nothing."""
    doubted: int | None = None
    """The place from which its update would have changed shown tokens, and did not (`livetrans.decoding.keeping`)."""

    @property
    def shown_tokens(self) -> int:
        return len(self.tokens) - self.hidden_tokens


@dataclass(frozen=True, slots=True)
class Decoded:
    """Output token ids without the end of generation, the spans that came from a draft, and the cost."""

    tokens: tuple[int, ...]
    stats: DecodingStats
    accepted: tuple[Span, ...] = ()
    doubted: int | None = None
    """See `Draft.doubted`."""


class Decoding:
    """One unfinished decoding: the output so far, the model's next choice, and the counts.

    `source` is the part of the prompt that is to be translated. `maximum_tokens` caps drafts and output alike. Counts
    add up over all calls. Without a `sampler` decoding is greedy.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: Sequence[int],
        maximum_tokens: int,
        *,
        source: Sequence[int] = (),
        draft_model: DraftModel | None = None,
        sampler: Sampler | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.model = model
        self.draft_model = draft_model
        self.sampler = sampler
        self.prompt = list(prompt)
        self.source = source
        self.stop = stop
        self.maximum_tokens = maximum_tokens
        self.output: list[int] = []
        self.accepted: list[Span] = []
        self.is_stopped = False
        """Whether decoding stopped early; the output's last token is the one before which it did."""
        self._next: int | None = None
        self._row: tuple[Rows, int]
        """The row of the next choice."""
        self._counts: dict[str, float] = {}

    @property
    def is_over(self) -> bool:
        """Whether the output has reached the length cap or ends in a repetition loop."""
        return len(self.output) >= self.maximum_tokens or loop_length(self.output) > 0

    def anew(self) -> Decoding:
        """Return another decoding of the same update, which has not begun."""
        return Decoding(self.model, self.prompt, self.maximum_tokens, source=self.source, stop=self.stop)

    def restart(self, template: Sequence[int]) -> None:
        """Evaluate the prompt's template alone: moved cells stand out of order, which changes the rounding."""
        started = self.model.clock.now()
        cost = self.model.evaluate(template)
        self.count(
            forward_passes=cost.forward_passes,
            evaluated_tokens=cost.evaluated_tokens,
            prompt_seconds=self.model.clock.now() - started,
        )

    def freeze(self, draft: Draft, count: int) -> bool:
        """Accept the draft's first `count` tokens without evaluating them: their cells are moved after the prompt.

        Return False, and change nothing, if the model does not hold these cells or cannot move them. A move that
        evaluates the prompt's rest is a pass over prompt tokens alone.
        """
        started = self.model.clock.now()
        counts = self.model.move(self.prompt, (*draft.prompt, *draft.tokens[:count]), count)
        if counts is None:
            return False
        self._accept(draft.tokens[:count], count, "frozen")
        kind = "prompt_seconds" if counts.evaluated_tokens else "verification_seconds"
        self.count(counts, draft_tokens=count, frozen_tokens=count, **{kind: self.model.clock.now() - started})
        return True

    def verify(
        self,
        draft: Sequence[int],
        bias: float,
        *,
        forced_tokens: int = 0,
        until_end_of_generation: bool = False,
        cost: Callable[[int], float] | None = None,
    ) -> None:
        """Evaluate the draft, and what the cache lacks before it, in one pass; accept up to the divergence.

        The first `forced_tokens` are accepted whatever the model prefers. With `until_end_of_generation`, the tokens
        before the first place where the model would rather end are accepted, if there is such a place. `cost` is that
        of `accepted_length`, by the token's place in `draft`. The model's own choice after the last accepted token
        comes from the same pass.
        """
        draft = draft[: max(self.maximum_tokens - len(self.output), 0)]
        if not (draft or self.output):
            self._evaluate_last()
            return
        started = self.model.clock.now()
        # Forced tokens need no logits.
        unread = 0 if until_end_of_generation else min(forced_tokens, len(draft))
        evaluation = self.model.evaluate([*self.prompt, *self.output, *draft], len(draft) - unread + 1)
        rows = evaluation.rows
        ends = (at for at in range(len(draft) + 1) if self.model.is_end_of_generation(rows.choice(at)))
        length = next(ends, None) if until_end_of_generation else None
        if length is None:
            from_here = cost and (lambda at: cost(unread + at))
            length = unread + accepted_length(rows, draft[unread:], bias, from_here)
        self._accept(draft, length)
        self._choose(rows, length - unread)
        self.count_pass(evaluation, draft, started)

    def force(self, draft: Sequence[int]) -> None:
        """Accept the whole draft; only the row of logits after it is read."""
        self.verify(draft, 0.0, forced_tokens=len(draft))

    def step(self) -> bool:
        """Append the model's next choice; return False, and append nothing, if the output ends instead."""
        if self.is_over or self.is_stopped:
            return False
        token = self._evaluate_last() if self._next is None else self._next
        if self.model.is_end_of_generation(token):
            return False
        self.is_stopped = self.stop is not None and self.stop.is_before(*self._row, len(self.output))
        self.output.append(token)
        self._next = None
        return True

    def propose_and_review(self, count: int, review: Review, *, confidence: float = 0.0) -> None:
        """Propose up to `count` tokens with the draft model, then accept those that `review` allows, in one pass.

        If there is no proposal, nothing is evaluated and the next `step` decodes one token.
        """
        if self.draft_model is None or self._next is not None:
            return
        room = self.maximum_tokens - len(self.output)
        proposal = self.draft_model.propose(
            self.prompt, self.output, min(count, room), sampler=self.sampler, confidence=confidence
        )
        self.count(
            proposed_tokens=len(proposal.judged),
            fallbacks=int(proposal.unsure),
            draft_seconds=proposal.seconds,
        )
        if proposal.judged:
            self._review(proposal, review)

    def _review(self, proposal: Proposal, review: Review) -> None:
        started = self.model.clock.now()
        tokens = proposal.tokens
        evaluation = self.model.evaluate([*self.prompt, *self.output, *tokens], len(tokens) + 1)
        length, self._next = review(evaluation.logits, proposal)
        self._row = evaluation.rows, length
        written = self._until_stop(evaluation.rows, length)
        self._accept(tokens, written, DRAFT_MODEL)
        accepted = length + (length == len(tokens) and proposal.end == self._next)
        rejected = accepted < len(proposal.judged)
        seconds = self.model.clock.now() - started
        self.count(
            evaluation, accepted_proposals=accepted, rejected_proposals=int(rejected), verification_seconds=seconds
        )

    def _until_stop(self, rows: Rows, length: int) -> int:
        """Return how many of `length` accepted tokens, which the rows predict, are written until decoding stops
        early.
        """
        written = len(self.output)
        for at in range(length):
            if self.stop is not None and self.stop.is_before(rows, at, written + at):
                self.is_stopped = True
                return at + 1
        return length

    def finish(self) -> Decoded:
        """Go on to the end of generation, the length cap, a repetition loop or an early stop.

        With a draft model by speculative decoding, without one token by token.
        """
        review = first_mismatch if self.sampler is None else partial(rejection_sampling, sampler=self.sampler)
        while not (self.is_over or self.is_stopped):
            if self.draft_model is not None:
                self.propose_and_review(self.draft_model.gamma, review)
            if not self.step():
                break
        return self.decoded()

    def choose(self, row: NDArray[np.float32]) -> int:
        """Return the model's choice from its logits (vocabulary,): the argmax, or a draw."""
        return int(row.argmax()) if self.sampler is None else self.sampler.draw(self.sampler.distribution(row))

    def decoded(self, *, truncated: bool | None = None) -> Decoded:
        """Return the output so far; give `truncated` if the output itself does not show whether it was cut off."""
        accepted = sum(span.end - span.begin for span in self.accepted if span.draft != DRAFT_MODEL)
        stats = DecodingStats(
            prompt_tokens=len(self.prompt),
            accepted_tokens=accepted,
            output_tokens=len(self.output),
            truncated=self.is_over if truncated is None else truncated,
            stopped=self.is_stopped,
            expected_tokens=self.stop.expected_tokens if self.stop and self.is_stopped else 0.0,
            **self._counts,  # type: ignore[arg-type]
        )
        return Decoded(tuple(self.output), stats, tuple(self.accepted))

    def _evaluate_last(self) -> int:
        """Evaluate the context's rest without a draft: first the prompt, later one new token. Return the choice."""
        started = self.model.clock.now()
        evaluation = self.model.evaluate([*self.prompt, *self.output])
        choice = self._choose(evaluation.rows, -1)
        if self.output:
            seconds = self.model.clock.now() - started
            first = {} if "decoding_steps" in self._counts else {"first_step_seconds": seconds}
            self.count(evaluation, decoding_steps=1, decoding_seconds=seconds, **first)
        else:
            self.count_pass(evaluation, (), started)
        return choice

    def _choose(self, rows: Rows, row: int) -> int:
        choice = rows.choice(row)
        if self.sampler is not None and isinstance(rows, Logits):
            choice = self.choose(rows.logits[row])
        self._next, self._row = choice, (rows, row)
        return choice

    def _accept(self, draft: Sequence[int], length: int, name: str = "previous") -> None:
        if length:
            self.accepted.append(Span(len(self.output), len(self.output) + length, name))
        self.output.extend(draft[:length])

    def count_pass(self, cost: Counts, draft: Sequence[int], started: float) -> None:
        """Count a pass over prompt and draft that began at `started`, by the model's clock."""
        kind = "verification_seconds" if draft else "prompt_seconds"
        self.count(cost, draft_tokens=len(draft), **{kind: self.model.clock.now() - started})

    def count(self, cost: Counts | None = None, **counts: float) -> None:
        """Add the cost of a call of the model, and counts named as in `DecodingStats`."""
        if cost:
            if "reused_tokens" not in self._counts:
                counts["reused_tokens"] = min(cost.reused_tokens, len(self.prompt))
            counts["forward_passes"] = cost.forward_passes
            counts["evaluated_tokens"] = cost.evaluated_tokens
        for name, count in counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
