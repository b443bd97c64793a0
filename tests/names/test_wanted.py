"""What captions should have for terms: in which language, which words of a source, and what counts as kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.languages import parse_language
from livetrans.config import Term
from livetrans.names.wanted import Glossary, Wanted, kept, wanted_of

EN, DE, FR, PL, JA = map(parse_language, ("en", "de", "fr", "pl", "ja"))
COUNCIL = Term("city council", "Stadtrat")


@pytest.mark.parametrize(
    ("term", "way", "expected"),
    [
        (Term("Siobhan", "Siobhan"), (EN, PL), ("Siobhan", "Siobhan", True)),
        (Term("Siobhan"), (EN, DE), ("Siobhan", "Siobhan", True, False)),
        (Term("Siobhan"), (EN, PL), None),
        (Term("broker"), (EN, DE), None),
        (COUNCIL, (EN, DE), ("city council", "Stadtrat", False)),
        (COUNCIL, (EN, FR), None),
        (COUNCIL, (DE, EN), ("Stadtrat", "city council", False)),
        (Term("Siobhan", "Siobhan"), (DE, EN), ("Siobhan", "Siobhan", True, False)),
        (Term("Munich", "München"), (DE, EN), ("München", "Munich", True, False)),
        (Term("city council", "de: Stadtrat | fr: conseil"), (EN, FR), ("city council", "conseil", False)),
        (Term("city council", "fr: conseil"), (FR, EN), ("conseil", "city council", False)),
        (Term("city council", "Stadtrat | fr: conseil"), (EN, DE), ("city council", "Stadtrat", False)),
        (Term("city council", "Stadtrat | fr: conseil"), (EN, JA), None),
        (Term("Grafana", "ja: グラファナ"), (EN, JA), ("Grafana", "グラファナ", True)),
    ],
)
def test_a_term_is_wanted_by_its_translation_as_it_is_or_where_its_language_copies_names(
    term: Term,
    way: tuple,
    expected: tuple | None,  # type: ignore[type-arg]
) -> None:
    assert wanted_of([term], *way, first=(EN, DE)) == ([Wanted(*expected)] if expected else [])


@given(st.text(max_size=80))
def test_terms_are_found_as_whole_words_and_a_longer_term_hides_shorter_ones(text: str) -> None:
    pairs = (("bridge", "Steg"), ("Bridge Street", "Brückenstraße"), ("city council", "Rat"))
    glossary = Glossary(Wanted(*pair) for pair in pairs)
    found = glossary.due(f"{text} the BRIDGE, in bridge  street and the City Council; bridges {text}")
    assert {one.term for one in found} == {"bridge", "Bridge Street", "city council"}
    assert glossary.due("abridged bridgehead") == {}
    assert [one.text for one in Glossary([Wanted("橋", "Steg")]).due("新しい橋の話")] == ["Steg"]


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("Rose", "I met Rose and Rose's mother.", ["Rose", "Rose"]),
        ("Rose", "The sun rose at six.", []),
        ("Rose", "Rose gardens need water.", []),
        ("Rose", "He left. Rose came.", []),
        ("Will", "Will you come? Ask Will.", ["Will"]),
        ("May", "We may go in May.", ["May"]),
        (
            "Acme Inc.",
            "We met Acme Inc. today. Acme Inc.'s shares fell at ACME Inc",
            ["Acme Inc.", "Acme Inc.", "ACME Inc"],
        ),
        ("Kubernetes", "Kubernetes and kubernetes", ["Kubernetes", "kubernetes"]),
        ("Visual Studio Code", "visual studio code is here", ["visual studio code"]),
    ],
)
def test_a_common_word_is_a_name_only_with_a_capital_that_no_sentence_begins_with(
    term: str, text: str, found: list[str]
) -> None:
    places = Glossary([Wanted(term, term, True)]).found(text)
    assert [text[begin:end] for begin, end, _ in places] == found


def test_a_longer_name_is_counted_and_not_those_in_it() -> None:
    names = [Wanted(name, name, True, False) for name in ("New York", "New York City", "Annabel", "Ann")]
    due = Glossary(names).due("So Ann and Annabel left New York City for New York, says Annabel.")
    assert {one.text: count for one, count in due.items()} == {
        "Ann": 1, "Annabel": 2, "New York City": 1, "New York": 1
    }  # fmt: skip
    assert kept(due, "Ann und Annabel gingen von New York City nach New York, sagt Annabel.") == 5
    assert kept(due, "Anna und Annabels ging nach New Yorks.") == 2


@pytest.mark.parametrize(
    ("text", "wanted", "count"),
    [
        ("Wir nutzen openrouter, ja", Wanted("", "OpenRouter"), 1),
        ("Wir nutzen openrouter, ja", Wanted("", "OpenRouter", True, False), 0),
        ("Grafanas Farben, Grafana's", Wanted("", "Grafana", True, False), 2),
        ("Grafanaus Farben", Wanted("", "Grafana", True, False), 0),
        ("z Grafaną, Grafany i grafana", Wanted("", "Grafan", True), 2),
        ("Grafana-Farben", Wanted("", "Grafana", True, False), 1),
        ("die Überbrücke", Wanted("", "Brücke"), 0),
        ("die Brücken", Wanted("", "Brücke"), 1),
        ("der  Hohe Rat tagt", Wanted("", "hohe rat"), 1),
        ("新しい橋の話", Wanted("", "橋"), 1),
        ("グラファナを使う", Wanted("", "グラファナ", True), 1),
        ("", Wanted("", "x"), 0),
    ],
)
def test_a_name_is_kept_as_it_is_and_another_term_in_any_form(text: str, wanted: Wanted, count: int) -> None:
    assert wanted.count(text) == count
