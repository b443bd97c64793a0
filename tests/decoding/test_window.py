"""The live window and careful finals: what is frozen, what is verified again, and when nothing is frozen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from livetrans.base.sequences import common_prefix_length
from livetrans.config import DecodingSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft
from livetrans.decoding.window import (
    MOVED_AT_LEAST,
    REWRITTEN_TOKENS,
    WORDS_A_CHARACTER,
    careful_final,
    live_window,
    words_taken_back_from,
)
from livetrans.lm.prompts import text_of_tokens
from tests.lm.scripted import END, SOURCE, TARGET, ScriptedModel, hashed_rule, prompt_of, word_by_word_rule

_sources = st.lists(st.integers(4, 20), min_size=1, max_size=12)
_EVERYTHING = 100


def _model(seed: int) -> ScriptedModel:
    return ScriptedModel(hashed_rule(seed), vocabulary_size=24)


def _decoding(model: ScriptedModel, source: Sequence[int], maximum: int = 24) -> Decoding:
    return Decoding(model, prompt_of(source), maximum, source=tuple(source))


def _draft(output: Decoded, source: Sequence[int], hidden: int = 0) -> Draft:
    return Draft(output.tokens, tuple(prompt_of(source)), tuple(source), min(hidden, len(output.tokens)))


def _stream(
    model: ScriptedModel, sources: Sequence[Sequence[int]], settings: DecodingSettings, hidden: int = 0
) -> list[Decoded]:
    outputs: list[Decoded] = []
    draft = Draft()
    for source in sources:
        outputs.append(DECODERS[settings.method].decode(_decoding(model, source), draft, settings))
        draft = _draft(outputs[-1], source, hidden)
    return outputs


def _growing(source: Sequence[int]) -> list[Sequence[int]]:
    return [source[:length] for length in range(1, len(source) + 1)]


@given(_sources, st.integers(0, 99), st.sampled_from([0.0, 0.1, 0.2, 0.6]))
def test_a_window_over_everything_is_ssbd_token_for_token(source: list[int], seed: int, bias: float) -> None:
    settings = DecodingSettings(method="window", bias=bias, window=_EVERYTHING, margin=0.0)
    window = _stream(_model(seed), _growing(source), settings)
    ssbd = _stream(_model(seed), _growing(source), replace(settings, method="ssbd"))
    assert [one.tokens for one in window] == [one.tokens for one in ssbd]
    assert [one.stats for one in window] == [one.stats for one in ssbd]


def test_a_move_that_evaluates_the_prompts_rest_is_a_pass_over_the_prompt_alone() -> None:
    """TPS leaves such passes out."""
    model = ScriptedModel(word_by_word_rule(), seconds_per_pass=1.0)
    source = model.tokenize("one two three four five six seven eight nine ten eleven twelve")
    stats = _stream(model, [source[:11], source], DecodingSettings(method="window", window=1))[1].stats
    assert stats.frozen_tokens >= MOVED_AT_LEAST
    assert (stats.prompt_seconds, stats.verification_seconds) == (1.0, 1.0)
    assert stats.total_seconds == stats.forward_passes


@given(_sources, st.integers(0, 99), st.integers(0, 5))
def test_reused_tokens_are_those_of_theprompt_of(source: list[int], seed: int, window: int) -> None:
    sources = [source[:length] for length in range(1, len(source) + 1) for _ in range(2)]
    for decoded, prompt in zip(_stream(_model(seed), sources, DecodingSettings(window=window)), sources, strict=True):
        assert decoded.stats.reused_tokens <= len(prompt_of(prompt))


@given(_sources, st.integers(0, 99), st.integers(0, 5), st.sampled_from([0.0, 0.2]))
def test_tokens_before_the_window_never_change(source: list[int], seed: int, window: int, bias: float) -> None:
    outputs = _stream(_model(seed), _growing(source), DecodingSettings(bias=bias, window=window))
    for before, after in pairwise(outputs):
        kept = max(len(before.tokens) - window, 0)
        assert after.tokens[:kept] == before.tokens[:kept]
        moved = min(kept, len(before.tokens) - 1)
        assert after.stats.frozen_tokens == (moved if moved >= MOVED_AT_LEAST else 0)
        # The new end of the source, the template's end, the window and the token before it, and each new token.
        evaluated = 2 + window + (1 if moved >= MOVED_AT_LEAST else kept)
        assert after.stats.evaluated_tokens <= evaluated + after.stats.decoding_steps


@given(_sources, st.integers(0, 99), st.integers(1, 5))
def test_the_window_itself_is_decided_as_ssbd_decides_it(source: list[int], seed: int, window: int) -> None:
    """The scripted model has no stale cells: the window's output is the model's own behind what is frozen."""
    model = _model(seed)
    outputs = _stream(model, _growing(source), DecodingSettings(bias=0.0, window=window, margin=0.0))
    for length, (before, after) in enumerate(pairwise(outputs), start=2):
        frozen = before.tokens[: max(len(before.tokens) - window, 0)]
        free = _decoding(model, source[:length])
        free.output = list(frozen)
        assert after.tokens == free.finish().tokens


def test_an_output_that_the_cap_ended_can_be_frozen_whole() -> None:
    def endless(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = np.zeros(model.vocabulary_size, dtype=np.float32)
        logits[4 + len(context) % 17] = 5.0
        return logits

    model = ScriptedModel(endless, vocabulary_size=24)
    first, second = _stream(model, [[4, 5], [4, 5, 6]], DecodingSettings(window=0))
    assert first.stats.truncated and second.tokens == first.tokens
    assert second.stats.frozen_tokens == len(first.tokens) - 1


def test_a_source_that_was_rewritten_is_evaluated_whole() -> None:
    source = [4 + at % 19 for at in range(2 * REWRITTEN_TOKENS)]
    settings = DecodingSettings(bias=0.2, window=2)
    tail = [*source[:-REWRITTEN_TOKENS], *reversed(source[-REWRITTEN_TOKENS:])]
    early = [5, *source[1:]]
    for changed, frozen in ((tail, True), (early, False)):
        model = ScriptedModel(_long_rule, vocabulary_size=24)
        first, second = _stream(model, [source, changed], settings)
        assert (second.stats.frozen_tokens > 0) == frozen
        assert second.stats.draft_tokens == len(first.tokens)


def _sentences_rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
    """One target token for each source token, and the end; sure of itself."""
    logits = np.zeros(model.vocabulary_size, dtype=np.float32)
    source = context[context.index(SOURCE) + 1 : context.index(TARGET)]
    written = len(context) - 1 - context.index(TARGET)
    logits[source[written] if written < len(source) else END] = 9.0
    return logits


def test_a_split_ends_the_final_where_the_model_would_end_and_leaves_the_rest() -> None:
    model = ScriptedModel(_sentences_rule, vocabulary_size=24)
    first, second = [4, 5, 6, 7, 8], [9 + at % 12 for at in range(REWRITTEN_TOKENS + 4)]
    settings = DecodingSettings()
    before = _stream(model, [[*first, *second]], settings)[-1]
    final = careful_final(_decoding(model, first, 60), _draft(before, [*first, *second], 3), settings)
    assert final.tokens == tuple(first)
    rest = before.tokens[len(final.tokens) :]
    assert rest and rest == tuple(second)[: len(rest)]


def test_a_model_that_cannot_move_its_cells_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted model has no stale cells, so that only the counts tell."""
    source = list(range(4, 20))
    moved = _stream(_model(3), _growing(source), DecodingSettings(window=1))
    monkeypatch.setattr(ScriptedModel, "can_move", False)
    fresh = _stream(_model(3), _growing(source), DecodingSettings(window=1))
    assert [one.tokens for one in fresh] == [one.tokens for one in moved]
    assert sum(one.stats.frozen_tokens for one in moved) > 0 == sum(one.stats.frozen_tokens for one in fresh)


