"""The glossary file: what a line may be, what is said of a bad one, and what the screen writes into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import UsageError
from livetrans.config import Term
from livetrans.names.file import add_spelling, read_terms


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "names.tsv"


def test_a_line_has_a_term_its_translation_and_how_it_was_heard(file: Path) -> None:
    file.write_text(
        '\ufeff# our words\nbridge\tSteg\n\n"Smith, John", Schmidt\n橋,мост\n'
        "OpenRouter\t=\topen router | open vrouter\n"
        "Siobhan,,shiv on | de: Schiffon\nGrafana\n",
        encoding="utf-8",
    )
    terms, faults = read_terms(file)
    assert terms == (
        Term("bridge", "Steg"),
        Term("Smith, John", "Schmidt"),
        Term("橋", "мост"),
        Term("OpenRouter", "OpenRouter", (("open router", ""), ("open vrouter", ""))),
        Term("Siobhan", "", (("shiv on", ""), ("Schiffon", "de"))),
        Term("Grafana"),
    )
    assert faults == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"a line of a text that somebody named by mistake", "line 2 of .* is not a term; write a term, a tab"),
        (b"c,d,e,f", "line 2 of"),
        (b",Steg", "line 2 of"),
        (b"\x1b[2J,x", "line 2 of"),
        (b"A,c", "line 2 of .* has 'A' again; keep one"),
        ("\u200b\u200b,b".encode(), "line 2 of"),
        (b"x" * 200_000 + b",y", "line 2 of"),
        (b"b,,AY", "line 2 of .* has a spelling that 'a' has too"),
    ],
    ids=range(8),
)
def test_a_bad_line_is_one_sentence_and_the_others_work(file: Path, line: bytes, sentence: str) -> None:
    file.write_bytes(b"a,=,ay\n" + line + b"\nlast,=\n")
    terms, [fault] = read_terms(file)
    assert [term.text for term in terms] == ["a", "last"]
    with pytest.raises(UsageError, match=sentence):
        raise UsageError(fault)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"# nothing\n", "holds no terms"),
        (b",x\n,y\n", "line 1 of"),
        ("Brücke,pont".encode("latin-1"), "is not UTF-8"),
        (None, "cannot be read"),
    ],
    ids=range(4),
)
def test_a_file_without_terms_is_refused_in_one_sentence(file: Path, content: bytes | None, sentence: str) -> None:
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        read_terms(file)


@given(st.binary(max_size=60))
def test_any_file_is_a_glossary_or_a_usage_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("glossary") / "terms.csv"
    file.write_bytes(content)
    try:
        assert all(term.text for term in read_terms(file)[0])
    except UsageError as error:
        assert "\n" not in str(error)


def test_a_kept_correction_is_on_the_line_of_its_term_or_on_a_new_one(file: Path) -> None:
    add_spelling(file, "Vineela", "Vanilla")
    file.write_text(f'# names\n{file.read_text()}"Smith, John",Schmidt\nOpenRouter,=,open router\n')
    add_spelling(file, "openrouter", "open, vrouter")
    add_spelling(file, "Smith, John", "smit joan")
    add_spelling(file, "Vineela", "vin eela")
    file.write_text(f"{file.read_text()}Vanessa,=,en: vanilla | vanesa\n")
    add_spelling(file, "Venilla", "vanilla")
    add_spelling(file, "#one", 'tag "one')
    add_spelling(file, "#one", '"tag" one')
    terms, faults = read_terms(file)
    assert faults == []
    assert file.read_text().startswith("# names\n")
    assert {term.text: [one for one, _ in term.heard] for term in terms} == {
        "Vineela": ["vin eela"],
        "Venilla": ["vanilla"],
        "Smith, John": ["smit joan"],
        "OpenRouter": ["open router", "open, vrouter"],
        "Vanessa": ["vanesa"],
        "#one": ['tag "one', '"tag" one'],
    }
