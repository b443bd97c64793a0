"""Draft acceptance: how much of the draft was kept, and how much of the output did not have to be decoded."""

from __future__ import annotations

from livetrans.events import DecodingStats


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
