"""The decoder's shape and the greedy loop all decoders end in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from livetrans.decoding.repetition import loop_length
from livetrans.events import DecodingStats
from livetrans.lm.port import Evaluation, LanguageModel


@dataclass(frozen=True, slots=True)
class Decoded:
    """Output token ids, end of generation excluded, and what they cost."""

    tokens: tuple[int, ...]
    stats: DecodingStats


class Decoder(Protocol):
    """Turns a prompt and the segment's previous output into the next output; one file a decoder."""

    name: str

    def decode(self, prompt: Sequence[int], draft: Sequence[int], *, bias: float, maximum_tokens: int) -> Decoded:
        """`draft`: the previous output's ids, empty at a segment's first update; `maximum_tokens` caps draft and
        output.

        Raises:
            ContextError: prompt and output do not fit in the model's context.
        """


@dataclass(slots=True)
class Decoding:
    """One decoding under way: the context as far as it is decided, and its counts."""

    model: LanguageModel
    prompt: Sequence[int]
    maximum_tokens: int
    output: list[int] = field(default_factory=list)
    reused_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    forward_passes: int = 0
    decoding_steps: int = 0
    truncated: bool = False
    prompt_seconds: float = 0.0
    verification_seconds: float = 0.0
    decoding_seconds: float = 0.0

    def first_pass(self, draft: Sequence[int], last_rows: int) -> Evaluation:
        """Evaluate what the cache lacks of the prompt, and the draft, in one pass."""
        evaluation = self.model.evaluate([*self.prompt, *draft], last_rows)
        self.reused_tokens = min(evaluation.reused_tokens, len(self.prompt))
        self.draft_tokens = len(draft)
        self.forward_passes += evaluation.forward_passes
        if draft:
            self.verification_seconds += evaluation.seconds
        else:
            self.prompt_seconds += evaluation.seconds
        return evaluation

    def accept(self, tokens: Sequence[int]) -> None:
        self.output.extend(tokens)
        self.accepted_tokens = len(tokens)

    def finish(self, next_token: int) -> Decoded:
        """Go on greedily from an already chosen token to the end of generation, the length cap or a loop."""
        context = [*self.prompt, *self.output]
        while not self.model.is_end_of_generation(next_token):
            # Asked before too: a draft that was accepted whole may end as a loop did.
            if not self._is_over():
                self.output.append(next_token)
                context.append(next_token)
            if self._is_over():
                self.truncated = True
                break
            evaluation = self.model.evaluate(context)
            self.forward_passes += evaluation.forward_passes
            self.decoding_steps += 1
            self.decoding_seconds += evaluation.seconds
            next_token = int(evaluation.logits[-1].argmax())
        return Decoded(tuple(self.output), self._stats())

    def _is_over(self) -> bool:
        return len(self.output) >= self.maximum_tokens or loop_length(self.output) > 0

    def _stats(self) -> DecodingStats:
        return DecodingStats(
            prompt_tokens=len(self.prompt),
            reused_tokens=self.reused_tokens,
            draft_tokens=self.draft_tokens,
            accepted_tokens=self.accepted_tokens,
            output_tokens=len(self.output),
            forward_passes=self.forward_passes,
            decoding_steps=self.decoding_steps,
            truncated=self.truncated,
            prompt_seconds=self.prompt_seconds,
            verification_seconds=self.verification_seconds,
            decoding_seconds=self.decoding_seconds,
        )
