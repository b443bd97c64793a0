"""One word, one meaning: names of classes as docs/glossary.md has them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

TREE = Path(__file__).parents[1]
CLASSES = [
    node.name
    for path in sorted(TREE.glob("livetrans/**/*.py"))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef)
]
VAGUE = {"own", "told", "said", "asked"}
"""Names that say who acted, not what is inside."""


def words(name: str) -> str:
    """Return the words of a class's name as a sentence has them: `measured run `."""
    return "".join(f"{word} " for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", name)).lower()


def test_no_two_classes_share_a_name() -> None:
    repeated = {name: count for name, count in Counter(name.lstrip("_") for name in CLASSES).items() if count > 1}
    assert not repeated


def test_words_of_the_glossary_name_the_classes_that_it_lists() -> None:
    section = (TREE / "docs/glossary.md").read_text(encoding="utf-8").partition("## One word, one meaning")[2]
    rows = re.findall(r"^\| ([a-z ]+?) \|.*\|(.*)\|$", section, flags=re.MULTILINE)
    listed = {name for _, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed and listed <= set(CLASSES)
    terms = [re.compile(rf"\b{word.split()[0]}(ed|er|s)?\b") for word, _ in rows]
    found = {name for name in CLASSES if any(term.search(words(name)) for term in terms)}
    assert found == listed


def test_names_of_data_say_what_is_inside() -> None:
    vague = [
        f"{path.name}:{node.lineno} {node.id}"
        for path in sorted(TREE.glob("livetrans/**/*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
    ]
    assert not vague


def test_no_file_is_longer_than_one_idea_needs() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in TREE.glob("livetrans/**/*.py")}
    assert not {path.name: length for path, length in lengths.items() if length > 370}
