"""The files and folders that the documents name exist; each part of the package is in the picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]
PACKAGE = TREE / "livetrans"


def named_paths(document: str) -> set[str]:
    """What stands in code quotes and looks like a Python file, a document or a folder."""
    text = re.sub(r"```.*?```", "", (TREE / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"`([a-z_/]+(?:\.py|\.md|/))`", text))


@pytest.mark.parametrize("document", ["docs/architecture.md", "docs/adding.md"])
def test_named_files_exist(document: str) -> None:
    # The decoder that docs/adding.md adds is not in the tree.
    paths = named_paths(document) - {"livetrans/decoding/twice.py"}
    folders = (TREE, PACKAGE, PACKAGE / "lm", PACKAGE / "decoding")
    assert paths
    assert not [path for path in paths if not any((folder / path).exists() for folder in folders)]


def test_every_part_of_the_package_is_in_the_picture() -> None:
    paths = named_paths("docs/architecture.md")
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    assert not (folders | modules) - paths
