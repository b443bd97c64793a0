"""Which of two languages is spoken: decided in time, symmetric, and calm, whatever the passes say."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from livetrans.speech.between import CLEAR, LATEST, Conversation

Pass = tuple[float, float]
"""Log-odds of the first language, and the probability of all others together."""

ODDS = st.floats(-8, 8).map(lambda odds: round(odds, 3))
PASSES = st.lists(st.tuples(ODDS, st.sampled_from([0.0, 0.3, 0.9])), min_size=1, max_size=20)
STRETCHES = st.lists(st.tuples(st.floats(0, 6), PASSES, st.floats(0.2, 1.2)), min_size=1, max_size=5)


def probabilities(odds: float, outside: float = 0.0, third: str = "fr") -> dict[str, float]:
    first = (1 - outside) / (1 + math.exp(-odds))
    return {"en": first, "de": 1 - outside - first, third: outside}


def stretch(
    conversation: Conversation, passes: list[Pass], step: float = 0.8, silence: float = 1.0
) -> list[tuple[float, str | None]]:
    """Play a stretch; return the seconds that each pass had heard, and what was decided after it."""
    conversation.begin(0.0, silence)
    decided, heard = [], 0.0
    for number, (odds, outside) in enumerate(passes, start=1):
        latest, heard = conversation.latest or math.inf, heard + step
        if heard - step < latest < heard:
            heard = latest  # As the transcriber does.
        languages = conversation.hear(probabilities(odds, outside), heard, final=number == len(passes))
        if len(languages) > 1:
            conversation.settle("en" if odds > 0 else "de")
        decided.append((heard, conversation.decided))
    conversation.end()
    return decided


@given(STRETCHES)
def test_it_is_decided_within_two_seconds_and_at_the_end(stretches: list[tuple[float, list[Pass], float]]) -> None:
    conversation = Conversation(("en", "de"))
    for silence, passes, step in stretches:
        decided = stretch(conversation, passes, step, silence)
        assert all(language for heard, language in decided if heard >= LATEST)
        assert decided[-1][1] in ("en", "de", "fr")


@given(STRETCHES)
def test_a_stretch_is_never_undecided_again(stretches: list[tuple[float, list[Pass], float]]) -> None:
    conversation = Conversation(("en", "de"))
    for silence, passes, step in stretches:
        known = [language for _, language in stretch(conversation, passes, step, silence)]
        assert all(after for before, after in pairwise(known) if before)


def test_a_stretch_has_as_many_turns_as_are_clearly_heard() -> None:
    conversation = Conversation(("en", "de"))
    turns = ["en", "de", "en", "de", "en"]
    passes = [(4.0 if spoken == "en" else -4.0, 0.0) for spoken in turns for _ in range(5)]
    assert [language for _, language in stretch(conversation, passes)][4::5] == turns


@given(STRETCHES)
def test_both_languages_are_treated_alike(stretches: list[tuple[float, list[Pass], float]]) -> None:
    conversation, mirrored = Conversation(("en", "de")), Conversation(("de", "en"))
    for silence, passes, step in stretches:
        ours = stretch(conversation, passes, step, silence)
        if any(odds == 0 for odds, _ in passes):
            return  # Without any evidence the first one is taken.
        assert ours == stretch(mirrored, passes, step, silence)


@given(st.sampled_from([1, -1]), st.integers(3, 12), st.integers(0, 11), st.sampled_from([1, -1, 0]))
def test_one_wild_pass_never_flips_clear_speech(side: int, count: int, wild: int, before: int) -> None:
    conversation, spoken = Conversation(("en", "de")), "en" if side > 0 else "de"
    if before:
        stretch(conversation, [(4.0 * before, 0.0)] * 3)
    passes = [(-4.0 * side if number == wild else 2.0 * side, 0.0) for number in range(count)]
    assert all(language in (None, spoken) for _, language in stretch(conversation, passes))


@given(PASSES, st.integers(0, 19))
def test_a_change_needs_three_clear_passes_in_a_row(passes: list[Pass], first: int) -> None:
    conversation = Conversation(("en", "de"))
    decided = stretch(conversation, [(odds, 0.0) for odds, _ in passes])
    for number, ((_, before), (_, after)) in enumerate(pairwise(decided), start=1):
        if before and after != before and number + 1 < len(passes):
            row = [odds for odds, _ in passes[number - 2 : number + 1]]
            assert all(abs(odds) >= CLEAR and (odds > 0) == (after == "en") for odds in row) and len(row) == 3


def test_the_stretch_before_is_the_prior_of_weak_evidence() -> None:
    for before, odds in ((4.0, -0.3), (-4.0, 0.3)):
        conversation = Conversation(("en", "de"))
        stretch(conversation, [(before, 0.0)] * 3)
        conversation.begin(0.0, 0.8)
        conversation.hear(probabilities(odds), 2.0)
        assert conversation.decided == ("en" if before > 0 else "de")


def test_a_third_language_needs_three_passes_and_is_no_prior() -> None:
    conversation = Conversation(("en", "de"))
    known = [language for _, language in stretch(conversation, [(0.1, 0.9)] * 5)]
    assert known[:2] == [None, None] and set(known[2:]) == {"fr"}
    assert stretch(conversation, [(2.0, 0.9), (2.0, 0.9), (2.0, 0.1), (2.0, 0.1)])[-1][1] == "en"
    conversation.begin(0.0, 1.0)
    for number, code in enumerate(["fr", "fr", "fr", "it", "it", "it"], start=1):
        conversation.hear(probabilities(0.1, 0.9, code), 0.6 * number)
    assert conversation.decided == "fr"  # Another third language is no change.
    conversation.hear({}, 4.2)
    assert conversation.decided == "fr"


def test_a_short_doubtful_final_is_recognised_in_both_languages() -> None:
    conversation = Conversation(("en", "de"))
    conversation.begin(5.0, 1.0)
    assert conversation.hear(probabilities(0.2), 5.6, final=True) == ("en", "de")
    conversation.settle("de")
    assert conversation.decided == "de"
    conversation.end()
    conversation.begin(7.0, 1.0)
    assert conversation.hear(probabilities(-2.0), 7.6, final=True) == ("de",)


def test_the_key_forces_the_other_language_until_the_pause() -> None:
    conversation = Conversation(("en", "de"))
    stretch(conversation, [(4.0, 0.0)] * 3)
    assert conversation.force() == "de"
    assert {language for _, language in stretch(conversation, [(4.0, 0.0)] * 3)} == {"de"}
    conversation.begin(0.0, 0.8)
    assert conversation.hear(probabilities(0.5), 2.0) == ("de",)  # What was forced is the prior.
    assert conversation.force() == "en" and conversation.hear(probabilities(0.5), 2.8) == ("en",)
    assert conversation.force() is None and conversation.hear(probabilities(0.5), 2.8) == ("de",)
