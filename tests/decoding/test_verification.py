"""How many draft tokens are accepted: the shortcut of `is_kept` against the paper's biased vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.decoding.verification import accepted_length, is_kept
from livetrans.lm.rows import Logits

_logits = st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=12)


def _accepted(logits: np.ndarray, draft: list[int], bias: float) -> int:
    return accepted_length(Logits(logits), draft, bias)


def _probabilities(row: np.ndarray) -> np.ndarray:
    exponents = np.exp(row.astype(np.float64) - float(row.max()))
    return exponents / exponents.sum()


@given(_logits, st.data(), st.floats(0.01, 0.99))
def test_a_kept_token_is_the_argmax_of_the_biased_vector(values: list[float], data: st.DataObject, bias: float) -> None:
    row = np.array(values, dtype=np.float32)
    token = data.draw(st.integers(0, len(values) - 1))
    biased = (1 - bias) * _probabilities(row)
    biased[token] += bias
    if np.isclose(biased[token], np.delete(biased, token).max(), atol=1e-6):
        return  # a tie within rounding: decided by the rule below
    assert (is_kept(Logits(row[None]), 0, token, bias) or row.argmax() == token) == (biased.argmax() == token)


def test_ties_go_to_the_argmax_at_bias_zero_and_to_the_draft_above() -> None:
    row = np.array([1.0, 1.0], dtype=np.float32)
    assert _accepted(np.stack([row, row]), [1], 0.0) == 0
    assert _accepted(np.stack([row, row]), [1], 0.01) == 1


@pytest.mark.parametrize("bias", [0.5, 0.7, 1.0])
@given(st.lists(st.lists(st.floats(-20, 20, width=32), min_size=4, max_size=4), min_size=2, max_size=9))
def test_from_half_on_the_draft_is_kept_whole(bias: float, rows: list[list[float]]) -> None:
    logits = np.array(rows, dtype=np.float32)
    draft = [int(row.argmin()) for row in logits[:-1]]
    assert _accepted(logits, draft, bias) == len(draft)


@given(st.lists(st.lists(st.floats(-4, 4, width=32), min_size=5, max_size=5), min_size=1, max_size=8), st.data())
def test_more_bias_never_accepts_less(rows: list[list[float]], data: st.DataObject) -> None:
    logits = np.array(rows, dtype=np.float32)
    draft = [data.draw(st.integers(0, 4)) for _ in rows[:-1]]
    accepted = [_accepted(logits, draft, bias) for bias in (0.0, 0.1, 0.2, 0.3, 0.45, 0.5, 1.0)]
    assert accepted == sorted(accepted)
