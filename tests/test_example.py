"""The loop in one file runs as it stands, and the names that researchers import are there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import livetrans

EXAMPLE = Path(__file__).parents[1] / "examples" / "minimal.py"


def run(method: str) -> tuple[list[str], float]:
    """Return the finals, and the NE in the last line."""
    done = subprocess.run([sys.executable, EXAMPLE, method], capture_output=True, text=True, check=True)
    *captions, last = done.stdout.splitlines()
    return [line.removeprefix("= ") for line in captions if line.startswith("= ")], float(last.removeprefix("NE "))


def test_the_example_captions_growing_speech_and_measures_its_erasure() -> None:
    (finals, calm), (again, restless) = run("window"), run("rt")
    assert len(finals) == len(again) == 2 and "Bruder" in finals[1] and "Bruder" in again[1]
    assert calm < restless / 4


def test_the_example_is_short_and_takes_public_names_only() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert "from livetrans." not in text and "import livetrans" not in text


def test_every_public_name_is_there_and_documented() -> None:
    assert sorted(livetrans.__all__) == sorted(name for names in livetrans._PUBLIC.values() for name in names)
    architecture = (EXAMPLE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in livetrans.__all__:
        assert getattr(livetrans, name) and f"`{name}`" in architecture, name
    with pytest.raises(AttributeError, match="no public name nothing"):
        livetrans.nothing  # noqa: B018
    assert importlib.util.find_spec("livetrans.nothing") is None
