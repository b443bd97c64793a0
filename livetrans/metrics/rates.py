"""Rates of decoding: draft acceptance, tokens per second as the paper counts them, and the speedup, estimated live."""

from __future__ import annotations

from livetrans.events import DecodingStats

MINIMUM_STEPS = 32
"""Single decoding steps needed before the estimate says anything: fewer do not give a stable cost of one."""


class Acceptance:
    """A/D and A/O as ratios of sums over updates."""

    def __init__(self) -> None:
        self.draft_tokens = 0
        self.accepted_tokens = 0
        self.output_tokens = 0

    def add(self, stats: DecodingStats) -> None:
        self.draft_tokens += stats.draft_tokens
        self.accepted_tokens += stats.accepted_tokens
        self.output_tokens += stats.output_tokens

    @property
    def per_draft(self) -> float | None:
        """A/D, accepted tokens / draft tokens, 0..1; None before the first draft."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens else None

    @property
    def per_output(self) -> float | None:
        """A/O, accepted tokens / output tokens, 0..1; None where nothing was drafted, since A/O has no meaning there.

        Updates without a draft count in the output: their tokens had to be decoded.
        """
        return self.accepted_tokens / self.output_tokens if self.draft_tokens and self.output_tokens else None


class Speed:
    """Sums over updates, from which rates are computed when they are shown."""

    def __init__(self) -> None:
        self.output_tokens = 0
        self.generation_seconds = 0.0
        self._total_seconds = 0.0
        self._evaluated_tokens = 0
        self._step_seconds = 0.0
        self._steps = 0
        self._prompt_pass_seconds = 0.0
        self._prompt_pass_tokens = 0

    def add(self, stats: DecodingStats) -> None:
        evaluated = max(stats.prompt_tokens - stats.reused_tokens, 0)
        self.output_tokens += stats.output_tokens
        self.generation_seconds += stats.verification_seconds + stats.decoding_seconds
        self._total_seconds += stats.total_seconds
        self._evaluated_tokens += evaluated
        self._step_seconds += stats.decoding_seconds
        self._steps += stats.decoding_steps
        if stats.prompt_seconds > 0:
            self._prompt_pass_seconds += stats.prompt_seconds
            self._prompt_pass_tokens += evaluated

    @property
    def tokens_per_second(self) -> float | None:
        """TPS: output tokens / (verification + decoding seconds); a pass over the prompt alone is left out (A.1)."""
        return self.output_tokens / self.generation_seconds if self.generation_seconds > 0 else None

    @property
    def speedup_estimate(self) -> float | None:
        """Estimated update time of re-translation for the same output / measured one, as a ratio of sums over updates.

        An estimate, because re-translation is not run: its time is put together from this run's own costs, the mean
        seconds per prompt token (passes without a draft) and per single decoding step, times the tokens it would have
        had to evaluate and decode. It assumes that re-translation would have written outputs of the same length and
        reused as much of the prompt, and that a step costs the same at every position. `replay --compare rt,ssbd`
        measures instead. None before `MINIMUM_STEPS` steps and one prompt pass without draft.
        """
        if self._steps < MINIMUM_STEPS or not self._prompt_pass_tokens or self._total_seconds <= 0:
            return None
        prompt_seconds = self._evaluated_tokens * self._prompt_pass_seconds / self._prompt_pass_tokens
        decoding_seconds = self.output_tokens * self._step_seconds / self._steps
        return (prompt_seconds + decoding_seconds) / self._total_seconds
