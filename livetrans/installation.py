"""Where livetrans runs from, and how a part that was not installed with it is added there."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import requires
from pathlib import Path


def source_tree() -> Path | None:
    """The checkout that this package runs from; None for an installed one."""
    tree = Path(__file__).resolve().parent.parent
    return tree if (tree / "pyproject.toml").is_file() else None


def install_command(extra: str) -> str:
    """A command line that adds an extra of pyproject.toml to the environment of this interpreter.

    It names the checkout, or the extra's own packages; never livetrans by name, which no package index has.
    """
    tree = source_tree()
    needed = ["-e", f"{tree}[{extra}]"] if tree else _packages(extra)
    return shlex.join([sys.executable, "-m", "pip", "install", *needed])


def _packages(extra: str) -> list[str]:
    wanted = f'extra == "{extra}"'
    split = (line.partition(";") for line in requires("livetrans") or ())
    return [package.strip() for package, _, marker in split if marker.replace("'", '"').strip() == wanted]
