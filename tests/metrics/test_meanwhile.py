"""What is shown meanwhile: made cases of an interpreter, of waiting, of guessing and of another order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.metrics.rates import Meanwhile

REFERENCE = "Wir werden morgen über den neuen Plan für die Brücke sprechen."


def measured(captions: Sequence[str], reference: str = REFERENCE) -> Meanwhile:
    """The measure of captions that come at equal intervals, the last of them when all is heard."""
    meanwhile = Meanwhile()
    for number, caption in enumerate(captions, start=1):
        meanwhile.add(caption, reference, number / len(captions))
    return meanwhile


def prefix(share: float, text: str = REFERENCE) -> str:
    return text[: round(share * len(text))]


def test_an_interpreter_who_keeps_up_has_nearly_everything() -> None:
    keeping_up = measured([prefix(share / 4) for share in range(1, 5)])
    assert keeping_up.right == 1.0
    assert keeping_up.score == pytest.approx(1.0, abs=0.05)


def test_waiting_and_guessing_are_not_rewarded() -> None:
    interpreter = [prefix(share / 4) for share in range(1, 5)]
    late = ["", *interpreter[:-1]]
    guesses = [caption + " zu Hause mit Freunden Kuchen essen" for caption in interpreter]
    keeping_up = measured(interpreter)
    assert measured([""] * 4).score == 0.0 and measured([""] * 4).right is None
    for worse in (late, guesses):
        assert (measured(worse).score or 0.0) < (keeping_up.score or 0.0) - 0.1
    assert (measured(late).amount or 0.0) < 0.9 < 1.1 < (measured(guesses).amount or 0.0)
    # A guess that happens to be right is no better than to keep up.
    assert measured([REFERENCE] * 4).score == pytest.approx(1.0)


def test_a_phrase_in_another_place_is_right_but_for_its_edges() -> None:
    moved = "Morgen werden wir über den neuen Plan sprechen für die Brücke."
    assert 0.6 < (measured([moved]).right or 0.0) < 1.0
    assert (measured(["本を買ったのは駅の近くの店で"], "駅の近くの店で本を買った").right or 0.0) > 0.5


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20), st.floats(0, 2)), max_size=6))
def test_figures_are_shares(cases: list[tuple[str, str, float]]) -> None:
    meanwhile = Meanwhile()
    for shown, reference, heard in cases:
        meanwhile.add(shown, reference, heard, seconds=0.8)
    for share in (meanwhile.right, meanwhile.score):
        assert share is None or 0.0 <= share <= 1.0 + 1e-9
