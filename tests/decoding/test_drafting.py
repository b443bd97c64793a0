"""Draft models on scripted models: the text and the distribution of speculative decoding, and the policies of BiLD."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from livetrans.config import DecodingSettings, SamplingSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft, DraftModel, bild
from livetrans.decoding.drafting import MOST_SMALL_TOKENS, Proposal, rejection_sampling
from livetrans.decoding.verification import Sampler, log_probability
from livetrans.events import DRAFT_MODEL
from tests.lm.scripted import BEGIN, END, SOURCE, TARGET, ScriptedModel, hashed_rule, noisy_rule

_sources = st.lists(st.integers(4, 20), min_size=1, max_size=8)
_DRAFTED = sorted(name for name, row in DECODERS.items() if row.draft_model != "none" and name != "bild")


def _model(seed: int, noise: float | None = None) -> ScriptedModel:
    """A target model; with noise a draft model of it."""
    rule = hashed_rule(seed)
    return ScriptedModel(rule if noise is None else noisy_rule(rule, noise), vocabulary_size=24)


def _stream(method: str, source: list[int], seed: int, draft_model: DraftModel | None, bias: float) -> list[Decoded]:
    """Decode the growing prefixes of a source, each with the previous output as its draft; the last as a final."""
    model = _model(seed)
    outputs: list[Decoded] = []
    draft = Draft()
    for length in range(1, len(source) + 1):
        prompt = [BEGIN, SOURCE, *source[:length], TARGET]
        row = DECODERS[method]
        decode = row.final if row.final and length == len(source) else row.decode
        decoding = Decoding(model, prompt, 24, source=source[:length], draft_model=draft_model)
        outputs.append(decode(decoding, draft, DecodingSettings(method=method, bias=bias)))
        draft = Draft(outputs[-1].tokens, tuple(prompt), tuple(source[:length]))
    return outputs


@pytest.mark.parametrize("method", _DRAFTED)
@given(
    _sources,
    st.integers(0, 99),
    st.sampled_from([0.0, 0.3, 3.0]),
    st.sampled_from([1, 2, 5, 16]),
    st.sampled_from([0.0, 0.2]),
)
def test_a_draft_model_changes_no_text(
    method: str, source: list[int], seed: int, noise: float, gamma: int, bias: float
) -> None:
    draft_model = DraftModel(_model(seed, noise), gamma)
    plain = _stream(method, source, seed, None, bias)
    drafted = _stream(method, source, seed, draft_model, bias)
    assert [one.tokens for one in drafted] == [one.tokens for one in plain]


@given(_sources, st.integers(0, 99), st.sampled_from([0.0, 0.5, 3.0]), st.integers(1, 6))
def test_counts_add_up(source: list[int], seed: int, noise: float, gamma: int) -> None:
    draft_model = DraftModel(_model(seed, noise), gamma)
    for one in _stream("ssbd", source, seed, draft_model, 0.0):
        stats = one.stats
        lengths = {"previous": 0, DRAFT_MODEL: 0}
        for span in one.accepted:
            lengths[span.draft] += span.end - span.begin
        assert stats.accepted_tokens == lengths["previous"] <= stats.draft_tokens
        # An accepted end of generation is no token of the output.
        assert stats.accepted_proposals - lengths[DRAFT_MODEL] in (0, 1)
        assert stats.accepted_proposals + stats.rejected_proposals <= stats.proposed_tokens
        assert stats.output_tokens == len(one.tokens)
        assert stats.output_tokens <= sum(lengths.values()) + stats.forward_passes
        if noise == 0.0:
            assert stats.rejected_proposals == 0


def test_a_pass_gives_gamma_tokens_and_one() -> None:
    def counting(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = np.zeros(model.vocabulary_size, dtype=np.float32)
        written = len(context) - 1 - context.index(TARGET)
        logits[10 + written if written < 10 else END] = 5.0
        return logits

    target, small = (ScriptedModel(counting, vocabulary_size=24) for _ in range(2))
    decoding = Decoding(target, [BEGIN, SOURCE, 5, TARGET], 24, draft_model=DraftModel(small, 4))
    decoded = DECODERS["spec"].decode(decoding, Draft(), DecodingSettings())
    assert decoded.tokens == tuple(range(10, 20))
    assert decoded.stats.forward_passes == 3  # 5 + 5 + the end
    assert (decoded.stats.proposed_tokens, decoded.stats.accepted_proposals) == (9, 9)
    assert decoded.stats.decoding_steps == 0


def test_a_draft_model_whose_context_is_full_proposes_nothing() -> None:
    small = ScriptedModel(hashed_rule(3), vocabulary_size=24, context_tokens=6)
    target = _model(3)
    decoding = Decoding(target, [BEGIN, SOURCE, 5, 6, 7, 8, TARGET], 24, draft_model=DraftModel(small, 4))
    plain = Decoding(_model(3), decoding.prompt, 24).finish()
    decoded = decoding.finish()
    assert (decoded.tokens, decoded.stats.proposed_tokens) == (plain.tokens, 0)


_SAMPLING = SamplingSettings(temperature=0.8, top_k=5, top_p=0.95, seed=1)
_STEPS = 200
_TOKENS = 6


class _Scripted(Sampler):
    """Gives a number as its last uniform draw, 0 before, and keeps what it would have drawn from."""

    def __init__(self, last: float = 0.0, before: int = 0) -> None:
        super().__init__(_SAMPLING)
        self._numbers = [*[0.0] * before, last]
        self.weights = np.zeros(_TOKENS)

    def uniform(self) -> float:
        return self._numbers.pop(0)

    def draw(self, weights: NDArray[np.float64]) -> int:
        self.weights = weights / weights.sum()
        return -1


@pytest.mark.parametrize("place", [0, 1])
def test_drawn_tokens_have_the_targets_own_distribution(place: int) -> None:
    """Every token counts as often as the draft model draws it, with uniform draws in equal steps.

    The tokens before it are accepted: both models write them with the same probability.
    """
    random = np.random.default_rng(place)
    rows = random.normal(0.0, 1.5, (3, _TOKENS)).astype(np.float32)
    before = _Scripted().distribution(rows[0])
    p, q = (_Scripted().distribution(row) for row in (rows[place], rows[place] + random.normal(0.0, 1.0, _TOKENS)))
    written = np.zeros(_TOKENS)
    for token in np.flatnonzero(q):
        proposal = Proposal((*[int(before.argmax())] * place, int(token)), None, (*[before] * place, q))
        for step in range(_STEPS):
            sampler = _Scripted((step + 0.5) / _STEPS, place)
            length, _ = rejection_sampling(rows, proposal, sampler)
            written += q[token] / _STEPS * (np.eye(_TOKENS)[token] if length > place else sampler.weights)
    assert np.abs(written - p).sum() / 2 < 2 / _STEPS < 0.05 < np.abs(q - p).sum() / 2


_DRAWS = 20_000


@pytest.mark.long
def test_whole_outputs_have_the_targets_own_distribution() -> None:
    """Every round, the end of generation, and what comes after a rejection: outputs of up to two tokens, by counts."""
    rule = hashed_rule(5)
    target = ScriptedModel(rule, vocabulary_size=8)
    draft_model = DraftModel(ScriptedModel(noisy_rule(rule, 0.7), vocabulary_size=8), 2)
    prompt = [BEGIN, SOURCE, 5, TARGET]
    sampler = Sampler(_SAMPLING)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(_DRAWS):
        tokens = Decoding(target, prompt, 2, draft_model=draft_model, sampler=sampler).finish().tokens
        counts[tokens] = counts.get(tokens, 0) + 1

    def probability(tokens: tuple[int, ...]) -> float:
        likely = 1.0
        for place, token in enumerate((*tokens, END)[:2]):
            likely *= sampler.distribution(rule(target, [*prompt, *tokens[:place]]))[token]
        return likely

    expected = {tokens: probability(tokens) for tokens in counts}
    assert sum(expected.values()) == pytest.approx(1.0, abs=0.01)
    distance = sum(abs(counts[tokens] / _DRAWS - expected[tokens]) for tokens in counts) / 2
    error = sum(np.sqrt(2 / np.pi * p * (1 - p) / _DRAWS) for p in expected.values()) / 2
    assert distance < 3 * error


def _logits(*values: float) -> NDArray[np.float32]:
    return np.log(np.array(values, dtype=np.float32))


def test_top_k_and_top_p_keep_the_most_likely_tokens() -> None:
    row = _logits(0.1, 0.4, 0.2, 0.3)
    assert Sampler(SamplingSettings()).distribution(row) == pytest.approx([0.1, 0.4, 0.2, 0.3], abs=1e-6)
    assert Sampler(SamplingSettings(top_k=2)).distribution(row) == pytest.approx([0, 4 / 7, 0, 3 / 7], abs=1e-6)
    assert Sampler(SamplingSettings(top_p=0.8)).distribution(row) == pytest.approx([0, 4 / 9, 2 / 9, 3 / 9], abs=1e-6)
    assert Sampler(SamplingSettings(top_p=0.0)).distribution(row) == pytest.approx([0, 1, 0, 0])


@given(st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=12), st.floats(0.05, 4), st.floats(0.05, 4))
def test_a_lower_temperature_makes_the_likeliest_token_likelier(values: list[float], one: float, other: float) -> None:
    row = np.array(values, dtype=np.float32)
    cold, warm = sorted((one, other))
    highest = [Sampler(SamplingSettings(temperature=heat)).distribution(row).max() for heat in (cold, warm)]
    assert highest[0] >= highest[1] - 1e-9


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(lambda weights: sum(weights) > 1e-6), st.integers(0, 99)
)
def test_a_token_without_weight_is_never_drawn(weights: list[float], seed: int) -> None:
    assert weights[Sampler(SamplingSettings(seed=seed)).draw(np.array(weights))] > 0


def test_a_token_is_drawn_as_often_as_its_weight_says() -> None:
    sampler = Sampler(_SAMPLING)
    draws = np.bincount([sampler.draw(np.array([1.0, 0.0, 3.0])) for _ in range(8000)])
    assert draws[2] / draws[0] == pytest.approx(3, rel=0.2)


_PROMPT = [BEGIN, SOURCE, 5, 6, TARGET]
_seeds = st.integers(0, 999)
_noises = st.sampled_from([0.0, 0.3, 1.0, 3.0])


def _bild(seed: int, noise: float, fallback: float, rollback: float, sampler: Sampler | None = None) -> Decoded:
    draft_model = DraftModel(_model(seed, noise), 4)
    decoding = Decoding(_model(seed), _PROMPT, 40, draft_model=draft_model, sampler=sampler)
    return bild(decoding, Draft(), DecodingSettings(method="bild", fallback=fallback, rollback=rollback))


def _greedy(seed: int) -> tuple[int, ...]:
    return Decoding(_model(seed), _PROMPT, 40).finish().tokens


@given(_seeds, _noises, st.floats(0, 1))
def test_a_rollback_at_zero_gives_the_targets_greedy_text(seed: int, noise: float, fallback: float) -> None:
    assert _bild(seed, noise, fallback, 0.0).tokens == _greedy(seed)


@given(_seeds, _noises, st.floats(0, 20))
def test_fallback_always_gives_the_targets_text(seed: int, noise: float, rollback: float) -> None:
    decoded = _bild(seed, noise, 1.0, rollback)
    assert decoded.tokens == _greedy(seed)
    assert decoded.stats.proposed_tokens == 0
    assert decoded.stats.fallbacks > 0


@given(_seeds, _noises, st.floats(0, 0.5), st.floats(0, 6))
def test_no_token_over_the_threshold_is_kept(seed: int, noise: float, fallback: float, rollback: float) -> None:
    decoded = _bild(seed, noise, fallback, rollback)
    target = _model(seed)
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
    decoded = _bild(seed, noise, 0.0, 1e9)
    small = _model(seed, noise)
    for place, token in enumerate(decoded.tokens):
        if place % (MOST_SMALL_TOKENS + 1) != MOST_SMALL_TOKENS:
            assert token == small.evaluate([*_PROMPT, *decoded.tokens[:place]]).logits[-1].argmax()
    assert decoded.stats.rejected_proposals == decoded.stats.fallbacks == 0
    assert all(span.draft == DRAFT_MODEL and span.end - span.begin <= MOST_SMALL_TOKENS for span in decoded.accepted)


@given(_seeds, st.integers(0, 99), st.floats(0.1, 0.9))
def test_drawn_tokens_are_in_the_nucleus_of_the_model_that_wrote_them(seed: int, draws: int, top_p: float) -> None:
    settings = SamplingSettings(top_p=top_p, seed=draws)
    decoded = _bild(seed, 0.5, 0.1, 3.0, Sampler(settings))
    models = {False: _model(seed), True: _model(seed, 0.5)}
    small = {place for span in decoded.accepted for place in range(span.begin, span.end)}
    for place, token in enumerate(decoded.tokens):
        row = models[place in small].evaluate([*_PROMPT, *decoded.tokens[:place]]).logits[-1]
        assert Sampler(settings).distribution(np.asarray(row))[token] > 0
