"""The llama.cpp adapter on the embedded GGUF, where Q8_0 on one CPU thread is bit-identical in any batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from livetrans.base.errors import ContextError, ModelError
from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings
from livetrans.events import Transcript
from livetrans.lm.llama import cells
from livetrans.lm.llama.cells import LlamaCells
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import Prompt
from livetrans.translation.translator import Translator
from tests.lm.conftest import Stream
from tests.lm.families import WINDOW, write_recurrent, write_sliding_window

RT, SSBD = DecodingSettings(method="rt"), DecodingSettings(method="ssbd", bias=0.2)


@pytest.mark.parametrize(
    ("settings", "same"),
    [
        pytest.param(replace(SSBD, bias=0.0), RT, id="SSBD without bias and re-translation"),
        pytest.param(replace(SSBD, bias=0.5), replace(RT, method="cd"), id="SSBD from a half on and CD"),
        pytest.param(
            replace(SSBD, method="window", window=80, margin=0.0), SSBD, id="a window over everything and SSBD"
        ),
    ],
)
def test_methods_that_write_the_same_tokens(
    stream: Stream, sentences: list[str], settings: DecodingSettings, same: DecodingSettings
) -> None:
    for sentence in sentences:
        outputs, others = (stream(sentence, one) for one in (settings, same))
        assert [one.tokens for one in outputs] == [one.tokens for one in others]


def test_moved_cells_stand_at_the_positions_behind_the_new_context(model: LlamaModel, prompt: Prompt) -> None:
    """There and back again, the cells give the logits that they gave: their keys were moved there and back."""
    short, long = prompt.tokens(model, "The weather"), prompt.tokens(model, "The weather in the north is fine today")
    target = model.tokenize("Das Wetter ist heute schön")
    fresh = model.evaluate([*short, *target], 3).logits.copy()
    moved = len(target) - 3
    assert (there_counts := model.move(long, [*short, *target[:moved]], moved))
    assert there_counts.evaluated_tokens == len(long) - len(short) + 1
    there = model.evaluate([*long, *target], 3)
    assert there.reused_tokens == len(long) + len(target) - 3
    there_logits = there.logits.copy()
    assert model.move(short, [*long, *target[:moved]], moved)
    back = model.evaluate([*short, *target], 3)
    assert back.evaluated_tokens == 3
    # Keys are kept in 16 bits: each of the two rotations rounds them.
    assert np.abs(back.logits - fresh).max() < 0.5 < np.abs(there_logits - fresh).max()


def test_cells_that_the_cache_does_not_hold_are_not_moved(model: LlamaModel, prompt: Prompt) -> None:
    """After an evaluation of something else, or a move that was interrupted before what follows it."""
    short, long = prompt.tokens(model, "The weather"), prompt.tokens(model, "The weather in the north")
    target = model.tokenize("Das Wetter ist heute schön")
    model.evaluate([*short, *target])
    assert model.move(long, [*short, *target[:-1], target[0]], 3) is None
    assert model.move(long, [*short, *target], 3)
    held = [*long, *target[-3:]]
    assert model.move(long, [*short, *target], 3) is None
    assert model.evaluate(held).reused_tokens == len(held) - 1, "a refused move changes nothing"


def test_a_fresh_final_after_moves_is_retranslation_token_for_token(
    model: LlamaModel, prompt: Prompt, stream: Stream, sentences: list[str]
) -> None:
    translator = Translator(model)
    for number, sentence in enumerate(sentences):
        words = sentence.split()
        for length in range(1, len(words) + 1):
            update = Transcript(number, length, " ".join(words[:length]), "", length == len(words), 0.0, 1.0)
            translation = translator.translate(update, prompt, DecodingSettings(final="fresh"), MaskSettings())
        assert translation.tokens == stream(sentence, RT)[-1].tokens


def test_logits_that_are_not_numbers_are_a_failure(model: LlamaModel, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate_rest = LlamaCells._evaluate_rest

    def broken(cells: LlamaCells, context: list[int], last_rows: int) -> tuple[np.ndarray, int]:
        logits, passes = evaluate_rest(cells, context, last_rows)
        logits[-1, 7] = np.nan
        return logits, passes

    monkeypatch.setattr(LlamaCells, "_evaluate_rest", broken)
    with pytest.raises(ModelError, match="not numbers"):
        model.evaluate([1, 5, 6], 2)


def test_a_model_is_loaded_again_with_its_open_contexts(translator_path: Path) -> None:
    model = LlamaModel(LanguageModelSettings(translator_path, context_tokens=512, threads=1))
    contexts, closed = [model, model.another_context()], model.another_context()
    closed.close()
    model.another_context().close()
    assert closed not in model._others  # A run that opens contexts for hours keeps none of them.
    before = [context.evaluate([1, 5, 6, 7]).logits.copy() for context in contexts]
    model.reload()
    for context, logits in zip(contexts, before, strict=True):
        again = context.evaluate([1, 5, 6, 7])
        assert again.reused_tokens == 0
        np.testing.assert_array_equal(again.logits, logits)
    for context in (closed, model):
        context.close()
        with pytest.raises(ModelError, match="closed"):
            context.evaluate([1])


def test_reused_cache_gives_the_logits_of_a_fresh_one(model: LlamaModel, prompt: Prompt) -> None:
    tokens = prompt.tokens(model, "Two young men in red shirts are talking to an old woman.")
    fresh = model.evaluate(tokens, 4).logits.copy()
    model.evaluate([*tokens[:7], *tokens[:3]])
    again = model.evaluate(tokens, 4)
    assert again.reused_tokens == 7
    np.testing.assert_array_equal(again.logits, fresh)


def test_rows_are_those_of_single_steps(model: LlamaModel, prompt: Prompt) -> None:
    tokens = prompt.tokens(model, "The children are playing in the garden.")
    rows = model.evaluate(tokens, len(tokens)).logits.copy()
    for length in range(1, len(tokens) + 1):
        np.testing.assert_array_equal(model.evaluate(tokens[:length]).logits[-1], rows[length - 1])


def test_rows_that_span_batches_are_whole(translator_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More tokens than one llama.cpp batch: the rows of both batches come back, in order."""
    monkeypatch.setattr(cells, "_BATCH_TOKENS", 64)
    small = LlamaModel(LanguageModelSettings(translator_path, context_tokens=512, threads=1))
    tokens = [5 + n % 900 for n in range(150)]
    rows = small.evaluate(tokens, 60).logits.copy()
    assert rows.shape == (60, small.vocabulary_size)
    for row, length in ((0, 91), (37, 128), (38, 129), (59, 150)):
        np.testing.assert_array_equal(small.evaluate(tokens[:length]).logits[-1], rows[row])
    small.close()


