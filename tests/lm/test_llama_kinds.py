"""Models of other kinds: rewinding past a sliding window stays right, a recurrent state is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_gguf import WINDOW, write_recurrent, write_sliding_window

from livetrans.config import LanguageModelSettings
from livetrans.errors import ModelError
from livetrans.lm.llama.model import LlamaModel


@pytest.fixture(scope="module")
def sliding_window(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "window.gguf"
    write_sliding_window(path)
    return path


def test_a_rewind_past_the_window_gives_the_logits_of_a_fresh_cache(sliding_window: Path) -> None:
    """With a partial window cache the rewind succeeds all the same, and the logits are silently wrong."""
    settings = LanguageModelSettings(sliding_window, context_tokens=1024, threads=1)
    model = LlamaModel(settings, maximum_rows=65)
    tokens = [3 + (7 * n) % 90 for n in range(600)]
    model.evaluate(tokens)
    again = model.evaluate([*tokens[: 3 * WINDOW], 5, 6, 7], 3)
    assert again.reused_tokens == 3 * WINDOW
    rewound = again.logits.copy()
    fresh = LlamaModel(settings, maximum_rows=65)
    expected = fresh.evaluate([*tokens[: 3 * WINDOW], 5, 6, 7], 3).logits
    np.testing.assert_allclose(rewound, expected, atol=0.02 * float(np.std(expected)))
    fresh.close()
    model.close()


def test_a_window_that_is_gone_is_evaluated_again(sliding_window: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LlamaModel(LanguageModelSettings(sliding_window, context_tokens=1024, threads=1), maximum_rows=65)
    tokens = [3 + (7 * n) % 90 for n in range(300)]
    model.evaluate(tokens)
    monkeypatch.setattr("llama_cpp.llama_memory_seq_pos_min", lambda memory, sequence: 250)
    assert model.evaluate([*tokens[:200], 5]).reused_tokens == 0
    model.close()


def test_a_recurrent_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mamba.gguf"
    write_recurrent(path)
    with pytest.raises(ModelError, match="recurrent state") as caught:
        LlamaModel(LanguageModelSettings(path, context_tokens=512, threads=1))
    assert "\n" not in str(caught.value)
