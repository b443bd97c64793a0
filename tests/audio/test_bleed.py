"""What the computer plays is silenced in the microphone; what the user says is not."""

from __future__ import annotations

from itertools import zip_longest
from unittest.mock import Mock

import numpy as np
import pytest

from livetrans.audio.bleed import FRAME_SAMPLES, KEPT_FRAMES, BleedFilter
from livetrans.config import GateSettings
from livetrans.events import SAMPLE_RATE, AudioChunk
from livetrans.speech.gate import VoiceActivityGate

from .rooms import Sound, as_samples, bleed, chunks, microphone, recording


@pytest.fixture(scope="module")
def played() -> Sound:
    return recording("dialogue")[: 30 * SAMPLE_RATE]


@pytest.fixture(scope="module")
def own() -> Sound:
    return recording("numbers")[: 8 * SAMPLE_RATE]


def filtered(played: Sound, heard: Sound) -> Sound:
    bleed_filter, given = BleedFilter(), []
    for theirs, mine in zip_longest(chunks(played), chunks(heard)):
        if theirs is not None:
            bleed_filter.feed_played(theirs)
        if mine is not None:
            given += bleed_filter.feed(mine)
    given += bleed_filter.flush()
    assert [chunk.start_sample for chunk in given] == list(
        np.cumsum([0, *(len(chunk.samples) for chunk in given[:-1])])
    )
    return np.concatenate([chunk.samples for chunk in given])


def speech_seconds(sound: Sound) -> float:
    gate = VoiceActivityGate(GateSettings())
    speech = [speech for chunk in chunks(sound) for speech in gate.feed(chunk)] + gate.flush()
    return sum(len(chunk.samples) for chunk in speech) / SAMPLE_RATE


@pytest.mark.parametrize(
    ("decibels", "delay"), [(-6, 0.005), pytest.param(-12, 0.04, marks=pytest.mark.long), (-20, 0.12)]
)
def test_bleed_alone_opens_no_gate(decibels: float, delay: float, played: Sound) -> None:
    heard = as_samples(bleed(played, decibels, delay) + microphone(len(played)))
    assert speech_seconds(heard) > 0.5 * len(played) / SAMPLE_RATE
    assert speech_seconds(filtered(played, heard)) < 0.01 * speech_seconds(heard) + 1.0  # until the room is learned


@pytest.mark.parametrize("decibels", [-6, pytest.param(-12, marks=pytest.mark.long), None])
def test_the_users_own_speech_is_kept_while_the_others_speak(decibels: float | None, played: Sound, own: Sound) -> None:
    """None: headphones."""
    at = 6 * SAMPLE_RATE
    loudness = np.sqrt(np.mean(played.astype(np.float64) ** 2) / np.mean(own.astype(np.float64) ** 2))
    own = as_samples(own * loudness)
    heard = microphone(len(played), own=own, at=at)
    if decibels is not None:
        heard = heard + bleed(played, decibels, 0.04)
    given = filtered(played, as_samples(heard))[at : at + len(own)]
    loud = np.abs(own.astype(int)[: len(given)]) > 500
    assert np.mean(given[loud] != 0) > 0.95


def test_a_word_that_the_user_repeats_is_kept(played: Sound) -> None:
    """The same sound a second later is no bleed: no room and no device is so late."""
    later = np.concatenate([np.zeros(SAMPLE_RATE, np.int16), played])
    given = filtered(played, as_samples(microphone(len(later), own=later)))
    loud = np.abs(later.astype(int)) > 500
    assert np.mean(given[loud] != 0) > 0.95


def test_without_anything_played_the_sound_is_the_microphones(own: Sound) -> None:
    heard = as_samples(microphone(len(own), own=own))
    np.testing.assert_array_equal(filtered(np.zeros(0, np.int16), heard), heard)


def test_an_hour_without_the_microphone_costs_nothing(monkeypatch: pytest.MonkeyPatch, played: Sound) -> None:
    """What is played meanwhile is neither kept, nor compared once the microphone is back."""
    bleed_filter, second, end = BleedFilter(), played[:SAMPLE_RATE], 3 * 60

    def hear(at: int, sound: Sound) -> list[AudioChunk]:
        bleed_filter.feed_played(AudioChunk(second, at * SAMPLE_RATE))
        return list(bleed_filter.feed(AudioChunk(sound, at * SAMPLE_RATE)))

    hear(0, second)
    for at in range(1, end):
        hear(at, second[:0])
    kept = (bleed_filter._played, bleed_filter._heard)
    assert all(len(levels._rows) <= KEPT_FRAMES for levels in kept)
    is_user = Mock(wraps=bleed_filter._is_user)
    monkeypatch.setattr(bleed_filter, "_is_user", is_user)
    hear(end, second)
    assert is_user.call_count <= SAMPLE_RATE // FRAME_SAMPLES


def test_a_gap_and_its_mark_keep_their_places() -> None:
    bleed_filter = BleedFilter()
    sound = np.full(4000, 100, np.int16)
    given = [*bleed_filter.feed(AudioChunk(sound, 0, 0.25)), *bleed_filter.feed(AudioChunk(sound[:0], 9000))]
    given += [*bleed_filter.feed(AudioChunk(sound, 9000, 1.0)), *bleed_filter.flush()]
    ends = [(chunk.start_sample, chunk.start_sample + len(chunk.samples)) for chunk in given if len(chunk.samples)]
    covered = np.concatenate([np.arange(*end) for end in ends])
    np.testing.assert_array_equal(covered, [*range(4000), *range(9000, 13000)])
    assert [chunk.start_sample for chunk in given if not len(chunk.samples)] == [9000]
    assert given[-1].captured_at == 1.0
