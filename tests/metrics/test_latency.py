"""Delays of re-translated units, AL, LAAL and the lag of words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.metrics.latency import average_lagging, length_adaptive_average_lagging, stable_delays

OUTPUTS = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=6)
DELAYS = st.lists(st.integers(1, 20), min_size=1, max_size=12).map(sorted)


@given(OUTPUTS)
def test_a_delay_is_the_first_update_after_which_nothing_up_to_the_unit_changes(outputs: list[list[int]]) -> None:
    delays = stable_delays([float(index) for index in range(len(outputs))], outputs)
    final = outputs[-1]
    assert len(delays) == len(final)
    for position, delay in enumerate(delays):
        stable = [output[: position + 1] == final[: position + 1] for output in outputs]
        assert all(stable[int(delay) :])
        assert delay == 0 or not stable[int(delay) - 1]
    assert delays == sorted(delays), "AL and LAAL need delays that never fall along the output"


def test_lists_and_tuples_of_the_same_units_are_the_same_output() -> None:
    assert stable_delays([1.0, 2.0], [("a", "b"), ["a", "b"]]) == [1.0, 1.0]


def test_every_output_needs_its_time() -> None:
    with pytest.raises(ValueError):
        stable_delays([1.0], [["a"], ["b"]])


@given(st.integers(1, 8), st.integers(1, 30))
def test_wait_k_lags_by_k(k: int, length: int) -> None:
    """STACL's own check: wait-k on equally long sentences reads k ahead, so AL is k until the source ends."""
    delays = [float(min(k + index, length)) for index in range(length)]
    assert average_lagging(delays, length, length) == pytest.approx(min(k, length))


def test_the_units_after_the_source_ended_do_not_count() -> None:
    assert average_lagging([1.0, 4.0, 4.0, 4.0], 4, 4) == pytest.approx((1 + 3) / 2)


@given(DELAYS, st.integers(1, 25), st.integers(1, 25))
def test_only_writing_more_than_the_reference_tells_laal_from_al(
    delays: list[float], source_length: int, reference_length: int
) -> None:
    al = average_lagging(delays, source_length, reference_length)
    laal = length_adaptive_average_lagging(delays, source_length, reference_length)
    if len(delays) <= reference_length:
        assert laal == al
    else:
        assert laal >= al - 1e-9


@given(DELAYS, st.integers(20, 25), st.integers(1, 25), st.floats(0.5, 4))
def test_lagging_has_the_unit_of_its_delays(delays: list[float], source: int, reference: int, factor: float) -> None:
    scaled = average_lagging([factor * delay for delay in delays], factor * source, reference)
    assert scaled == pytest.approx(factor * average_lagging(delays, source, reference))


@pytest.mark.parametrize(("delays", "source", "reference"), [([], 1, 1), ([1.0], 0, 1), ([1.0], 1, 0)])
def test_what_has_no_length_has_no_lag(delays: list[float], source: float, reference: int) -> None:
    with pytest.raises(ValueError):
        average_lagging(delays, source, reference)
