"""The trial pass: it is a real one, of the size that it says."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import pytest

from livetrans.speech import speed
from livetrans.speech.speed import pass_seconds


def test_a_trial_pass_encodes_a_full_window_on_the_threads_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[int, dict[str, Any]]] = []
    windows: list[Sequence[int]] = []

    class Counting(ctranslate2.models.Whisper):  # type: ignore[misc]
        def __init__(self, path: str, **given: Any) -> None:
            super().__init__(path, **given)
            loaded.append(((Path(path) / "model.bin").stat().st_size, given))

        def encode(self, features: Any) -> Any:
            encoded = super().encode(features)
            windows.append(encoded.shape)
            return encoded

    monkeypatch.setattr(ctranslate2.models, "Whisper", Counting)
    monkeypatch.setattr(speed, "LAYERS", 2)
    began = time.perf_counter()
    taken = pass_seconds(2)
    assert 0 < taken * speed.PASSES <= time.perf_counter() - began
    [(size, given)] = loaded
    assert given == {"device": "cpu", "compute_type": "int8", "intra_threads": 2}
    assert windows == [[1, 1500, 512]] * speed.PASSES
    assert 6_000_000 < size < 20_000_000
