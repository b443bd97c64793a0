"""Properties of the decoders on scripted models: which output, which counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from livetrans.base.sequences import LOOP_REPEATS, common_prefix_length, loop_length
from livetrans.config import DecodingSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft
from tests.lm.scripted import END, SOURCE, TARGET, ScriptedModel, hashed_rule, prompt_of, word_by_word_rule

ANEW = ("rt", "spec", "bild")
"""Decoders that do not use the previous output; without a draft model they are re-translation."""
ONE_BY_ONE = sorted(name for name, row in DECODERS.items() if not row.has_own_model)
"""Those that write a token a step."""

_sources = st.lists(st.integers(4, 20), min_size=1, max_size=8)


def _decode(
    model: ScriptedModel,
    method: str,
    source: Sequence[int],
    draft: Sequence[int] = (),
    bias: float = 0.0,
    maximum: int = 20,
) -> Decoded:
    settings = DecodingSettings(method=method, bias=bias)
    decoding = Decoding(model, prompt_of(list(source)), maximum)
    return DECODERS[method].decode(decoding, Draft(tuple(draft)), settings)


def _stream(model: ScriptedModel, method: str, source: list[int], bias: float, maximum: int = 24) -> list[Decoded]:
    """Decode the growing prefixes of a source, each with the previous output as its draft."""
    outputs: list[Decoded] = []
    for length in range(1, len(source) + 1):
        draft = outputs[-1].tokens if outputs else ()
        outputs.append(_decode(model, method, source[:length], draft, bias, maximum))
    return outputs


def _model(seed: int) -> ScriptedModel:
    return ScriptedModel(hashed_rule(seed), vocabulary_size=24)


@given(_sources, st.integers(0, 99))
def test_ssbd_without_bias_writes_what_retranslation_writes(source: list[int], seed: int) -> None:
    plain = _stream(_model(seed), "rt", source, 0.0)
    fast = _stream(_model(seed), "ssbd", source, 0.0)
    assert [one.tokens for one in fast] == [one.tokens for one in plain]


@given(_sources, st.integers(0, 99), st.sampled_from([0.5, 0.8, 1.0]))
def test_ssbd_from_half_on_is_continuous_decoding(source: list[int], seed: int, bias: float) -> None:
    forced = _stream(_model(seed), "cd", source, 0.0)
    biased = _stream(_model(seed), "ssbd", source, bias)
    assert [one.tokens for one in biased] == [one.tokens for one in forced]


@given(_sources, st.integers(0, 99))
def test_continuous_decoding_only_appends(source: list[int], seed: int) -> None:
    outputs = _stream(_model(seed), "cd", source, 0.0)
    for before, after in pairwise(outputs):
        assert after.tokens[: len(before.tokens)] == before.tokens


@pytest.mark.parametrize("method", ONE_BY_ONE)
@given(_sources, st.integers(0, 99), st.sampled_from([0.0, 0.2, 0.6]))
def test_counts_add_up(method: str, source: list[int], seed: int, bias: float) -> None:
    outputs = _stream(_model(seed), method, source, bias)
    draft: tuple[int, ...] = ()
    for length, one in enumerate(outputs, start=1):
        stats = one.stats
        assert stats.output_tokens == len(one.tokens)
        assert stats.prompt_tokens == length + 3
        if method == "prefix":  # It gives a part of the draft to the model.
            assert stats.draft_tokens <= len(draft)
        else:
            assert stats.draft_tokens == (0 if method in ANEW else len(draft))
        assert one.tokens[: stats.accepted_tokens] == draft[: stats.accepted_tokens]
        assert stats.accepted_tokens <= min(stats.draft_tokens, stats.output_tokens)
        assert stats.forward_passes == 1 + stats.decoding_steps
        # Every new token but the one the first pass chose costs a step; so does learning that the output ends.
        new = stats.output_tokens - stats.accepted_tokens
        assert stats.decoding_steps == new - int(stats.truncated and new > 0)
        assert 0 not in one.tokens
        draft = one.tokens


@given(_sources, st.integers(0, 99), st.integers(1, 6), st.sampled_from(sorted(DECODERS)))
def test_the_cap_holds_for_drafts_and_outputs(source: list[int], seed: int, maximum: int, method: str) -> None:
    endless = hashed_rule(seed)

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = endless(model, context)
        logits[END] = -50.0
        return logits

    model = ScriptedModel(rule, vocabulary_size=24, double=DECODERS[method].has_own_model)
    for one in _stream(model, method, source, 0.2, maximum):
        assert len(one.tokens) == maximum
        assert one.stats.draft_tokens <= maximum
        assert one.stats.truncated


def test_a_fully_accepted_draft_goes_on_to_the_end() -> None:
    model = ScriptedModel(word_by_word_rule(unsure_of_last=False))
    source = model.tokenize("one two three")
    draft = tuple(model.tokenize("ONE"))
    decoded = _decode(model, "ssbd", source, draft, 0.2)
    assert model.detokenize(decoded.tokens) == b" ONE TWO THREE"
    assert decoded.stats.accepted_tokens == 1


def test_only_the_changed_source_is_evaluated_again() -> None:
    model = ScriptedModel(word_by_word_rule())
    first, second = model.tokenize("one two three"), model.tokenize("one two four five")
    _decode(model, "rt", first)
    stats = _decode(model, "rt", second).stats
    assert stats.reused_tokens == 4  # begin, source mark, one, two


@pytest.mark.parametrize("bias", [0.0, 0.2])
def test_time_is_split_by_kind_of_pass(bias: float) -> None:
    model = ScriptedModel(word_by_word_rule(), seconds_per_pass=1.0)
    source = model.tokenize("one two three")
    for draft, kind in (((), "prompt_seconds"), (tuple(model.tokenize("ONE X")), "verification_seconds")):
        stats = _decode(model, "ssbd", source, draft, bias).stats
        assert getattr(stats, kind) == 1.0
        assert stats.prompt_seconds + stats.verification_seconds == 1.0
        assert stats.decoding_seconds == stats.decoding_steps
        assert stats.total_seconds == stats.forward_passes


@given(st.lists(st.integers(1, 9), max_size=12), st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_a_loop_is_found_behind_its_first_occurrence(before: list[int], phrase: list[int]) -> None:
    looping = [*before, *(phrase * LOOP_REPEATS)]
    cut = looping[: len(looping) - loop_length(looping)]
    assert len(cut) < len(looping)
    assert cut == looping[: len(cut)]


def test_a_few_repetitions_are_not_a_loop() -> None:
    for tokens in ([1] * 7, [1, 2] * 7, [5, *[1, 2, 3] * 5], []):
        assert loop_length(tokens) == 0


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_every_decoder_ends_a_loop_at_the_same_token(method: str) -> None:
    def endless(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = np.zeros(model.vocabulary_size, dtype=np.float32)
        written = len(context) - 1 - context.index(TARGET)
        logits[10 + min(written, 3)] = 5.0
        return logits

    outputs = _stream(ScriptedModel(endless, vocabulary_size=24), method, [4, 5, 6], 0.2, maximum=60)
    for one in outputs:
        assert one.tokens == (10, 11, 12, *[13] * LOOP_REPEATS)
        assert one.stats.truncated


@given(st.integers(2, 5), st.integers(1, 3), st.sampled_from([("cd", 0.0), ("ssbd", 0.5)]))
def test_loops_erase_nothing_that_was_forced(updates: int, phrase: int, method: tuple[str, float]) -> None:
    """The loop grows with the source: each update writes the phrase more often than the one before."""

    def growing(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = np.zeros(model.vocabulary_size, dtype=np.float32)
        spoken = context.index(TARGET) - context.index(SOURCE) - 1
        written = len(context) - 1 - context.index(TARGET)
        logits[10 + written % phrase if written < 5 * phrase * spoken else END] = 5.0
        return logits

    model = ScriptedModel(growing, vocabulary_size=24)
    outputs = _stream(model, method[0], list(range(4, 4 + updates)), method[1], maximum=90)
    for before, after in pairwise(outputs):
        assert after.tokens[: len(before.tokens)] == before.tokens


def test_a_change_of_shown_words_takes_two_updates_of_different_sources() -> None:
    source, shown = [4, 5, 6], (7, 8, 9, 10)
    settings, prompt = DecodingSettings(method="prefix"), prompt_of(source)

    def decoded(draft: Draft) -> Decoded:
        return DECODERS["prefix"].decode(Decoding(_model(3), prompt, 20, source=source), draft, settings)

    first = decoded(Draft(shown, tuple(prompt), tuple(source)))
    assert first.doubted is not None and first.tokens[:4] == shown
    assert decoded(Draft(shown, tuple(prompt), tuple(source), doubted=first.doubted)).tokens[:4] == shown
    changed = decoded(Draft(shown, tuple(prompt_of(source[:2])), tuple(source[:2]), doubted=first.doubted))
    assert common_prefix_length(changed.tokens, shown) == first.doubted
