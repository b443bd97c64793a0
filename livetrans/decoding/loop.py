"""The decoding loop that all decoders share, in the order of the paper's Algorithm 1.

Source: *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2), Algorithm 1: evaluate the
prompt's rest and the draft in one pass (line 3), accept the draft up to the divergence (lines 4 to 12), decode greedily
from there to the end (lines 13 to 17). A decoder calls `verify`, `force` or `step` as often as it wants, and ends with
`finish`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livetrans.decoding.verification import accepted_length
from livetrans.events import DecodingStats, Span
from livetrans.sequences import loop_length

if TYPE_CHECKING:
    from livetrans.lm.port import Evaluation, LanguageModel


@dataclass(frozen=True, slots=True)
class Decoded:
    """Output token ids, end of generation excluded, which of them came from a draft, and what they cost."""

    tokens: tuple[int, ...]
    stats: DecodingStats
    accepted: tuple[Span, ...] = ()


class Decoding:
    """One decoding under way: the output as far as it is decided, the model's next choice, and the counts.

    `maximum_tokens` caps drafts and output alike. `stats` adds up over all calls.
    """

    def __init__(self, model: LanguageModel, prompt: Sequence[int], maximum_tokens: int) -> None:
        self.model = model
        self.prompt = list(prompt)
        self.maximum_tokens = maximum_tokens
        self.output: list[int] = []
        self.accepted: list[Span] = []
        self.stats = DecodingStats(prompt_tokens=len(self.prompt))
        self._next: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the output has reached the length cap or ends in a repetition loop."""
        return len(self.output) >= self.maximum_tokens or loop_length(self.output) > 0

    def verify(self, draft: Sequence[int], bias: float, name: str = "previous") -> int:
        """Evaluate what the cache lacks of prompt and output, and the draft, in one pass; accept up to the divergence.

        Returns how many draft tokens were accepted. The model's own choice behind them comes from the same pass.
        """
        draft = self._within_cap(draft)
        started = self.model.clock.now()
        evaluation = self.model.evaluate([*self.prompt, *self.output, *draft], len(draft) + 1)
        choices = evaluation.logits.argmax(axis=1)
        length = accepted_length(evaluation.logits, choices, draft, bias)
        self._accept(draft, length, int(choices[length]), evaluation, started, name)
        return length

    def force(self, draft: Sequence[int], name: str = "previous") -> None:
        """Accept the whole draft; one row of logits is read, the one behind it."""
        draft = self._within_cap(draft)
        started = self.model.clock.now()
        evaluation = self.model.evaluate([*self.prompt, *self.output, *draft])
        self._accept(draft, len(draft), int(evaluation.logits[-1].argmax()), evaluation, started, name)

    def step(self) -> bool:
        """Append the model's next choice; False, and nothing appended, where the output ends instead."""
        token = self._evaluate_last() if self._next is None else self._next
        self._next = token
        if self.is_over or self.model.is_end_of_generation(token):
            return False
        self.output.append(token)
        self._next = None
        return True

    def finish(self) -> Decoded:
        """Go on greedily to the end of generation, the length cap or a repetition loop."""
        while not self.is_over and self.step():
            pass
        return Decoded(
            tuple(self.output),
            replace(self.stats, output_tokens=len(self.output), truncated=self.is_over),
            tuple(self.accepted),
        )

    def _within_cap(self, draft: Sequence[int]) -> Sequence[int]:
        return draft[: max(self.maximum_tokens - len(self.output), 0)]

    def _evaluate_last(self) -> int:
        """Evaluate the context's rest without a draft: the prompt at the beginning, later one new token."""
        started = self.model.clock.now()
        evaluation = self.model.evaluate([*self.prompt, *self.output])
        choice = int(evaluation.logits[-1].argmax())
        seconds = self.model.clock.now() - started
        if self.output:
            self._count(evaluation, decoding_steps=1, decoding_seconds=seconds)
        else:
            self._count(evaluation, prompt_seconds=seconds)
        return choice

    def _accept(
        self, draft: Sequence[int], length: int, following: int, evaluation: Evaluation, started: float, name: str
    ) -> None:
        if length:
            self.accepted.append(Span(len(self.output), len(self.output) + length, name))
        self.output.extend(draft[:length])
        self._next = following
        seconds = self.model.clock.now() - started
        self._count(
            evaluation,
            draft_tokens=len(draft),
            accepted_tokens=length,
            verification_seconds=seconds if draft else 0.0,
            prompt_seconds=0.0 if draft else seconds,
        )

    def _count(self, evaluation: Evaluation, **counts: float) -> None:
        if not self.stats.forward_passes:
            counts["reused_tokens"] = min(evaluation.reused_tokens, len(self.prompt))
        counts["forward_passes"] = evaluation.forward_passes
        counts["evaluated_tokens"] = evaluation.evaluated_tokens
        self.stats = replace(self.stats, **{name: getattr(self.stats, name) + count for name, count in counts.items()})
