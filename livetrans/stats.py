"""Counts and durations of a pass of the recogniser and of a decoding; part of the events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecognitionStats:
    """The cost of one pass of the recogniser."""

    audio_seconds_in_pass: float
    """Length of the sound that was recognised (source time, hence not a measured duration)."""
    pass_seconds: float


@dataclass(frozen=True, slots=True)
class DecodingStats:
    """Counts and durations of one decoding; rates are computed where they are shown.

    Seconds are taken around the evaluation, the reading of the logits and the arithmetic on them together (llama.cpp
    may return before the logits are there).
    """

    prompt_tokens: int = 0
    """Length of the whole prompt."""
    reused_tokens: int = 0
    """Leading prompt tokens that the cache already held."""
    draft_tokens: int = 0
    """Length of the draft; 0 for re-translation."""
    accepted_tokens: int = 0
    """Draft tokens that the output kept, frozen ones included."""
    frozen_tokens: int = 0
    """Draft tokens that were kept without being evaluated again (live window)."""
    output_tokens: int = 0
    """All tokens of the output, accepted ones included, end of generation excluded."""
    evaluated_tokens: int = 0
    """Tokens that went through the model, over all passes."""
    forward_passes: int = 0
    decoding_steps: int = 0
    """Passes over a single new token; `decoding_seconds / decoding_steps` is the machine's cost of one."""
    proposed_tokens: int = 0
    """Tokens that the draft model proposed, its ends of generation included; not part of `draft_tokens`."""
    accepted_proposals: int = 0
    """Those of them that the target accepted; not part of `accepted_tokens`."""
    rejected_proposals: int = 0
    """Target passes that rejected a token and dropped what was proposed after it (BiLD: rollbacks)."""
    fallbacks: int = 0
    """Times that the draft model was too unsure to propose a token (BiLD)."""
    draft_passes: int = 0
    """Passes of the draft model; `forward_passes` are the target's."""
    truncated: bool = False
    """Whether the output reached the length cap or a repetition loop, where decoding always ends."""
    stopped: bool = False
    """Whether decoding stopped early: the model chose the output's last token, but it is not due yet."""
    prompt_seconds: float = 0.0
    """Passes over prompt tokens alone, those for a move included."""
    verification_seconds: float = 0.0
    """Passes over draft tokens, and moves of frozen ones without passes."""
    decoding_seconds: float = 0.0
    """All single steps."""
    draft_seconds: float = 0.0
    """All passes of the draft model."""

    @property
    def generation_seconds(self) -> float:
        """All but the passes over prompt tokens alone."""
        return self.verification_seconds + self.decoding_seconds + self.draft_seconds

    @property
    def total_seconds(self) -> float:
        return self.prompt_seconds + self.generation_seconds