def _long_rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
    logits = np.zeros(model.vocabulary_size, dtype=np.float32)
    written = len(context) - 1 - context.index(TARGET)
    logits[4 + written if written < 12 else END] = 5.0
    return logits


class _Pieces(ScriptedModel):
    """Tokens are words, the ends of words, or two characters of a script without spaces."""

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return "".join(("", " end", "研究")[token % 3] + str(token) for token in tokens if token > TARGET).encode()


def _reordering(seed: int) -> ScriptedModel:
    """A model whose whole output depends on the source's last word, and which is unsure of itself."""
    noise = hashed_rule(seed)

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits = noise(model, context).copy()
        source = context[context.index(SOURCE) + 1 : context.index(TARGET)]
        written = len(context) - 1 - context.index(TARGET)
        logits[END if written >= len(source) + 2 else 4 + (source[-1] + written) % 17] += 2.0
        return logits

    return _Pieces(rule, vocabulary_size=24)


def _whole_units(model: ScriptedModel, tokens: Sequence[int], count: int) -> list[str]:
    """Return the words and characters that are wholly in the first `count` tokens, as a viewer sees them."""
    text, begun = (text_of_tokens(model)(part) for part in (tokens, tokens[:count]))
    ends = [match.end() for match in re.finditer(r"[研究]|[a-z0-9]+(?=[研究]|\b)", text)]
    units = re.findall(r"[研究]|[a-z0-9]+", text)
    return [unit for unit, end in zip(units, ends, strict=True) if end <= len(begun)]


