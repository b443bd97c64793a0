"""A draft model beside the translator, on real files: the same text, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gguf
import llama_cpp
import numpy as np
import psutil
import pytest

from livetrans.base.errors import LivetransError, ModelError, UsageError
from livetrans.config import DecodingSettings, LanguageModelSettings, Settings
from livetrans.decoding import DraftModel
from livetrans.events import Caption, Event, Notice, Transcript
from livetrans.lm.llama.checks import shared_vocabulary
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.port import Evaluation
from livetrans.run.translating import Translating
from tests.lm.conftest import Stream, open_run
from tests.lm.families import write_recurrent


def write_noisy_copy(path: Path, copy: Path) -> None:
    """A model of the same vocabulary that often writes something else: noise in one layer's weights."""
    shutil.copyfile(path, copy)
    tensor = next(one for one in gguf.GGUFReader(path).tensors if one.name == "blk.3.ffn_down.weight")
    data = np.memmap(copy, np.uint8, "r+", tensor.data_offset, (tensor.n_bytes,))
    blocks = data.reshape(-1, 34)[:, 2:]  # Q8_0: a scale of two bytes, and 32 weights
    blocks[:] = np.random.default_rng(0).integers(0, 256, blocks.shape, dtype=np.uint8)
    data.flush()


@pytest.fixture(scope="module")
def draft_path(translator_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drafts") / "noisy.gguf"
    write_noisy_copy(translator_path, path)
    return path


@pytest.fixture(scope="module")
def draft_model(model: LlamaModel, draft_path: Path) -> Iterator[DraftModel]:
    small = LlamaModel(LanguageModelSettings(draft_path, threads=1), maximum_rows=1)
    yield DraftModel(small, 4, shared_vocabulary(model, small))
    small.close()


@pytest.mark.parametrize("method", ["spec", "ssbd"])
def test_without_bias_a_draft_model_writes_what_retranslation_writes(
    stream: Stream, sentences: list[str], draft_model: DraftModel, method: str
) -> None:
    plain = [one for sentence in sentences for one in stream(sentence, DecodingSettings(method="rt"))]
    settings = DecodingSettings(method=method, bias=0.0)
    drafted = [one for sentence in sentences for one in stream(sentence, settings, draft_model)]
    assert [one.tokens for one in drafted] == [one.tokens for one in plain]
    accepted, proposed = (
        sum(getattr(one.stats, name) for one in drafted) for name in ("accepted_proposals", "proposed_tokens")
    )
    assert 0.2 < accepted / proposed < 0.8, "neither always nor never accepted: both ways were tried"
    assert sum(one.stats.forward_passes for one in drafted) < sum(one.stats.forward_passes for one in plain)


def captions_of(translating: Translating, update: Transcript) -> list[str]:
    events: list[Event] = []
    translating.translate(update, Settings(), events.append)
    return [event.text for event in events if isinstance(event, Caption)]


def test_a_draft_model_that_fails_is_loaded_again(
    translator_path: Path, draft_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    translating = open_run(translator_path, draft_path, DecodingSettings(method="spec"), events.append)
    update = Transcript(0, 0, "Where did you buy that book?", "", True, 0.0, 1.0)
    whole = captions_of(translating, update)
    own_evaluate = LlamaModel.evaluate

    def fail_once(model: LlamaModel, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        if model.maximum_rows == 1:
            monkeypatch.setattr(LlamaModel, "evaluate", own_evaluate)
            raise ModelError("it is broken")
        return own_evaluate(model, context, last_rows)

    monkeypatch.setattr(LlamaModel, "evaluate", fail_once)
    assert captions_of(translating, replace(update, segment_id=1)) == whole
    translating.close()
    assert Notice("warning", "The translator failed (it is broken); it is loaded again.") in events


def test_what_cannot_be_a_draft_model_is_refused_in_one_sentence(
    translator_path: Path, draft_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(draft: Path, kind: type[LivetransError], words: str, method: str = "window") -> None:
        with pytest.raises(kind, match=words) as caught:
            open_run(translator_path, draft, DecodingSettings(method=method))
        assert "\n" not in str(caught.value)

    other, link = tmp_path / "other.gguf", tmp_path / "link.gguf"
    # The same vocabulary but for one letter of one piece.
    other.write_bytes(translator_path.read_bytes().replace("▁Fenster".encode(), "▁Fensteq".encode()))
    link.symlink_to(translator_path)
    refuse(other, ModelError, r"another vocabulary.*differ at token \d+ of 8000 and 8000")
    refuse(write_recurrent(tmp_path / "mamba.gguf"), ModelError, "recurrent state")
    refuse(link, UsageError, "is the translator itself")
    refuse(tmp_path / "none.gguf", ModelError, "no model file")
    refuse(draft_path, UsageError, "rt uses no draft model", "rt")
    full = SimpleNamespace(available=1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: full)
    refuse(draft_path, ModelError, "needs 0.0 GB of memory beside the translator")


def test_unused_pieces_behind_the_vocabulary_make_no_difference(
    model: LlamaModel, draft_model: DraftModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes of one family differ by padding."""
    small = draft_model.model
    assert isinstance(small, LlamaModel)
    monkeypatch.setattr(small, "vocabulary_size", 7000)
    with pytest.raises(ModelError, match="differ at token 7000"):
        shared_vocabulary(model, small)
    monkeypatch.setattr("llama_cpp.llama_vocab_get_attr", lambda vocabulary, token: llama_cpp.LLAMA_TOKEN_ATTR_UNUSED)
    assert shared_vocabulary(model, small) == 7000
