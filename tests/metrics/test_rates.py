"""Acceptance, speed and lag: ratios of sums, and silence where nothing was measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Caption, DecodingStats, Notice, Record, Transcript
from livetrans.metrics.latency import Distribution, caption_lag, percentile
from livetrans.metrics.rates import MINIMUM_STEPS, Acceptance, Speed


def test_acceptance_is_a_ratio_of_sums() -> None:
    acceptance = Acceptance()
    assert acceptance.per_draft is None and acceptance.per_output is None
    acceptance.add(DecodingStats(output_tokens=10))
    assert acceptance.per_draft is None and acceptance.per_output is None
    acceptance.add(DecodingStats(draft_tokens=10, accepted_tokens=8, output_tokens=12))
    acceptance.add(DecodingStats(draft_tokens=2, accepted_tokens=1, output_tokens=2))
    assert acceptance.per_draft == pytest.approx(9 / 12)
    assert acceptance.per_output == pytest.approx(9 / 24)


def retranslation(prompt: int, output: int) -> DecodingStats:
    """A draftless update on a machine where a prompt token costs 1 ms and a decoding step 20 ms."""
    return DecodingStats(
        prompt_tokens=prompt + 5,
        reused_tokens=5,
        output_tokens=output,
        decoding_steps=output,
        prompt_seconds=prompt * 0.001,
        decoding_seconds=output * 0.020,
    )


def test_tokens_per_second_leave_the_prompt_out_and_count_verification() -> None:
    speed = Speed()
    assert speed.tokens_per_second is None
    speed.add(DecodingStats(output_tokens=10, prompt_seconds=5.0, verification_seconds=0.5, decoding_seconds=1.5))
    assert speed.tokens_per_second == pytest.approx(5.0)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 40)), min_size=1, max_size=20))
def test_retranslation_is_estimated_as_fast_as_itself(updates: list[tuple[int, int]]) -> None:
    speed = Speed()
    for prompt, output in updates:
        speed.add(retranslation(prompt, output))
    if sum(output for _, output in updates) < MINIMUM_STEPS:
        assert speed.speedup_estimate is None
    else:
        assert speed.speedup_estimate == pytest.approx(1.0)


def test_tokens_that_were_verified_instead_of_decoded_make_the_speedup() -> None:
    speed = Speed()
    speed.add(retranslation(prompt=20, output=40))
    speed.add(
        DecodingStats(
            prompt_tokens=25,
            reused_tokens=5,
            draft_tokens=40,
            accepted_tokens=40,
            output_tokens=50,
            decoding_steps=10,
            verification_seconds=0.080,
            decoding_seconds=0.200,
        )
    )
    expected = (2 * 0.020 + 90 * 0.020) / (0.820 + 0.280)
    assert speed.speedup_estimate == pytest.approx(expected)


def test_no_estimate_without_a_prompt_pass_to_calibrate_it() -> None:
    speed = Speed()
    speed.add(DecodingStats(draft_tokens=9, output_tokens=99, decoding_steps=90, decoding_seconds=2.0))
    assert speed.speedup_estimate is None


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
    assert distribution.median is None and distribution.last is None
    for value in (5.0, 1.0, 4.0, 2.0):
        distribution.add(value)
    assert (distribution.median, distribution.percentile(0.95), distribution.last) == (2.0, 5.0, 2.0)


@given(st.integers(0, 3000), st.integers(2, 64))
def test_a_distribution_is_bounded_and_stays_evenly_spread(count: int, maximum: int) -> None:
    distribution = Distribution(maximum)
    for value in range(count):
        distribution.add(float(value))
    assert distribution.kept <= maximum
    assert distribution.count == count
    if count:
        assert distribution.kept >= min(count, maximum // 2)
        median = distribution.median
        assert median is not None
        assert abs(median - count / 2) <= 2 * count / distribution.kept


def caption(captured_at: float | None) -> Caption:
    return Caption(Transcript(0, 0, "", "a", False, 0.0, 1.0, captured_at), "a", (1,))


def test_lag_runs_from_hearing_to_showing() -> None:
    assert caption_lag(Record(3.5, caption(2.0))) == 1.5
    assert caption_lag(Record(3.5, caption(None))) is None
    assert caption_lag(Record(3.5, Notice("info", "x"))) is None
