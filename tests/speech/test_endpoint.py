from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Word
from livetrans.speech.endpoint import ends_sentence, find_endpoint


def spoken(text: str, length: float = 0.3) -> list[Word]:
    return [Word(piece, i * length, (i + 1) * length) for i, piece in enumerate(text.split())]


def endpoint(committed: str, partial: str = "", maximum_words: int = 40, maximum_length: float = 20.0) -> int | None:
    words = spoken(f"{committed} {partial}")
    count = len(committed.split())
    return find_endpoint(words[:count], words[count:], maximum_words, maximum_length)


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("done.", "Then"),
        ("really?", "yes"),
        ("stop!”", "He"),
        ("です。", "次"),
        ("well…", "Yes"),
        ("1990.", "The"),
        ("I.", "Then"),
        ("(so.)", "Now"),
    ],
)
def test_sentence_ends(text: str, following: str) -> None:
    assert ends_sentence(text, following)


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("Mr.", "Smith"),
        ("e.g.", "This"),
        ("3.", "5"),
        ("3.5", "Million"),
        ("J.", "Smith"),
        ("U.S.", "Army"),
        ("3.", "Oktober"),
        ("etc.", "and"),
        ("well...", "then"),
        ("one,", "Two"),
        ("plain", "Word"),
    ],
)
def test_no_sentence_ends(text: str, following: str) -> None:
    assert not ends_sentence(text, following)


def test_a_sentence_ends_its_segment_only_when_more_follows() -> None:
    assert endpoint("This is it.") is None
    assert endpoint("This is it.", "And") == 3
    assert endpoint("This is it. And") == 3
    assert endpoint("This is", "it. And more") is None


def test_a_segment_over_its_cap_is_cut_at_a_clause_of_its_latter_half() -> None:
    assert endpoint("a b, c d e f, g h i j k", "l", maximum_words=10) == 6
    assert endpoint("a b, c d e f g h i j k", "l", maximum_words=10) == 10
    assert endpoint("a b c d e f g", "h i j k", maximum_words=10) == 7


def test_a_segment_over_its_cap_waits_while_little_is_committed() -> None:
    assert endpoint("a b", "c d e f g h i j k", maximum_words=10) is None


def test_the_length_cap_counts_seconds() -> None:
    assert endpoint("a b c d e f g h", maximum_length=1.6) == 5


@given(st.lists(st.sampled_from(["a", "b,", "c.", "Mr.", "D"]), max_size=30), st.integers(0, 30), st.integers(1, 12))
def test_a_cut_is_within_the_committed_words_and_the_cap(texts: list[str], committed: int, maximum: int) -> None:
    words = spoken(" ".join(texts))
    count = find_endpoint(words[:committed], words[committed:], maximum, 1e9)
    assert count is None or 1 <= count <= min(committed, len(words) - 1, maximum)
