from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Word
from livetrans.speech.words import comparison_form, drop_loops, ends_sentence, find_endpoint, is_spoken, words_text


def test_case_and_punctuation_do_not_count() -> None:
    assert comparison_form("Hello,") == comparison_form("hello") == "hello"
    assert comparison_form("don't") == comparison_form("Don’t")
    assert comparison_form("नमस्ते") != comparison_form("नमसत")
    assert comparison_form("—") == "—"


def test_japanese_is_joined_without_spaces() -> None:
    assert words_text([Word("今日", 0, 1), Word("は。", 1, 2)]) == "今日は。"
    assert words_text([Word("good", 0, 1), Word("day", 1, 2)]) == "good day"


def test_punctuation_and_music_say_nothing() -> None:
    assert not any(map(is_spoken, [".", "—", "♪", "...", ""]))
    assert all(map(is_spoken, ["a", "7", "%", "&", "$", "本", "'s"]))


def cut(text: str) -> str:
    words = [Word(piece, i, i + 1) for i, piece in enumerate(text.split())]
    return " ".join(word.text for word in drop_loops(words))


@pytest.mark.parametrize(
    "text",
    ["no, no, no", "it is very very very good", "words words words words um and", "I know, I know that", "bye bye", ""],
)
def test_what_people_say_stays(text: str) -> None:
    assert cut(text) == text


def test_one_word_eight_times_is_said_once_wherever_it_stands() -> None:
    assert cut("well " + "No, no. " * 4 + "then") == "well No, then"
    assert cut("well " + "no " * 7 + "then") == "well " + "no " * 7 + "then"


def test_a_phrase_three_times_at_the_tail_is_said_once() -> None:
    assert cut("so " + "thank you, " * 3) == "so thank you,"
    assert cut("so a b C d. A b c d a b c d, a b") == "so a b C d."
    assert cut("thank you thank you thank you so much") == "thank you thank you thank you so much"


@given(
    st.lists(st.sampled_from("vwxyz"), max_size=6),
    st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=8, unique=True),
    st.integers(3, 12),
    st.integers(0, 7),
)
def test_any_loop_at_the_tail_leaves_one_occurrence(
    before: list[str], phrase: list[str], times: int, more: int
) -> None:
    tail = (phrase * (times + 2))[: len(phrase) * times + min(more, len(phrase) - 1)]
    assert cut(" ".join(["start", *tail])) == " ".join(["start", *phrase])
    kept = drop_loops([Word(text, i, i + 1) for i, text in enumerate([*before, *tail])])
    assert drop_loops(kept) == kept


def spoken(text: str, length: float = 0.3) -> list[Word]:
    return [Word(piece, i * length, (i + 1) * length) for i, piece in enumerate(text.split())]


def endpoint(text: str, maximum_words: int = 40, maximum_length: float = 20.0, least: int = 1) -> int | None:
    return find_endpoint(spoken(text), maximum_words, maximum_length, least)


ENDS = ["done. Then", "really? yes", "stop!” He", "です。 次", "well… Yes", "1990. The", "I. Then", "(so.) Now"]
GOES_ON = [
    *("Mr. Smith", "e.g. This", "3. 5", "3.5 Million", "J. Smith", "U.S. Army"),
    *("3. Oktober", "etc. and", "well... then", "one, Two", "plain Word"),
]


@pytest.mark.parametrize(("pair", "ends"), [*((pair, True) for pair in ENDS), *((pair, False) for pair in GOES_ON)])
def test_sentence_ends(pair: str, ends: bool) -> None:
    assert ends_sentence(*pair.split()) == ends


def test_a_sentence_ends_its_segment_only_when_more_follows() -> None:
    assert endpoint("This is it.") is None
    assert endpoint("This is it. And") == 3
    assert endpoint("This is it. And more. Then", least=4) == 5


def test_a_segment_near_its_cap_ends_at_a_clause_and_at_the_cap_anywhere() -> None:
    assert endpoint("a b, c d e f g, h i j k", maximum_words=10) == 10
    assert endpoint("a b, c d e f g h, i j k", maximum_words=10) == 8
    assert endpoint("a b c d e f g h i j", maximum_words=10) is None


def test_the_length_cap_counts_seconds() -> None:
    assert endpoint("a b c d e f g h", maximum_length=1.6) == 6


@given(st.lists(st.sampled_from(["a", "b,", "c.", "Mr.", "D"]), max_size=30), st.integers(1, 12))
def test_an_end_is_known_from_the_first_word_behind_it_on(texts: list[str], maximum: int) -> None:
    """So words that are shown never go to another segment because more words come."""
    words = spoken(" ".join(texts))
    count = find_endpoint(words, maximum, 1e9)
    assert count is None or 1 <= count <= min(len(words) - 1, maximum)
    for shorter in range(len(words)):
        assert find_endpoint(words[:shorter], maximum, 1e9) == (count if count and shorter > count else None)


@pytest.mark.parametrize(("letter", "most"), [("字", 12), ("ก", 12), ("a", 4)])
def test_letters_of_a_script_without_spaces_count_less_than_words(letter: str, most: int) -> None:
    words = [Word(letter, number * 0.1, number * 0.1 + 0.1) for number in range(30)]
    assert find_endpoint(words, 4, 1e9) == most
    assert find_endpoint(words[:most], 4, 1e9) is None
