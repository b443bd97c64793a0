"""Big Little Decoder on scripted models: what its two policies guarantee."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import DecodingSettings, SamplingSettings
from livetrans.decoding import Decoded, Decoding, Draft, DraftModel
from livetrans.decoding.drafting import MOST_SMALL_TOKENS, bild
from livetrans.decoding.verification import Sampler, log_probability
from livetrans.events import DRAFT_MODEL
from tests.lm.scripted import BEGIN, END, SOURCE, TARGET, ScriptedModel, hashed_rule, noisy_rule

_PROMPT = [BEGIN, SOURCE, 5, 6, TARGET]
_seeds = st.integers(0, 999)
_noises = st.sampled_from([0.0, 0.3, 1.0, 3.0])


def _target(seed: int) -> ScriptedModel:
    return ScriptedModel(hashed_rule(seed), vocabulary_size=24)


def _decode(seed: int, noise: float, fallback: float, rollback: float, sampler: Sampler | None = None) -> Decoded:
    small = ScriptedModel(noisy_rule(hashed_rule(seed), noise), vocabulary_size=24)
    decoding = Decoding(_target(seed), _PROMPT, 40, draft_model=DraftModel(small, 4), sampler=sampler)
    return bild(decoding, Draft(), DecodingSettings(method="bild", fallback=fallback, rollback=rollback))


def _greedy(seed: int) -> tuple[int, ...]:
    return Decoding(_target(seed), _PROMPT, 40).finish().tokens


@given(_seeds, _noises, st.floats(0, 1))
def test_a_rollback_at_zero_gives_the_targets_greedy_text(seed: int, noise: float, fallback: float) -> None:
    assert _decode(seed, noise, fallback, 0.0).tokens == _greedy(seed)


@given(_seeds, _noises, st.floats(0, 20))
def test_fallback_always_gives_the_targets_text(seed: int, noise: float, rollback: float) -> None:
    decoded = _decode(seed, noise, 1.0, rollback)
    assert decoded.tokens == _greedy(seed)
    assert decoded.stats.proposed_tokens == 0
    assert decoded.stats.fallbacks == decoded.stats.draft_passes


@given(_seeds, _noises, st.floats(0, 0.5), st.floats(0, 6))
def test_no_token_over_the_threshold_is_kept(seed: int, noise: float, fallback: float, rollback: float) -> None:
    decoded = _decode(seed, noise, fallback, rollback)
    target = _target(seed)
    small = {place for span in decoded.accepted for place in range(span.begin, span.end)}
    for place in range(len(decoded.tokens)):
        row = target.evaluate([*_PROMPT, *decoded.tokens[:place]]).logits[-1]
        distance = -log_probability(row, decoded.tokens[place])
        assert distance <= rollback if place in small else decoded.tokens[place] == row.argmax()
    if not decoded.stats.truncated:
        row = target.evaluate([*_PROMPT, *decoded.tokens]).logits[-1]
        assert -log_probability(row, END) <= rollback or row.argmax() == END


@given(_seeds, _noises)
def test_without_policies_the_small_model_writes(seed: int, noise: float) -> None:
    """No fallback, no rollback: the large model writes one token after every ten of the small one."""
    decoded = _decode(seed, noise, 0.0, 1e9)
    small = ScriptedModel(noisy_rule(hashed_rule(seed), noise), vocabulary_size=24)
    for place, token in enumerate(decoded.tokens):
        if place % (MOST_SMALL_TOKENS + 1) != MOST_SMALL_TOKENS:
            assert token == small.evaluate([*_PROMPT, *decoded.tokens[:place]]).logits[-1].argmax()
    assert decoded.stats.rejected_proposals == decoded.stats.fallbacks == 0
    assert all(span.draft == DRAFT_MODEL and span.end - span.begin <= MOST_SMALL_TOKENS for span in decoded.accepted)


@given(_seeds, st.integers(0, 99), st.floats(0.1, 0.9))
def test_drawn_tokens_are_in_the_nucleus_of_the_model_that_wrote_them(seed: int, draws: int, top_p: float) -> None:
    settings = SamplingSettings(top_p=top_p, seed=draws)
    decoded = _decode(seed, 0.5, 0.1, 3.0, Sampler(settings))
    models = {False: _target(seed), True: ScriptedModel(noisy_rule(hashed_rule(seed), 0.5), vocabulary_size=24)}
    small = {place for span in decoded.accepted for place in range(span.begin, span.end)}
    for place, token in enumerate(decoded.tokens):
        row = models[place in small].evaluate([*_PROMPT, *decoded.tokens[:place]]).logits[-1]
        assert Sampler(settings).distribution(np.asarray(row))[token] > 0
