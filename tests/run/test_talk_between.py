"""A conversation of 20 turns at one microphone: each is translated in its own direction, in time, and calmly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import Settings, Term, with_field
from livetrans.events import Caption, Event, Record, Transcript
from livetrans.names.repair import NameRepairs
from livetrans.session.recorded import Unfinished
from livetrans.speech.between import LATEST

from .talk_between import (
    COUGH,
    PAIR,
    SETTINGS,
    Turn,
    one_way,
    run_of,
    screen_units,
    spoken,
    transcripts_of,
    turns_without_pauses,
    twenty_turns,
)


@cache
def conversation(seed: int) -> list[tuple[float, Event]]:
    """Return the seconds heard and the events of the run of a conversation."""
    return list(run_of(twenty_turns(seed), seed))


def languages_in(text: str) -> set[str]:
    """Return the languages of the words that were heard to their end."""
    return {word[:2] for word in text.split() if word != COUGH and "w" in word}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_no_turn_is_translated_in_the_wrong_direction_and_none_is_undecided_after_two_seconds(seed: int) -> None:
    turns = twenty_turns(seed)
    words, of = spoken(turns)
    starts = {
        number: next(word.start for word, turn in zip(words, of, strict=True) if turn == number) for number in set(of)
    }
    events = conversation(seed)
    shown: dict[int, float] = {}
    for heard, event in events:
        if isinstance(event, Transcript) and event.final:
            assert languages_in(event.text) <= {event.language}
        if isinstance(event, Transcript) and event.language:
            for word in event.text.split():
                number = int(word[2:].split("w")[0]) if "w" in word[2:] and word.startswith(event.language) else -1
                shown.setdefault(number, heard)
        if isinstance(event, Caption) and not event.untranslated:
            other = next(code for code in PAIR if code != event.language)
            assert event.track == {"en": "Ana", "de": "Ben"}[other]
            assert languages_in(event.source) <= {other}
    assert all(shown[number] - start <= LATEST + 0.01 for number, start in starts.items())


@pytest.mark.parametrize(
    "turns_a_stretch", [4, pytest.param(3, marks=pytest.mark.long), pytest.param(20, marks=pytest.mark.long)]
)
def test_turns_that_follow_without_a_pause_have_their_own_directions(turns_a_stretch: int) -> None:
    finals = captions = 0
    for seed in range(2):
        for _, event in run_of(turns_without_pauses(seed, turns_a_stretch), seed):
            if isinstance(event, Transcript) and event.final:
                assert languages_in(event.text) <= {event.language}
                finals += 1
            if isinstance(event, Caption) and not event.untranslated:
                assert event.language not in languages_in(event.source)
                captions += 1
    assert finals >= 40 and captions > 100


def test_no_word_is_committed_before_its_language_is_known_and_none_is_repaired_after() -> None:
    words, _ = spoken([Turn("de", 4.0, 0.0)])
    growing = transcripts_of(words, lambda numbers, final: {"en": 0.4, "de": 0.6})
    unknown = [one for one in growing if one.language is None]
    assert len(unknown) > 1 and growing[-1].final and not any(one.committed for one in unknown)
    term = Term("Okonkwo", "", ((unknown[0].text.split()[0], "de"),))
    repairs = NameRepairs(lambda: with_field(SETTINGS, "prompt.glossary", (term,)))
    repaired = [repairs(one) for one in growing]
    assert "Okonkwo" in repaired[-1].text
    assert all(after.text.startswith(before.committed) for before, after in pairwise(repaired))


def test_the_screen_is_as_calm_as_both_halves_alone() -> None:
    turns = twenty_turns(0)
    erased, units = screen_units(event for _, event in conversation(0))
    halves = [
        screen_units(event for _, event in run_of([turn for turn in turns if turn.language == code], 0, one_way(code)))
        for code in PAIR
    ]
    assert erased / units <= sum(one for one, _ in halves) / sum(other for _, other in halves)


@pytest.mark.parametrize("settings", [SETTINGS, one_way("en")], ids=["between", "one way"])
def test_unsure_words_wait_in_a_conversation_too(settings: Settings) -> None:
    turns = [turn for turn in twenty_turns(1)[:8] if settings.between or turn.language == "en"]
    showing, waiting = ([event for _, event in run_of(turns, 1, settings, chance)] for chance in (1.0, 0.3))

    def finals(events: list[Event]) -> list[str]:
        return [f"{one.track} {one.text}" for one in events if isinstance(one, Transcript) and one.final]

    def misread(events: list[Event]) -> int:
        return sum(isinstance(one, Transcript) and "~" in one.text for one in events)

    assert finals(waiting) == finals(showing)
    assert misread(waiting) < misread(showing) / 2
    assert screen_units(waiting)[0] < screen_units(showing)[0]


@pytest.mark.parametrize(
    "share", [pytest.param(0.2, marks=pytest.mark.long), 0.55, pytest.param(0.9, marks=pytest.mark.long)]
)
def test_what_a_kill_leaves_keeps_its_directions(share: float) -> None:
    events = [event for _, event in conversation(0)]
    unfinished = Unfinished(Path())
    for event in events[: round(share * len(events))]:
        unfinished.note(Record(0.0, event))
    left = unfinished.transcripts({})
    last = {one.segment_id: one for one in events[: round(share * len(events))] if isinstance(one, Transcript)}
    assert all((one.language, one.track) == (last[one.segment_id].language, last[one.segment_id].track) for one in left)
    finals = [one.end for one in last.values() if one.final]
    begin = unfinished.rest(None, 1000.0)
    assert begin is not None and max(finals) <= begin <= max(finals) + 0.2
    # All sound is one track's: what comes again is not translated twice.
    assert not any(one.text for one in unfinished.transcripts({None: begin}) if not last[one.segment_id].final)


@pytest.mark.long
@given(st.integers(0, 10**6), st.floats(0.5, 0.9))
def test_no_word_is_lost_or_said_twice_whatever_the_passes_say(seed: int, share: float) -> None:
    chance = Random(seed)
    words, _ = spoken(twenty_turns(seed)[:4])

    def odds(numbers: Sequence[int], final: bool) -> Mapping[str, float]:
        return {"en": chance.random() * share, "de": chance.random() * share, "fr": chance.random()}

    finals = [one for one in transcripts_of(words, odds) if one.final]
    assert " ".join(one.text for one in finals).split() == [word.text for word in words]
    assert all(one.language for one in finals if one.text)