def test_the_context_is_never_longer_than_the_training(translator_path: Path) -> None:
    model = LlamaModel(LanguageModelSettings(translator_path, context_tokens=1_000_000))
    assert model.context_tokens == int(model.metadata("llama.context_length") or 0)
    model.close()


def test_what_would_abort_the_process_is_refused(model: LlamaModel) -> None:
    with pytest.raises(ContextError, match="do not fit"):
        model.evaluate([5] * (model.context_tokens + 1))
    with pytest.raises(ContextError, match="rows"):
        model.evaluate([5] * 300, model.maximum_rows + 1)
    with pytest.raises(ContextError, match="rows"):
        model.evaluate([5], 2)
    assert model.evaluate([1, 5, 6]).logits.shape == (1, model.vocabulary_size)


def test_a_context_that_is_too_small_is_refused(translator_path: Path) -> None:
    with pytest.raises(ContextError, match="too small"):
        LlamaModel(LanguageModelSettings(translator_path, context_tokens=64))


def test_text_survives_the_tokenizer(model: LlamaModel) -> None:
    for text in ("Grüße aus Köln, 3 Äpfel!", "研究 emoji 🙂", "tabs\tand <|src|> marks"):
        assert model.detokenize(model.tokenize(text)).decode().strip() == text
    assert len(model.tokenize("<|src|>", special=True)) == 1
    assert len(model.tokenize("<|src|>")) > 1


def test_loading_prints_nothing(translator_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    LlamaModel(LanguageModelSettings(translator_path, context_tokens=512)).close()
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


@pytest.mark.parametrize(("processor", "packed"), [(b"AVX2 = 1 | AMX_INT8 = 1 | ", False), (b"AVX2 = 1 | ", True)])
def test_weights_are_not_packed_for_amx(
    translator_path: Path, monkeypatch: pytest.MonkeyPatch, processor: bytes, packed: bool
) -> None:
    passed: list[bool] = []

    def load(path: bytes, params: llama_cpp.llama_model_params) -> None:
        passed.append(params.use_extra_bufts)

    monkeypatch.setattr("llama_cpp.llama_print_system_info", lambda: processor)
    monkeypatch.setattr("llama_cpp.llama_model_load_from_file", load)
    with pytest.raises(ModelError):
        LlamaModel(LanguageModelSettings(translator_path, context_tokens=512, threads=1))
    assert passed == [packed]


@pytest.fixture
def sliding_window(tmp_path: Path) -> Iterator[LlamaModel]:
    path = write_sliding_window(tmp_path / "window.gguf")
    model = LlamaModel(LanguageModelSettings(path, context_tokens=1024, threads=1), maximum_rows=65)
    yield model
    model.close()


def test_a_rewind_past_the_window_gives_the_logits_of_a_fresh_cache(sliding_window: LlamaModel) -> None:
    """With a partial window cache the rewind succeeds all the same, and the logits are silently wrong."""
    tokens = [3 + (7 * n) % 90 for n in range(600)]
    sliding_window.evaluate(tokens)
    again = sliding_window.evaluate([*tokens[: 3 * WINDOW], 5, 6, 7], 3)
    assert again.reused_tokens == 3 * WINDOW
    rewound = again.logits.copy()
    expected = sliding_window.another_context().evaluate([*tokens[: 3 * WINDOW], 5, 6, 7], 3).logits
    np.testing.assert_allclose(rewound, expected, atol=0.02 * float(np.std(expected)))


def test_a_context_of_a_closed_model_refuses_every_call(translator_path: Path) -> None:
    """llama.cpp would read freed memory, and end the process."""
    model = LlamaModel(LanguageModelSettings(translator_path, threads=1))
    other = model.another_context()
    model.close()
    for call in (lambda: other.tokenize("word"), lambda: other.evaluate([5])):
        with pytest.raises(ModelError, match="is closed"):
            call()


def test_files_that_are_not_models_are_refused_in_one_sentence(tmp_path: Path, translator_path: Path) -> None:
    text = tmp_path / "notes.gguf"
    text.write_text("hello")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(translator_path.read_bytes()[:200_000])
    cases = {
        text: "not a GGUF",
        cut: "cannot be loaded.*file bounds",
        tmp_path: "folder",
        tmp_path / "none.gguf": "no model file",
        write_recurrent(tmp_path / "mamba.gguf"): "recurrent state",
    }
    for path, words in cases.items():
        with pytest.raises(ModelError, match=words) as caught:
            LlamaModel(LanguageModelSettings(path))
        assert "\n" not in str(caught.value)
