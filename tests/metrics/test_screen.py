"""Calm and lag as the viewer sees them, on hand-made screens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livetrans.events import Caption, Transcript
from livetrans.metrics.captions import ScreenErasure, TranslationLag, screen_units
from tests.run.account import erased, lags_of


def _caption(segment: int, text: str, *, source: str = "a", final: bool = False, captured: float = 1.0) -> Caption:
    return Caption(Transcript(segment, 0, "", source, final, 0.0, captured, captured), text)


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abc"), max_size=6)), max_size=20))
@example([(0, ["eins", "zwei"]), (1, ["drei", "vier"]), (0, ["eins", "zwo"])])
def test_what_takes_words_back_erases_them_and_all_behind(updates: list[tuple[int, list[str]]]) -> None:
    """Against the whole screen, compared word by word."""
    screen, text, count, changes = ScreenErasure(), {}, 0, 0
    shown: list[str] = []
    for segment, words in updates:
        screen.add(_caption(segment, " ".join(words)))
        text[segment] = words
        new = [word for key in sorted(text) for word in text[key]]
        count += (lost := erased(shown, new))
        changes += lost > 0
        shown = new
    assert (screen.erased_units, screen.changes, screen.units) == (count, changes, len(shown))
    assert screen.ratio == (count / len(shown) if shown else None)


def test_words_are_units_and_so_are_characters_without_spaces() -> None:
    assert screen_units("Guten Tag, 研究の gap") == ["Guten", "Tag", ",", "研", "究", "の", "gap"]
    assert screen_units("z.B. 3.5 km, it's e-mail!") == ["z.B", ".", "3.5", "km", ",", "it's", "e-mail", "!"]


def _lags(*captions: tuple[str, str, float], segment: int = 0) -> tuple[list[float], list[float]]:
    """The lags of a segment from its captions (source, text, time), a word a second from 0; the last is its final."""
    lag = TranslationLag()
    found: tuple[list[float], list[float]] = [], []
    for number, (source, text, at) in enumerate(captions, start=1):
        end = float(len(source.split()))
        found = lag.add(
            Caption(Transcript(segment, number, "", source, number == len(captions), 0.0, end, end), text), at
        )
        assert number == len(captions) or found == ([], [])
    return found


def test_a_word_is_seen_once_its_share_of_the_final_stands() -> None:
    growing, final = _lags(("a b", "eins", 2.5), ("a b c", "eins zwei", 4.0), ("a b c d", "eins zwei drei vier.", 5.5))
    assert (growing, final) == (pytest.approx([1.5, 2.0]), pytest.approx([2.5, 1.5]))


def test_words_that_come_together_count_each() -> None:
    """Where three words wait for a fourth, the first is three seconds late, whatever the update's newest word is."""
    assert _lags(("a b c d", "eins zwei drei vier", 4.5), ("a b c d", "eins zwei drei vier", 9.0)) == (
        pytest.approx([3.5, 2.5, 1.5, 0.5]), []
    )  # fmt: skip


def test_what_is_taken_back_was_not_seen() -> None:
    growing, final = _lags(("a b", "eins zwei", 2.5), ("a b c", "eins zwo drei", 3.5), ("a b c", "eins zwei drei", 6.0))
    assert (growing, final) == (pytest.approx([1.5]), pytest.approx([4.0, 3.0]))


def test_marks_are_not_waited_for() -> None:
    assert _lags(("a b", "eins zwei", 2.5), ("a b.", "eins, zwei.", 6.0)) == (pytest.approx([1.5, 0.5]), [])


def test_what_has_no_instant_or_no_text_has_no_lag() -> None:
    lag = TranslationLag()
    for text, captured in (("eins", None), ("", 1.0)):
        assert lag.add(Caption(Transcript(0, 0, "", "a", True, 0.0, 1.0, captured), text), 2.0) == ([], [])


WORDS = st.lists(st.sampled_from("abc"), max_size=6)


@given(st.lists(st.tuples(st.integers(1, 8), WORDS, st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_the_lag_knows_captions_alone(updates: list[tuple[int, list[str], int, int]]) -> None:
    """What the reader cannot see changes nothing: how many tokens were written, and how many of them are hidden.

    So a method that stops early is timed as one that hides what it wrote, and all as somebody counts who looks on.
    """
    seen = [
        (
            float(at),
            _caption(0, " ".join(text), source=" ".join("w" * count), final=at == len(updates), captured=float(count)),
        )
        for at, (count, text, _, _) in enumerate(updates, start=1)
    ]
    lag, other = TranslationLag(), TranslationLag()
    found = [lag.add(caption, at) for at, caption in seen][-1]
    masked = [
        replace(caption, tokens=tuple(range(shown)), masked_tokens=hidden)
        for (_, caption), (_, _, shown, hidden) in zip(seen, updates, strict=True)
    ]
    assert [other.add(caption, at) for (at, _), caption in zip(seen, masked, strict=True)][-1] == found
    assert sorted(found[0] + found[1]) == pytest.approx(lags_of(seen))
