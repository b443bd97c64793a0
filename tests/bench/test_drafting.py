"""The figures of a draft model, by hand."""

from __future__ import annotations

from livetrans.bench.methods import parse_method
from livetrans.bench.rows import Drafting, measure_drafting
from livetrans.bench.runfile import Update
from livetrans.stats import DecodingStats


def _update(**counts: float) -> Update:
    stats = DecodingStats(**counts)  # type: ignore[arg-type]
    return Update(0, 0, "spec@4", 0, True, "a", (), "", (), stats, 1.0)


def test_figures_are_ratios_of_sums() -> None:
    first = {"output_tokens": 9, "proposed_tokens": 12, "accepted_proposals": 7, "rejected_proposals": 2}
    other = {"output_tokens": 10, "accepted_tokens": 5, "proposed_tokens": 3, "accepted_proposals": 1, "fallbacks": 4}
    updates = [
        _update(**first, forward_passes=3, draft_seconds=1.0, verification_seconds=3.0),
        _update(**other, forward_passes=5, truncated=True),
    ]
    alpha = 8 / 10
    written = 9 + 1 + 10 - 5  # with the end of the first, without what was accepted from the previous output
    assert measure_drafting(parse_method("spec@2"), updates) == Drafting(
        acceptance_rate=alpha,
        tokens_per_pass=written / 8,
        expected_per_pass=1 + alpha + alpha**2,
        fallbacks=4 / written,
        rollbacks=2 / written,
        proposed=15 / written,
        draft_time=0.25,
    )


def test_a_method_without_a_draft_model_has_none() -> None:
    assert measure_drafting(parse_method("rt"), [_update(output_tokens=9, forward_passes=3)]) is None
