"""What a draft model did in a run: how much was accepted, and how many tokens a pass of the target gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livetrans.bench.runfile import MethodRecord, Update
from livetrans.decoding.drafting import expected_tokens
from livetrans.metrics.rates import Acceptance


@dataclass(frozen=True, slots=True)
class Drafting:
    """Of one method over all its updates; None where a figure has no meaning."""

    acceptance_rate: float | None
    """alpha: proposed tokens accepted / judged, that is accepted or the first rejected one of a pass; ends included."""
    tokens_per_pass: float
    """Tokens written, ends included, less those of the previous output, / passes of the target."""
    expected_per_pass: float | None
    """What the formula says of alpha and gamma; None where gamma is not fixed."""
    fallbacks: float
    """Times that the draft model was too unsure / tokens written."""
    rollbacks: float
    """Passes that rejected a proposed token / tokens written."""
    proposed: float
    """Tokens proposed / tokens written."""
    draft_time: float | None
    """The draft model's share of the time of generation, 0..1."""


def measure_drafting(method: MethodRecord, updates: Sequence[Update]) -> Drafting | None:
    """None where no draft model proposed anything."""
    stats = [update.stats for update in updates]
    proposed = sum(one.proposed_tokens for one in stats)
    if not proposed:
        return None
    written = sum(one.output_tokens - one.accepted_tokens + (not one.truncated) for one in stats)
    acceptance = Acceptance()
    for one in stats:
        acceptance.add(one)
    rate = acceptance.per_proposal
    seconds = sum(one.generation_seconds for one in stats)
    return Drafting(
        acceptance_rate=rate,
        tokens_per_pass=written / sum(one.forward_passes for one in stats),
        expected_per_pass=expected_tokens(rate, method.gamma) if method.gamma and rate is not None else None,
        fallbacks=sum(one.fallbacks for one in stats) / written,
        rollbacks=sum(one.rejected_proposals for one in stats) / written,
        proposed=proposed / written,
        draft_time=sum(one.draft_seconds for one in stats) / seconds if seconds else None,
    )
