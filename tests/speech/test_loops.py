from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Word
from livetrans.speech.loops import drop_loops


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
