from __future__ import annotations

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


def test_a_word_whose_time_moved_past_the_border_does_not_come_twice() -> None:
    agreement = LocalAgreement()
    agreement.update(at("the", "old", "printing"))
    agreement.update(at("the", "old", "printing"))
    late = [*at("the", "old"), Word("printing", 1.45, 1.9), Word("press", 1.9, 2.3)]
    agreement.update(late)
    assert texts(agreement.tail) == ["press"]


def test_a_word_whose_time_moved_before_the_border_is_not_lost() -> None:
    agreement = LocalAgreement()
    agreement.update(at("the", "old", "printing"))
    agreement.update(at("the", "old", "printing"))
    early = [*at("the", "old"), Word("printing", 1.0, 1.2), Word("press", 1.2, 1.6), Word("was", 1.6, 1.8)]
    agreement.update(early)
    assert texts(agreement.tail) == ["press", "was"]


def test_a_speakers_own_repetition_is_kept() -> None:
    agreement = LocalAgreement()
    agreement.update(at("it", "is", "very"))
    agreement.update(at("it", "is", "very"))
    agreement.update(at("it", "is", "very", "very", "good"))
    assert texts(agreement.tail) == ["very", "good"]


def test_the_rest_of_a_word_that_was_trimmed_away_is_dropped_and_a_whole_one_is_kept() -> None:
    for word, kept in ((Word("very", 1.5, 1.6), ["good"]), (Word("very", 1.5, 2.0), ["very", "good"])):
        agreement = LocalAgreement()
        agreement.update(at("it", "is", "very"))
        agreement.update(at("it", "is", "very"))
        agreement.update([word, Word("good", 2.0, 2.5)], buffer_start=1.5)
        assert texts(agreement.tail) == kept


def test_an_empty_hypothesis_takes_nothing_back() -> None:
    agreement = LocalAgreement()
    agreement.update(at("one", "two"))
    agreement.update(at("one", "two"))
    assert agreement.update([]) == ()
    assert texts(agreement.committed) == ["one", "two"]


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
