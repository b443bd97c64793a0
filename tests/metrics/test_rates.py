"""Acceptance, speed, lag and what is right before the final: ratios of sums, and silence where nothing was measured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.measures import meanwhile_score
from livetrans.events import DecodingStats
from livetrans.metrics.captions import DecodingRates
from livetrans.metrics.latency import MAXIMUM_VALUES, Distribution, percentile


def test_acceptance_is_a_ratio_of_sums() -> None:
    acceptance = DecodingRates()
    assert acceptance.per_draft is None and acceptance.per_output is None
    acceptance.add(DecodingStats(output_tokens=10))
    assert acceptance.per_draft is None and acceptance.per_output is None
    acceptance.add(DecodingStats(draft_tokens=10, accepted_tokens=8, output_tokens=12))
    acceptance.add(DecodingStats(draft_tokens=2, accepted_tokens=1, output_tokens=2))
    assert acceptance.per_draft == pytest.approx(9 / 12)
    assert acceptance.per_output == pytest.approx(9 / 24)


def test_a_draft_models_acceptance_is_kept_apart() -> None:
    acceptance = DecodingRates()
    acceptance.add(DecodingStats(draft_tokens=4, accepted_tokens=4, output_tokens=4))
    assert acceptance.per_proposal is None
    acceptance.add(DecodingStats(output_tokens=9, proposed_tokens=12, accepted_proposals=6, rejected_proposals=2))
    assert acceptance.per_proposal == pytest.approx(6 / 8)
    assert acceptance.per_draft == 1.0


def test_tokens_per_second_leave_the_prompt_out_and_count_verification() -> None:
    speed = DecodingRates()
    assert speed.tokens_per_second is None
    speed.add(DecodingStats(output_tokens=10, prompt_seconds=5.0, verification_seconds=0.5, decoding_seconds=1.5))
    assert speed.tokens_per_second == pytest.approx(5.0)
    speed.add(DecodingStats(output_tokens=6, verification_seconds=0.5, draft_seconds=1.5))
    assert speed.tokens_per_second == pytest.approx(4.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_percentile_is_the_smallest_value_that_enough_values_do_not_exceed(values: list[float], share: float) -> None:
    ordered = sorted(values)
    found = percentile(ordered, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    smaller = [value for value in values if value < found]
    assert not smaller or len(smaller) < share * len(values) + 1e-9


def test_median_of_known_values() -> None:
    distribution = Distribution()
    assert distribution.median is None
    for value in (5.0, 1.0, 4.0, 2.0):
        distribution.add(value)
    assert (distribution.median, distribution.percentile(0.95)) == (2.0, 5.0)


def test_a_distribution_is_of_the_last_values() -> None:
    distribution = Distribution()
    for value in range(3 * MAXIMUM_VALUES):
        distribution.add(float(value))
    assert distribution.percentile(0.0) == 2.0 * MAXIMUM_VALUES
    assert distribution.percentile(1.0) == 3.0 * MAXIMUM_VALUES - 1


REFERENCE = "Wir werden morgen über den neuen Plan für die Brücke sprechen."


def score(captions: Sequence[str], reference: str = REFERENCE) -> float:
    """Return the score of captions that come at equal intervals, the last of them when all is heard."""
    timed = [(caption, reference, number / len(captions), 1.0) for number, caption in enumerate(captions, start=1)]
    return meanwhile_score(timed) or 0.0


INTERPRETER = [REFERENCE[: round(share / 4 * len(REFERENCE))] for share in range(1, 5)]


def test_an_interpreter_who_keeps_up_has_nearly_everything() -> None:
    assert score(INTERPRETER) == pytest.approx(1.0, abs=0.05)


def test_waiting_and_guessing_are_not_rewarded() -> None:
    late = ["", *INTERPRETER[:-1]]
    guesses = [caption + " zu Hause mit Freunden Kuchen essen" for caption in INTERPRETER]
    for worse in (late, guesses):
        assert 0.0 < score(worse) < score(INTERPRETER) - 0.1
    assert score([""] * 4) == 0.0 and meanwhile_score([]) is None
    # A guess that happens to be right is no better than to keep up.
    assert score([REFERENCE] * 4) == pytest.approx(1.0)


def test_a_phrase_in_another_place_is_right_but_for_its_edges() -> None:
    assert 0.6 < score(["Morgen werden wir über den neuen Plan sprechen für die Brücke."]) < 1.0
    assert score(["本を買ったのは駅の近くの店で"], "駅の近くの店で本を買った") > 0.5


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20), st.floats(0, 2), st.just(0.8)), max_size=6))
def test_the_score_is_a_share(cases: list[tuple[str, str, float, float]]) -> None:
    assert 0.0 <= (meanwhile_score(cases) or 0.0) <= 1.0 + 1e-9
