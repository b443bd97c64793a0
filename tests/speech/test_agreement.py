from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Word
from livetrans.speech.agreement import LocalAgreement


def at(*texts: str, start: float = 0.0, length: float = 0.5) -> list[Word]:
    return [Word(text, start + i * length, start + (i + 1) * length) for i, text in enumerate(texts)]


def texts(words: object) -> list[str]:
    return [word.text for word in words]  # type: ignore[attr-defined]


def test_what_two_passes_agree_on_is_committed_in_the_newer_spelling() -> None:
    agreement = LocalAgreement()
    assert agreement.update(at("hello", "word")) == ()
    assert texts(agreement.update(at("Hello,", "world", "how"))) == ["Hello,"]
    assert texts(agreement.tail) == ["world", "how"]
    assert texts(agreement.update(at("Hello", "world", "how", "are"))) == ["world", "how"]
    assert texts(agreement.committed) == ["Hello,", "world", "how"]


def committed(*words: str) -> LocalAgreement:
    """An agreement that has committed the words."""
    agreement = LocalAgreement()
    agreement.update(at(*words))
    agreement.update(at(*words))
    return agreement


@pytest.mark.parametrize(
    ("before", "hypothesis", "buffer_start", "tail"),
    [
        ("the old printing", [*at("the", "old"), Word("printing", 1.45, 1.9), Word("press", 1.9, 2.3)], 0.0, "press"),
        ("the old printing", [*at("the", "old"), Word("printing", 1.0, 1.2), Word("press", 1.2, 1.6)], 0.0, "press"),
        ("it is very", at("it", "is", "very", "very", "good"), 0.0, "very good"),
        ("it is very", [Word("very", 1.5, 1.6), Word("good", 2.0, 2.5)], 1.5, "good"),
        ("it is very", [Word("very", 1.5, 2.0), Word("good", 2.0, 2.5)], 1.5, "very good"),
    ],
    ids=["time moved past the border", "time moved before it", "a real repetition", "rest of a word", "a whole word"],
)
def test_no_word_comes_twice_and_none_is_lost(
    before: str, hypothesis: list[Word], buffer_start: float, tail: str
) -> None:
    agreement = committed(*before.split())
    agreement.update(hypothesis, buffer_start)
    assert texts(agreement.tail) == tail.split()


def test_each_committed_word_is_forgotten_once() -> None:
    agreement = LocalAgreement()
    spoken = at(*(f"w{i}" for i in range(40)))
    agreement.update(spoken)
    agreement.update(spoken)
    forgotten = [*agreement.forget_before(3.0), *agreement.forget_before(7.2), *agreement.forget_before(1e9)]
    assert forgotten == spoken
    assert len(agreement.committed) <= 8


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=8), max_size=8))
def test_committed_words_only_ever_grow(hypotheses: list[list[str]]) -> None:
    agreement = LocalAgreement()
    everything: list[Word] = []
    for hypothesis in hypotheses:
        newly = agreement.update(at(*hypothesis))
        everything.extend(newly)
        assert agreement.committed == everything


@given(
    st.lists(st.sampled_from(["yes", "no", "well", "now"]), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=12).map(sorted),
)
def test_a_growing_hypothesis_is_committed_whole_and_once(spoken: list[str], lengths: list[int]) -> None:
    agreement = LocalAgreement()
    words = at(*spoken)
    for length in [*lengths, len(words), len(words)]:
        agreement.update(words[:length])
    assert agreement.committed == words


def test_a_word_between_which_passes_waver_holds_up_nothing_behind_it() -> None:
    agreement = LocalAgreement()
    agreement.update(at("some", "bread", "and", "a", "bottle"))
    assert texts(agreement.update(at("some", "bridge", "and", "a", "bottle"))) == ["some"]
    assert texts(agreement.update(at("some", "bread", "and", "a", "bottle", "of"))) == []
    assert texts(agreement.update(at("some", "bridge", "and", "a", "bottle", "of"))) == [
        "bridge",
        "and",
        "a",
        "bottle",
        "of",
    ]
