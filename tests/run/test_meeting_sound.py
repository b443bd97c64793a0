"""A meeting of synthetic voices, recognised: no word comes twice, and none of the user is lost."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from livetrans.base.clock import SystemClock
from livetrans.base.errors import UsageError
from livetrans.config import MeetingSettings, OutputSettings, RecogniserSettings, Settings, TranscriberSettings
from livetrans.events import SAMPLE_RATE, Gap, Notice, Origin, Transcript
from livetrans.run.listening import Listening
from livetrans.run.opening import from_live
from livetrans.run.postponed import Postponed
from livetrans.speech.words import comparison_form
from tests.audio.rooms import Sound, as_samples, bleed, microphone, recording

from .scripted_run import Played

MODEL = Path(__file__).parents[2] / "models" / "livetrans-recogniser-en"
SETTINGS = Settings(
    recogniser=RecogniserSettings(MODEL),
    meeting=MeetingSettings(spoken="en"),
    transcriber=TranscriberSettings(adaptive=False),
    output=OutputSettings(record_session=False),
)


def opened(played: Sound, heard: Sound, settings: Settings = SETTINGS) -> Listening:
    """Return the listening side of a meeting."""
    sources = [(Played(sound), Postponed[Notice | Gap]()) for sound in (played, heard)]
    open_listening = from_live(sources, Origin("a meeting"), settings, SystemClock())
    return open_listening(lambda event: None, lambda chunk: None)


def meeting(played: Sound, heard: Sound) -> dict[str | None, list[Transcript]]:
    """Return the finals of both tracks."""
    finals = [transcript for transcript in opened(played, heard).transcripts if transcript.final]
    return {track: [final for final in finals if final.track == track] for track in ("me", "them")}


def words(finals: list[Transcript]) -> list[str]:
    return [comparison_form(word) for final in finals for word in final.text.split()]


def lost(expected: list[str], found: list[str]) -> int:
    """Return how many of the expected words are not found, in their order."""
    kept = np.zeros((len(expected) + 1, len(found) + 1), int)
    for row, word in enumerate(expected):
        for column, other in enumerate(found):
            same = kept[row, column] + (word == other)
            kept[row + 1, column + 1] = max(same, kept[row, column + 1], kept[row + 1, column])
    return len(expected) - int(kept[-1, -1])


def test_a_language_that_the_recogniser_does_not_know_is_refused_before_anything_is_heard() -> None:
    silence = np.zeros(SAMPLE_RATE, np.int16)
    with pytest.raises(UsageError, match="'fr'"):
        opened(silence, silence, replace(SETTINGS, meeting=MeetingSettings(spoken="fr")))


def test_bleed_gives_no_words_and_the_others_keep_theirs() -> None:
    played = recording("dialogue")[: 12 * SAMPLE_RATE]
    finals = meeting(played, as_samples(bleed(played, -12, 0.04) + microphone(len(played))))
    assert words(finals["me"]) == []
    alone = meeting(played, np.zeros(len(played), np.int16))
    assert [final.text for final in finals["them"]] == [final.text for final in alone["them"]]


@pytest.mark.long
def test_at_most_a_hundredth_of_what_is_played_comes_twice() -> None:
    doubled = total = 0
    for name, decibels, delay in product(("dialogue", "long", "pauses"), (-6, -12, -20), (0.005, 0.04, 0.12)):
        played = recording(name)[: 40 * SAMPLE_RATE]
        finals = meeting(
            played, as_samples(bleed(played, decibels, delay, seed=round(delay * 1000)) + microphone(len(played)))
        )
        doubled += len(words(finals["me"]))
        total += len(words(finals["them"]))
    print(f"{doubled} words come twice of {total}")
    assert doubled <= 0.01 * total


@pytest.mark.long
@pytest.mark.parametrize(("decibels", "most"), [(None, 0.05), (-20, 0.2), (-12, 0.2), (-6, 0.2)])
def test_few_words_are_lost_in_double_talk(decibels: float | None, most: float) -> None:
    """Of those in a run of each alone; None: headphones. `most` is of the user; the others lose none."""
    played, own = recording("dialogue")[: 60 * SAMPLE_RATE], recording("numbers")[: 50 * SAMPLE_RATE]
    heard = microphone(len(played), own=own, at=5 * SAMPLE_RATE)
    silence = np.zeros(len(played), np.int16)
    mine, theirs = words(meeting(silence, as_samples(heard))["me"]), words(meeting(played, silence)["them"])
    finals = meeting(played, as_samples(heard if decibels is None else heard + bleed(played, decibels, 0.04)))
    print(decibels, f"{lost(mine, words(finals['me']))} of {len(mine)} words of the user are lost")
    assert lost(mine, words(finals["me"])) <= most * len(mine)
    assert words(finals["them"]) == theirs