@given(
    _sources, st.integers(0, 199), st.sampled_from([0.5, 1.5, 4.0]), st.integers(0, 8), st.integers(0, 4), st.booleans()
)
def test_shown_words_are_taken_back_only_where_the_regret_is_above_the_margin(
    source: list[int], seed: int, margin: float, window: int, hidden: int, final: bool
) -> None:
    model = _reordering(seed)
    settings = DecodingSettings(bias=0.0, window=window, margin=margin, final_window=8)
    *_, before = _stream(model, _growing(source), settings, hidden)
    draft = _draft(before, source, hidden)
    longer = [*source, 7]
    decode = careful_final if final else live_window
    after = decode(_decoding(model, longer), draft, settings)
    kept = common_prefix_length(before.tokens, after.tokens)
    assert kept >= len(before.tokens) - max(settings.final_window if final else 0, window)
    shown = _whole_units(model, before.tokens, len(before.tokens) - draft.hidden_tokens)
    taken_back = shown[len(_whole_units(model, before.tokens, kept)) :]
    words = sum(WORDS_A_CHARACTER if unit in "研究" else 1.0 for unit in taken_back)
    if words:
        rows = model.evaluate([*prompt_of(longer), *before.tokens], len(before.tokens) + 1).logits[:-1]
        regrets = [float(row.max() - row[token]) for row, token in zip(rows, before.tokens, strict=True)]
        assert sum(regrets[kept:]) >= margin * words - 1e-3


def test_words_that_are_taken_back_are_whole_ones_on_the_screen() -> None:
    texts = ["", "Er", " geht", "t", " 研究", "の", "."]
    draft = Draft((1, 2, 3, 4, 5, 6), hidden_tokens=1)
    words = words_taken_back_from(draft, lambda tokens: "".join(texts[token] for token in tokens))
    three, one = 3 * WORDS_A_CHARACTER, WORDS_A_CHARACTER
    assert [words(at) for at in range(6)] == pytest.approx([2 + three, 1 + three, 1 + three, three, one, 0])
    cut = words_taken_back_from(
        replace(draft, hidden_tokens=4), lambda tokens: "".join(texts[token] for token in tokens)
    )
    assert [cut(at) for at in range(6)] == [1, 0, 0, 0, 0, 0]


@given(_sources, st.integers(0, 99), st.booleans())
def test_an_infinite_margin_keeps_what_is_shown(source: list[int], seed: int, final: bool) -> None:
    model = _reordering(seed)
    settings = DecodingSettings(bias=0.0, window=_EVERYTHING, margin=1e9)
    before = _stream(model, [source], settings)[-1]
    draft = _draft(before, source, 3)
    after = (careful_final if final else live_window)(_decoding(model, [*source, 7], 60), draft, settings)
    shown = _whole_units(model, before.tokens, len(before.tokens) - draft.hidden_tokens)
    kept = common_prefix_length(before.tokens, after.tokens)
    assert _whole_units(model, before.tokens, kept)[: len(shown)] == shown
