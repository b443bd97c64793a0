"""The recipes of the embedded models: their commands exist, and what both share stands in one place."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[1] / "models/recipes"
DOCUMENTS = sorted([*RECIPES.glob("*/*.md"), RECIPES.parents[1] / "docs/LOG.md"])


@pytest.fixture(autouse=True)
def from_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the documents say: from the top of the checkout."""
    monkeypatch.syspath_prepend(str(RECIPES.parents[1]))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_documented_command_is_a_module_of_the_recipes(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert "python models/recipes/" not in text
    commands = re.findall(r"python -m (models\.recipes\.[\w.]+)", text)
    assert commands
    for command in commands:
        assert importlib.util.find_spec(command) is not None, command


@pytest.mark.parametrize(
    ("written", "spoken"),
    [("7 of 1,250 in 1984", "seven of one thousand two hundred fifty in nineteen eighty four"), ("3.5 km", "3.5 km")],
)
def test_both_recipes_write_numbers_alike(written: str, spoken: str) -> None:
    from models.recipes.common.corpus import spell_numbers

    assert spell_numbers(written) == spoken
