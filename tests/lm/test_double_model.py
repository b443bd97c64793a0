"""The double-token model on llama.cpp: pairs that share a position, drafts, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from livetrans.base.errors import LivetransError, ModelError, UsageError
from livetrans.base.languages import parse_language
from livetrans.config import DecodingSettings, LanguageModelSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft
from livetrans.lm.llama.double import TAIL_MARK, DoubleModel, TailPieces
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import Prompt, build_prompt
from tests.lm.conftest import open_run


@pytest.fixture(scope="module")
def model(double_path: Path) -> Iterator[DoubleModel]:
    model = DoubleModel(LanguageModelSettings(double_path, threads=1))
    yield model
    model.close()


@pytest.fixture(scope="module")
def tails(model: DoubleModel) -> TailPieces:
    return model.tail_pieces


@pytest.fixture(scope="module")
def prompt(model: LlamaModel) -> Prompt:
    return build_prompt(model, None, parse_language("en"), parse_language("de"))


def _decode(model: LlamaModel, tokens: list[int], draft: tuple[int, ...] = (), bias: float = 0.0) -> Decoded:
    settings = DecodingSettings(method="double", bias=bias)
    return DECODERS["double"].decode(Decoding(model, tokens, 80), Draft(draft), settings)


def _rows(model: LlamaModel, context: list[int], rows: int) -> np.ndarray:
    return model.evaluate(context, rows).logits.copy()


def test_the_tokens_of_a_pair_see_each_other_and_no_later_one(
    model: LlamaModel, tails: TailPieces, prompt: Prompt
) -> None:
    start = prompt.tokens(model, "Good morning")
    pairs = [300, tails.first + 20, 400, tails.first + 30]
    whole = _rows(model, [*start, *pairs], 4)
    other_tail = _rows(model, [*start, 300, tails.first + 21, *pairs[2:]], 4)
    assert not np.array_equal(whole[0], other_tail[0])
    model.evaluate([1])
    np.testing.assert_array_equal(_rows(model, [*start, *pairs[:2]], 2), whole[:2])


def test_no_pair_is_parted_by_passes_or_by_the_cache(model: LlamaModel, tails: TailPieces, prompt: Prompt) -> None:
    """Long contexts take several passes; a shorter or changed one keeps a part of the cells."""
    start = prompt.tokens(model, "It is cold")
    pairs = [token for number in range(40) for token in (300 + number, tails.first + 2 + number)]
    model.evaluate([1])
    at_once = _rows(model, [*start, *pairs], 80)
    model.evaluate([1])
    for count in range(1, 41):
        one_by_one = _rows(model, [*start, *pairs[: 2 * count]], 2)
        np.testing.assert_array_equal(one_by_one, at_once[2 * count - 2 : 2 * count])
    for count in (39, 17, 3):
        changed = [*pairs[: 2 * count], pairs[2 * count], tails.first + 100]
        kept = _rows(model, [*start, *changed], 2)
        model.evaluate([1])
        np.testing.assert_array_equal(_rows(model, [*start, *changed], 2), kept)


def test_a_single_token_follows_a_pair(model: LlamaModel, tails: TailPieces, prompt: Prompt) -> None:
    context = [*prompt.tokens(model, "It is cold"), 300, tails.first + 20]
    model.evaluate([1])
    at_once = _rows(model, [*context, 77], 1)
    model.evaluate(context, 2)
    np.testing.assert_array_equal(_rows(model, [*context, 77], 1), at_once)


def test_without_a_bias_both_halves_as_the_draft_change_nothing(
    model: LlamaModel, prompt: Prompt, sentences: list[str]
) -> None:
    prefixes = drafted = 0
    for sentence in sentences:
        words, draft = sentence.split(), ()
        for length in range(1, len(words) + 1):
            tokens = prompt.tokens(model, " ".join(words[:length]))
            plain, fast = _decode(model, tokens), _decode(model, tokens, draft)
            assert fast.tokens == plain.tokens
            drafted += fast.stats.accepted_tokens
            draft, prefixes = plain.tokens, prefixes + 1
    assert drafted > prefixes


def test_another_familys_prompt_is_refused(model: LlamaModel) -> None:
    tokens = build_prompt(model, "tower", parse_language("en"), parse_language("de")).tokens(model, "Good morning.")
    with pytest.raises(UsageError, match="has a prompt of its own"):
        _decode(model, tokens)


def test_a_step_writes_two_tokens(model: LlamaModel, prompt: Prompt) -> None:
    decoded = _decode(model, prompt.tokens(model, "My brother lives in a house near the river."))
    text = model.detokenize(decoded.tokens).decode()
    assert "Bruder" in text
    assert TAIL_MARK not in text
    assert text.endswith(".")
    assert decoded.stats.forward_passes <= len(decoded.tokens) // 2 + 1


def test_what_does_not_go_with_double_token_decoding_is_refused(double_path: Path, translator_path: Path) -> None:
    cases = (
        (double_path, None, "window", "only --method double can use"),
        (translator_path, None, "double", "is not a double-token model"),
        (translator_path, double_path, "ssbd", "only --method double can use"),
        (double_path, translator_path, "double", "double uses no draft model"),
    )
    for target, draft, method, words in cases:
        with pytest.raises(LivetransError, match=words):
            open_run(target, draft, DecodingSettings(method=method))


def test_damaged_tail_pieces_are_refused(double_path: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    shutil.copyfile(double_path, damaged)
    data = damaged.read_bytes()
    mark = TAIL_MARK.encode()
    at = data.rindex(mark)
    damaged.write_bytes(data[:at] + b"<|nail|>" + data[at + len(mark) :])
    with pytest.raises(ModelError, match="damaged tail pieces"):
        DoubleModel(LanguageModelSettings(damaged, threads=1))
