"""What the documents name exists: files, folders, commands and options; each part of the package is in the picture."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from livetrans.cli import cli

TREE = Path(__file__).parents[1]
PACKAGE = TREE / "livetrans"


def named_paths(document: str) -> set[str]:
    """What stands in code quotes and looks like a Python file, a document or a folder."""
    text = re.sub(r"```.*?```", "", (TREE / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"`([a-z_/]+(?:\.py|\.md|/))`", text))


DECISIONS = sorted(str(path.relative_to(TREE)) for path in TREE.glob("docs/decisions/0*.md"))


@pytest.mark.parametrize("document", ["docs/architecture.md", "docs/adding.md", *DECISIONS])
def test_named_files_exist(document: str) -> None:
    # The decoder that docs/adding.md adds is not in the tree.
    paths = named_paths(document) - {"livetrans/decoding/fading.py"}
    folders = (TREE, PACKAGE, PACKAGE / "lm", PACKAGE / "decoding")
    assert paths or document in DECISIONS
    assert not [path for path in paths if not any((folder / path).exists() for folder in folders)]


def test_every_part_of_the_package_is_in_the_picture() -> None:
    paths = named_paths("docs/architecture.md")
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    assert not (folders | modules) - paths


def test_every_citation_of_the_log_names_one_of_its_entries() -> None:
    folders = ("livetrans", "tests", "docs", "models/recipes")
    files = [path for folder in folders for path in TREE.glob(f"{folder}/**/*") if path.suffix in (".py", ".md")]
    cited = {name for path in files for name in re.findall(r"LOG\.md#([a-z0-9-]+)", path.read_text(encoding="utf-8"))}
    entries = set(re.findall(r'<a id="([^"]+)">', (TREE / "docs/LOG.md").read_text(encoding="utf-8")))
    assert cited and not cited - entries


def shell_commands(document: str) -> list[list[str]]:
    """The arguments of every `livetrans` command in the document's blocks of shell."""
    blocks = re.findall(r"```sh\n(.*?)```", (TREE / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    commands = [part for line in lines for part in re.split(r"[;|>]", line.partition(" #")[0])]
    return [shlex.split(command)[1:] for command in commands if command.split()[:1] == ["livetrans"]]


@pytest.mark.parametrize("document", ["README.md", "docs/using.md", "docs/bench.md", "docs/LOG.md", "docs/decoders.md"])
def test_every_command_has_only_options_that_exist(document: str) -> None:
    for arguments in shell_commands(document):
        context = cli.make_context("livetrans", list(arguments))
        while isinstance(context.command, click.Group) and (left := context._protected_args + context.args):
            name, command, rest = context.command.resolve_command(context, left)
            assert command is not None
            context = command.make_context(name, rest, parent=context)
