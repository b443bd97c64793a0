"""Erasure and normalized erasure, equations 3 and 4."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.metrics.captions import OPEN_SEGMENTS, NormalizedErasure, erasure

TOKENS = st.lists(st.integers(0, 3), max_size=12)


@given(TOKENS, TOKENS)
def test_erasing_and_appending_gives_the_new_output(previous: list[int], current: list[int]) -> None:
    erased = erasure(previous, current)
    kept = len(previous) - erased
    assert 0 <= erased <= len(previous)
    assert previous[:kept] == current[:kept]
    assert kept == min(len(previous), len(current)) or previous[kept] != current[kept]


def test_any_kind_of_token_counts_in_its_own_unit() -> None:
    assert erasure("das Haus".split(), "das Heim".split()) == 1
    assert erasure("das Haus", "das Heim") == 3


def test_the_papers_sum_is_divided_by_the_final_length() -> None:
    ne = NormalizedErasure()
    outputs = [[1, 2], [1, 3, 4], [1, 3, 5, 6], [1, 3, 5, 6, 7]]
    for index, tokens in enumerate(outputs):
        ne.add(0, tokens, final=index == 3)
    assert ne.ratio_of_sums == pytest.approx(2 / 5)


def test_unfinished_segments_do_not_count_and_segments_do_not_mix() -> None:
    ne = NormalizedErasure()
    ne.add(0, [1, 2, 3], final=False)
    ne.add(1, [7], final=False)
    ne.add(0, [], final=False)
    assert ne.ratio_of_sums is None and ne.mean_per_utterance is None
    ne.add(1, [7, 8], final=True)
    assert ne.ratio_of_sums == 0.0


def test_the_ratio_of_sums_weighs_by_length_and_counts_a_final_without_tokens_and_the_mean_does_not() -> None:
    ne = NormalizedErasure()
    ne.add(0, [1, 2], final=False)
    ne.add(0, [], final=True)
    assert ne.ratio_of_sums is None
    ne.add(1, [1, 2, 3, 4], final=True)
    assert ne.ratio_of_sums == pytest.approx(2 / 4)
    assert ne.mean_per_utterance == 0.0
    ne.add(2, [9], final=False)
    ne.add(2, [1], final=True)
    assert ne.ratio_of_sums == pytest.approx(3 / 5)
    assert ne.mean_per_utterance == pytest.approx(1 / 2)


def test_segments_that_never_finish_are_forgotten() -> None:
    ne = NormalizedErasure()
    for segment_id in range(10 * OPEN_SEGMENTS):
        ne.add(segment_id, [segment_id], final=False)
    assert len(ne._open) <= OPEN_SEGMENTS
