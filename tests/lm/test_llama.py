"""The llama.cpp adapter on the embedded GGUF: exact equality, because Q8_0 on one CPU thread is bit-identical in any
batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings
from livetrans.decoding import DECODERS, Decoding, Draft
from livetrans.errors import ContextError, ModelError
from livetrans.events import Transcript
from livetrans.languages import parse_language
from livetrans.lm.llama import cells
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.metrics.rates import erasure
from livetrans.translation.translator import Translator

SENTENCES = """
Two young men in red shirts are standing in front of a large building and talking to an old woman.
The children are playing with a small brown dog in the garden behind the house while it is raining.
A woman in a blue dress is sitting on a bench and reading a book about the history of her town.
Yesterday evening I met my brother at the station, but he did not want to come home with me.
If you want to learn a new language, you should speak with other people as often as you can.
A group of people is waiting for the bus on a busy street on a cold morning in the winter.
He has never been so happy in his life, because his daughter has finally found a good job.
Please tell me what time the next train to Berlin leaves, and whether I have to change on the way.
A little girl in a yellow coat is throwing stones into the river and laughing very loudly.
We were surprised to hear that the meeting had been moved to the first Monday of next month.
The man with the grey beard is repairing an old bicycle in front of his shop near the market.
""".strip().splitlines()


@pytest.fixture(scope="module")
def model(translator_path: Path) -> Iterator[LlamaModel]:
    model = LlamaModel(LanguageModelSettings(translator_path, context_tokens=512, threads=1))
    yield model
    model.close()


@pytest.fixture(scope="module")
def prompt(model: LlamaModel) -> Prompt:
    return build_prompt(model, None, parse_language("en"), parse_language("de"))


def _outputs(model: LlamaModel, prompt: Prompt, method: str, bias: float) -> list[list[tuple[int, ...]]]:
    """Outputs for every growing prefix of every sentence, word by word."""
    settings = DecodingSettings(method=method, bias=bias)
    streams = []
    for sentence in SENTENCES:
        words = sentence.split()
        outputs: list[tuple[int, ...]] = []
        for length in range(1, len(words) + 1):
            tokens = prompt.tokens(model, " ".join(words[:length]))
            draft = outputs[-1] if outputs else ()
            outputs.append(DECODERS[method].decode(Decoding(model, tokens, 80), Draft(draft), settings).tokens)
        streams.append(outputs)
    return streams


def test_ssbd_without_bias_is_retranslation_token_for_token(model: LlamaModel, prompt: Prompt) -> None:
    plain = _outputs(model, prompt, "rt", 0.0)
    assert sum(map(len, plain)) >= 200
    assert _outputs(model, prompt, "ssbd", 0.0) == plain


def test_bias_of_a_half_keeps_every_draft_and_continuous_decoding_never_erases(
    model: LlamaModel, prompt: Prompt
) -> None:
    forced = _outputs(model, prompt, "cd", 0.0)
    for outputs in forced:
        for before, after in pairwise(outputs):
            assert erasure(before, after) == 0
    assert _outputs(model, prompt, "ssbd", 0.5) == forced


def _window(model: LlamaModel, prompt: Prompt, window: int) -> list[list[tuple[int, ...]]]:
    settings = DecodingSettings(method="window", bias=0.2, window=window)
    streams = []
    for sentence in SENTENCES:
        words = sentence.split()
        draft, outputs = Draft(), []
        for length in range(1, len(words) + 1):
            tokens = prompt.tokens(model, " ".join(words[:length]))
            output = DECODERS["window"].decode(Decoding(model, tokens, 80), draft, settings).tokens
            draft = Draft(output, tuple(tokens), len(prompt.after))
            outputs.append(output)
        streams.append(outputs)
    return streams


def test_a_window_over_everything_is_ssbd_token_for_token(model: LlamaModel, prompt: Prompt) -> None:
    assert _window(model, prompt, 80) == _outputs(model, prompt, "ssbd", 0.2)


def test_a_live_window_keeps_what_is_before_it(model: LlamaModel, prompt: Prompt) -> None:
    for outputs in _window(model, prompt, 3):
        for before, after in pairwise(outputs):
            assert after[: max(len(before) - 3, 0)] == before[:-3]


def test_moved_cells_stand_at_the_positions_behind_the_new_context(model: LlamaModel, prompt: Prompt) -> None:
    """There and back again, the cells give the logits that they gave: their keys were moved there and back."""
    short, long = prompt.tokens(model, "The weather"), prompt.tokens(model, "The weather in the north is fine today")
    target = model.tokenize("Das Wetter ist heute schön")
    fresh = model.evaluate([*short, *target], 3).logits.copy()
    assert model.move(long, len(short), len(short) + len(target) - 3).evaluated_tokens == len(long) - len(short) + 1
    there = model.evaluate([*long, *target], 3)
    assert there.reused_tokens == len(long) + len(target) - 3
    there_logits = there.logits.copy()
    model.move(short, len(long), len(long) + len(target) - 3)
    back = model.evaluate([*short, *target], 3)
    assert back.evaluated_tokens == 3
    # Keys are kept in 16 bits: each of the two rotations rounds them.
    assert np.abs(back.logits - fresh).max() < 0.5 < np.abs(there_logits - fresh).max()


def test_an_exact_final_after_moves_is_retranslation_token_for_token(model: LlamaModel, prompt: Prompt) -> None:
    translator = Translator(model, prompt, DecodingSettings(final="exact"), MaskSettings())
    for number, sentence in enumerate(SENTENCES):
        words = sentence.split()
        for length in range(1, len(words) + 1):
            update = Transcript(number, length, " ".join(words[:length]), "", length == len(words), 0.0, 1.0)
            translation = translator.translate(update)
        fresh = model.another_context()
        plain = Decoding(fresh, prompt.tokens(fresh, sentence), 80).finish()
        fresh.close()
        assert translation.tokens == plain.tokens


def test_reused_cache_gives_the_logits_of_a_fresh_one(model: LlamaModel, prompt: Prompt) -> None:
    tokens = prompt.tokens(model, SENTENCES[0])
    fresh = model.evaluate(tokens, 4).logits.copy()
    model.evaluate([*tokens[:7], *tokens[:3]])
    again = model.evaluate(tokens, 4)
    assert again.reused_tokens == 7
    np.testing.assert_array_equal(again.logits, fresh)


def test_rows_are_those_of_single_steps(model: LlamaModel, prompt: Prompt) -> None:
    tokens = prompt.tokens(model, SENTENCES[1])
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
    }
    for path, words in cases.items():
        with pytest.raises(ModelError, match=words) as caught:
            LlamaModel(LanguageModelSettings(path))
        assert "\n" not in str(caught.value)


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
