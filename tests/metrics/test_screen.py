"""Calm and lag as the viewer sees them, on hand-made screens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Caption, Transcript
from livetrans.metrics.captions import ScreenErasure, SeenLag, screen_units


def _caption(segment: int, text: str, *, final: bool = False, shown: int = 0, masked: int = 0, captured: float = 1.0):  # type: ignore[no-untyped-def]
    transcript = Transcript(segment, 0, "", "source", final, 0.0, captured, captured)
    return Caption(transcript, text, tuple(range(shown)), masked_tokens=masked)


@pytest.mark.parametrize(
    ("captions", "erased", "changes"),
    [
        pytest.param([(0, "Guten"), (0, "Guten Tag"), (1, "Wie"), (1, "Wie geht es")], 0, 0, id="a text that grows"),
        pytest.param([(0, "Es ist das Wetter gut"), (0, "Es wird das Wetter gut")], 4, 1, id="a rewrite in the middle"),
        pytest.param([(0, "eins zwei drei"), (0, "eins")], 2, 1, id="a caption that shrinks"),
        pytest.param([(0, "eins zwei"), (1, "drei vier"), (0, "eins zwo")], 3, 1, id="an older segment"),
        pytest.param(
            [(0, "Es regnet. Wir bleiben"), (0, "Es regnet."), (1, "Wir bleiben hier")], 2, 1, id="a late return"
        ),
        pytest.param([(0, "eins zwei"), (0, "eins"), (0, "eins zwei")], 1, 1, id="a return"),
    ],
)
def test_what_takes_words_back_erases_them_and_all_behind(
    captions: list[tuple[int, str]], erased: int, changes: int
) -> None:
    screen = ScreenErasure()
    for segment, text in captions:
        screen.add(_caption(segment, text))
    assert (screen.erased_units, screen.changes) == (erased, changes)
    assert screen.ratio == erased / screen.units


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abc"), max_size=6)), max_size=20))
def test_erasure_is_what_no_prefix_of_the_screen_keeps(updates: list[tuple[int, list[str]]]) -> None:
    """Against the whole screen, compared word by word."""
    screen, text, erased = ScreenErasure(), {}, 0
    shown: list[str] = []
    for segment, words in updates:
        screen.add(_caption(segment, " ".join(words)))
        text[segment] = words
        new = [word for key in sorted(text) for word in text[key]]
        kept = next(
            (at for at, (old, now) in enumerate(zip(shown, new, strict=False)) if old != now), min(len(shown), len(new))
        )
        erased += len(shown) - kept
        shown = new
    assert screen.erased_units == erased
    assert screen.units == len(shown)


def test_words_are_units_and_so_are_characters_without_spaces() -> None:
    assert screen_units("Guten Tag, 研究の gap") == ["Guten", "Tag", ",", "研", "究", "の", "gap"]
    assert screen_units("z.B. 3.5 km, it's e-mail!") == ["z.B", ".", "3.5", "km", ",", "it's", "e-mail", "!"]


def test_seen_lag_waits_until_the_mask_has_passed() -> None:
    lag = SeenLag()
    assert lag.add(_caption(0, "a", shown=1, masked=3, captured=1.0), 1.5) == []
    assert lag.add(_caption(0, "a b c d", shown=4, masked=3, captured=2.0), 2.5) == [1.5]
    assert lag.add(_caption(0, "a b c d e f g", final=True, shown=7, captured=2.2), 3.0) == pytest.approx([1.0, 0.8])
    assert lag.add(_caption(1, "x", shown=1, captured=4.0), 4.25) == [0.25]
