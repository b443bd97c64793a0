"""A short run of the fuzzers: the same input each time, a long one by `python -m tests.endurance.fuzz`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from livetrans.lm.llama import checks
from tests.endurance.fuzz import cases, targets

COUNTS = {"session": 60, "jsonlines": 60, "config": 60, "glossary": 60, "gguf": 3, "catalogue": 60, "prompts": 20}
"""Cases of each, about a second's worth."""


@pytest.mark.parametrize("name", targets())
def test_mutated_input_is_used_or_refused_in_a_sentence(
    name: str, translator_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_cache_file", lambda: tmp_path / "checked-models.json")
    target = targets()[name]()
    answers = [target.attempt(data) for data in islice(cases(target, seed=1), COUNTS[name])]
    assert len(answers) == COUNTS[name]
