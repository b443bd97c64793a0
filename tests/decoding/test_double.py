"""Double-token bidirectional decoding on scripted models: pairs, halves, drafts, ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from livetrans.base.errors import ModelError
from livetrans.base.sequences import LOOP_REPEATS
from livetrans.config import DecodingSettings
from livetrans.decoding import Decoded, Decoding, Draft
from livetrans.decoding.double import double
from livetrans.lm.llama.double import TailPieces
from tests.lm.scripted import BEGIN, END, SOURCE, TARGET, ScriptedModel, hashed_rule, prompt_of

V = 24
_seeds = st.integers(0, 999)
_biases = st.sampled_from([0.0, 0.1, 0.3, 0.6])
_pieces = st.lists(st.integers(4, V - 1), max_size=14)


def _model(seed: int) -> ScriptedModel:
    return ScriptedModel(hashed_rule(seed), vocabulary_size=V, double=True)


def _decode(model: ScriptedModel, draft: Sequence[int] = (), bias: float = 0.0, maximum: int = 40) -> Decoded:
    decoding = Decoding(model, prompt_of([5, 6, 7]), maximum)
    return double(decoding, Draft(tuple(draft)), DecodingSettings(method="double", bias=bias))


def _pair_by_pair(model: ScriptedModel) -> tuple[list[int], list[int]]:
    """Both halves, each pair from an empty cache; the tail's from the last token inwards."""
    heads: list[int] = []
    tails: list[int] = []
    while True:
        pairs = [token for pair in zip(heads, (V + tail for tail in tails), strict=True) for token in pair]
        rows = model.evaluate([*prompt_of([5, 6, 7]), V + TARGET, *pairs], 2).logits
        head, tail = int(rows[0, :V].argmax()), int(rows[1, V:].argmax())
        if END in (head, tail):
            return heads + [head] * (head != END), tails + [tail] * (tail != END)
        heads.append(head)
        tails.append(tail)


@given(_seeds)
def test_the_halves_are_joined_in_reading_order(seed: int) -> None:
    heads, tails = _pair_by_pair(_model(seed))
    decoded = _decode(_model(seed))
    assert decoded.tokens == (*heads, *reversed(tails))
    assert not decoded.accepted
    # One pass a pair; the pair with the end is one of them, where it has no other token.
    pairs = max(len(heads), len(tails))
    assert decoded.stats.forward_passes in (pairs, pairs + 1)


@given(_seeds, _pieces)
def test_without_a_bias_no_draft_changes_the_output(seed: int, draft: list[int]) -> None:
    assert _decode(_model(seed), draft).tokens == _decode(_model(seed)).tokens


@given(_seeds)
def test_its_own_output_as_the_draft_is_verified_in_one_pass(seed: int) -> None:
    plain = _decode(_model(seed))
    again = _decode(_model(seed), plain.tokens)
    pairs = len(plain.tokens) // 2
    assert again.tokens == plain.tokens
    assert again.stats.draft_tokens == again.stats.accepted_tokens == 2 * pairs
    assert again.stats.forward_passes == 1


@given(_seeds, _pieces, st.sampled_from([0.5, 1.0]))
def test_from_half_on_both_halves_of_the_draft_stay(seed: int, draft: list[int], bias: float) -> None:
    pairs = len(draft) // 2
    tokens = _decode(_model(seed), draft, bias).tokens
    assert list(tokens[:pairs]) == draft[:pairs]
    assert list(tokens[len(tokens) - pairs :]) == draft[len(draft) - pairs :]


@given(_seeds, _pieces, _biases)
def test_what_counts_as_accepted_is_the_drafts(seed: int, draft: list[int], bias: float) -> None:
    decoded = _decode(_model(seed), draft, bias)
    for span in decoded.accepted:
        kept, length = list(decoded.tokens[span.begin : span.end]), span.end - span.begin
        is_head, is_tail = span.begin == 0, span.end == len(decoded.tokens)
        assert (is_head and kept == draft[:length]) or (is_tail and kept == draft[-length:])
    stats = decoded.stats
    assert stats.accepted_tokens == sum(span.end - span.begin for span in decoded.accepted) <= stats.draft_tokens
    assert stats.output_tokens == len(decoded.tokens)
    assert stats.forward_passes == 1 + stats.decoding_steps
    assert all(token < V for token in decoded.tokens)


@pytest.mark.parametrize("half", [0, 1])
def test_a_loop_in_either_half_ends_the_output(half: int) -> None:
    other = hashed_rule(3)

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = other(model, context)
        logits[END] = -50.0
        # The scripted model asks for the row of the tail with one token more.
        if (len(context) - context.index(TARGET)) % 2 == half:
            logits[9] = 50.0
        return logits

    decoded = _decode(ScriptedModel(rule, vocabulary_size=V, double=True))
    assert decoded.stats.truncated
    assert len(decoded.tokens) == 2 * LOOP_REPEATS


def test_a_draft_is_cut_where_its_tail_has_no_tail_piece() -> None:
    model = _model(1)
    model.tail_pieces = TailPieces(V, tuple(piece for piece in range(V) if piece != 10))
    decoding = Decoding(model, prompt_of([5]), 40)
    decoded = double(decoding, Draft((4, 5, 6, 10, 8)), DecodingSettings(method="double", bias=1.0))
    assert decoded.stats.draft_tokens == 2
    assert (decoded.tokens[0], decoded.tokens[-1]) == (4, 8)


def test_a_model_of_one_direction_is_refused() -> None:
    decoding = Decoding(ScriptedModel(hashed_rule()), [BEGIN, SOURCE, 5, TARGET], 40)
    with pytest.raises(ModelError, match="double-token"):
        double(decoding, Draft(), DecodingSettings(method="double"))
