"""The early stop of partials: where decoding stops, what is hidden then, and what it must not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.sequences import common_prefix_length
from livetrans.config import CALM, DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS, DraftModel
from livetrans.decoding.stopping import LEARNED_TOKENS, REMEMBERED_TOKENS, LengthRatio, Stop
from livetrans.events import DecodingStats, Transcript, Translation
from livetrans.lm.rows import Logits
from livetrans.translation.translator import Translator
from tests.lm.scripted import Rule, ScriptedModel, hashed_rule, noisy_rule, word_by_word_rule
from tests.run.scripted_run import PROMPT

_sources = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9), min_size=1, max_size=6)
_DEFAULT = DecodingSettings()
_WHOLE = replace(_DEFAULT, early_stop=False)
_TEMPLATE = len(PROMPT.before) + len(PROMPT.after)


def _update(words: Sequence[str], revision: int, *, final: bool = False, ended: bool = False) -> Transcript:
    text = " ".join(words)
    return Transcript(0, revision, text if final else "", "" if final else text, final, 0.0, 1.0, ended=ended)


def _translated(
    rule: Rule,
    updates: Sequence[Transcript],
    decoding: DecodingSettings = _DEFAULT,
    mask: MaskSettings | None = None,
    ratio: float | None = 1.0,
) -> list[Translation]:
    translator = Translator(ScriptedModel(rule))
    return [translator.translate(update, PROMPT, decoding, mask or MaskSettings(), ratio) for update in updates]


def _shown(translation: Translation) -> tuple[int, ...]:
    return translation.tokens[: len(translation.tokens) - translation.hidden_tokens]


@given(st.floats(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(1, 8), st.floats(0.001, 20))
def test_due_tokens_are_written_and_early_ones_only_if_the_model_is_sure(
    expected: float, shown: int, written: int, k: int, certainty: float
) -> None:
    due = expected - written
    stop = Stop(expected, shown, k)
    row = np.array([0.0, certainty, 0.0], dtype=np.float32)
    if written < shown or due >= k + 2:
        assert not stop.is_before(Logits(row[None]), 0, written)
    elif due <= k - 2:
        assert stop.is_before(Logits(row[None]), 0, written)
    elif stop.is_before(Logits(row[None]), 0, written):
        # A less certain token stops it too, and so does one that is further ahead.
        assert stop.is_before(Logits(row[None] / 2), 0, written)
        assert stop.is_before(Logits(row[None]), 0, written + 1)


def test_the_expected_length_is_learnt_from_finals_and_follows_them() -> None:
    def final(source: int, output: int, *, truncated: bool = False) -> DecodingStats:
        return DecodingStats(prompt_tokens=_TEMPLATE + source, output_tokens=output, truncated=truncated)

    ratio = LengthRatio()
    ratio.learn(PROMPT, final(LEARNED_TOKENS - 1, 2 * LEARNED_TOKENS - 2))
    ratio.learn(PROMPT, final(30, 160, truncated=True))
    ratio.learn(PROMPT, DecodingStats())
    assert ratio.value is None
    ratio.learn(PROMPT, final(1, 2))
    assert ratio.value == pytest.approx(2.0)
    for _ in range(5):
        ratio.learn(PROMPT, final(REMEMBERED_TOKENS, REMEMBERED_TOKENS))
    assert ratio.value == pytest.approx(1.0, abs=0.05)


@given(_sources, st.integers(0, 20), st.floats(0.3, 3.0))
def test_what_is_shown_and_stands_is_never_hidden_again(sources: list[list[str]], seed: int, ratio: float) -> None:
    """Also where only a part of what is shown stands."""
    updates = [_update(words, revision) for revision, words in enumerate(sources)]
    translations = _translated(hashed_rule(seed, end_weight=2.0), updates, ratio=ratio)
    for before, after in pairwise(translations):
        assert len(_shown(after)) >= common_prefix_length(_shown(before), after.tokens)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), st.integers(0, 20), st.floats(0.3, 3.0))
def test_a_stopped_partial_is_the_beginning_of_the_whole_output_and_its_final_is_all_of_it(
    words: list[str], seed: int, ratio: float
) -> None:
    updates = [_update(words, 0), _update(words, 1, final=True)]
    for rule in (hashed_rule(seed), word_by_word_rule()):
        partial, final = _translated(rule, updates, ratio=ratio)
        whole, whole_final = _translated(rule, updates, _WHOLE, ratio=ratio)
        assert partial.tokens == whole.tokens[: len(partial.tokens)]
        assert partial.stats.stopped or partial.tokens == whole.tokens
        assert partial.hidden_tokens == 1 if partial.stats.stopped else True
        assert partial.stats.forward_passes <= whole.stats.forward_passes
        assert final.tokens == whole_final.tokens


@given(_sources, st.integers(0, 20), st.sampled_from(["rt", "ssbd", "cd", "faithful", "none", "output", "k=0", "new"]))
def test_nothing_stops_without_a_display_mask_a_known_length_and_the_live_window(
    sources: list[list[str]], seed: int, case: str
) -> None:
    updates = [_update(words, revision) for revision, words in enumerate(sources)]
    decoding, mask = (
        _DEFAULT,
        {"none": MaskSettings("none"), "output": MaskSettings("output"), "k=0": MaskSettings(k=0)},
    )
    if case in DECODERS:
        decoding = DecodingSettings(case, bias=0.2 if case == "ssbd" else 0.0, final="partial")
    elif case == "faithful":
        decoding = CALM[case].decoding
    stopping, whole = (
        _translated(hashed_rule(seed), updates, one, mask.get(case), None if case == "new" else 1.0)
        for one in (decoding, replace(decoding, early_stop=False))
    )
    assert [one.tokens for one in stopping] == [one.tokens for one in whole]
    assert not any(one.stats.stopped for one in stopping)


@given(_sources, st.integers(0, 20), st.integers(1, 6), st.floats(0.0, 2.0))
def test_a_draft_model_changes_nothing_of_what_is_written_and_hidden(
    sources: list[list[str]], seed: int, gamma: int, noise: float
) -> None:
    updates = [_update(words, revision) for revision, words in enumerate(sources)]
    draft_model = DraftModel(ScriptedModel(noisy_rule(hashed_rule(seed), noise)), gamma)
    alone, drafted = (Translator(ScriptedModel(hashed_rule(seed)), draft_model=small) for small in (None, draft_model))
    for update in updates:
        one, other = (each.translate(update, PROMPT, _DEFAULT, MaskSettings(), 1.0) for each in (alone, drafted))
        assert (one.tokens, one.hidden_tokens) == (other.tokens, other.hidden_tokens)


@given(_sources, st.integers(0, 20))
def test_an_update_that_ends_a_sentence_is_written_whole(sources: list[list[str]], seed: int) -> None:
    updates = [_update(words, revision) for revision, words in enumerate(sources)]
    last = len(updates) - 1
    for ending in (replace(updates[-1], ended=True), _update(sources[-1], last, final=True)):
        *_, translation = _translated(hashed_rule(seed), [*updates[:-1], ending], ratio=0.5)
        assert (translation.hidden_tokens, translation.stats.stopped) == (0, False)


def test_a_word_that_is_not_due_waits_in_the_draft() -> None:
    """Five words are expected: two are due, the sixth token is not chosen, and what was chosen waits hidden."""
    [partial] = _translated(word_by_word_rule(certainty=30.0), [_update("abcde", 0)], ratio=1.0)
    assert partial.stats.stopped
    assert (len(partial.tokens), partial.hidden_tokens, len(_shown(partial))) == (5, 1, 4)


def test_a_word_waits_for_the_mark_that_belongs_to_it() -> None:
    """Of `a b c .` the mark is not due, and would change a `c` that is shown; in Japanese it would not."""

    class Attached(ScriptedModel):
        def detokenize(self, tokens: Sequence[int]) -> bytes:
            return super().detokenize(tokens).replace(b" .", b".")

    for last, shown in (("c", 2), ("か", 3)):
        translator = Translator(Attached(word_by_word_rule(certainty=30.0)))
        partial = translator.translate(_update(["a", "b", last, ".", "d"], 0), PROMPT, _DEFAULT, MaskSettings(), 0.8)
        assert partial.stats.stopped and len(partial.tokens) == 4
        assert len(_shown(partial)) == shown
