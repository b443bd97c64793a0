"""What the documents name exists: links, files, commands with their options, and the decoder that adding.md adds."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.cli import cli
from livetrans.config import DecodingSettings
from livetrans.decoding import DECODERS, Decode, Decoded, Decoding, Draft
from livetrans.names.file import read_terms
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, hashed_rule

TREE = Path(__file__).parents[1]
PAGES = ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")
DOCUMENTS = [*(TREE / f"{page}.md" for page in PAGES), TREE / "models/README.md", *sorted(TREE.glob("docs/**/*.md"))]
documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them, and those that it sets itself."""
    text = document.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


@documents
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        if not name.startswith(("http:", "https:")):
            file = (document.parent / name) if name else document
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


@documents
def test_every_file_named_in_code_quotes_exists(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    paths = set(re.findall(r"`((?:livetrans|docs|tests|models|recordings)/[\w/.-]+\.(?:py|md|toml)|[a-z_]+/)`", text))
    folders = (TREE, TREE / "livetrans", document.parent)
    assert not [path for path in paths if not any((folder / path).exists() for folder in folders)]


def shell_commands(document: Path) -> list[list[str]]:
    """Return the arguments of every `livetrans` command in the document's blocks of shell."""
    blocks = re.findall(r"```sh\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    commands = [part for line in lines for part in re.split(r"[;|>]", line.partition(" #")[0])]
    return [shlex.split(command)[1:] for command in commands if command.split()[:1] == ["livetrans"]]


@pytest.fixture
def example_glossary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The glossary that docs/using.md shows, under the name that commands give, in the working folder."""
    [example] = re.findall(r"```\n(\w+,=.*?)```", (TREE / "docs/using.md").read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "names.tsv"
    file.write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return file


def test_the_glossary_of_the_example_has_three_terms(example_glossary: Path) -> None:
    terms, faults = read_terms(example_glossary)
    assert [term.text for term in terms] == ["OpenRouter", "Siobhan", "city council"] and not faults


@pytest.mark.usefixtures("example_glossary")
@documents
def test_every_command_has_only_options_that_exist(document: Path) -> None:
    for arguments in shell_commands(document):
        context = cli.make_context("livetrans", list(arguments))
        while isinstance(context.command, click.Group) and (left := context._protected_args + context.args):
            name, command, rest = context.command.resolve_command(context, left)
            assert command is not None
            context = command.make_context(name, rest, parent=context)


EXAMPLE: dict[str, Decode] = {}
exec(re.findall(r"```python\n(.*?)```", (TREE / "docs/adding.md").read_text(encoding="utf-8"), re.DOTALL)[0], EXAMPLE)


def decode(decoder: Decode, model: ScriptedModel, source: list[int], draft: tuple[int, ...]) -> Decoded:
    prompt = [BEGIN, SOURCE, *source, TARGET]
    return decoder(Decoding(model, prompt, 24), Draft(draft), DecodingSettings(bias=0.0))


@given(st.lists(st.integers(4, 20), min_size=1, max_size=8), st.integers(0, 99))
def test_the_decoder_of_the_example_writes_without_bias_what_retranslation_writes(source: list[int], seed: int) -> None:
    plain, drafted = (ScriptedModel(hashed_rule(seed), vocabulary_size=24) for _ in range(2))
    draft: tuple[int, ...] = ()
    for length in range(1, len(source) + 1):
        expected = decode(DECODERS["rt"].decode, plain, source[:length], ())
        written = decode(EXAMPLE["fading"], drafted, source[:length], draft)
        assert written.tokens == expected.tokens
        draft = written.tokens
