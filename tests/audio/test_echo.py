"""The canceller subtracts the loudspeaker, also while the user speaks, and leaves alone what it does not explain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from livetrans.audio.echo import EchoCanceller
from livetrans.events import FULL_SCALE, SAMPLE_RATE

from .rooms import bleed, microphone, recording

BLOCK, SECONDS, LEARNT = 320, 16, 6


def power(sound: NDArray[np.float64]) -> float:
    return float(np.mean(sound[LEARNT * SAMPLE_RATE :] ** 2))


def cancelled(played: NDArray[np.int16], heard: NDArray[np.float64]) -> NDArray[np.float64]:
    canceller = EchoCanceller(BLOCK)
    blocks = zip(played.reshape(-1, BLOCK) / FULL_SCALE, heard.reshape(-1, BLOCK) / FULL_SCALE, strict=True)
    return np.concatenate([canceller.cancel(theirs, mine) for theirs, mine in blocks]) * FULL_SCALE


def test_the_bleed_is_twelve_decibels_weaker_while_the_user_speaks_and_eighteen_alone() -> None:
    played = recording("dialogue")[: SECONDS * SAMPLE_RATE]
    own = microphone(len(played), own=recording("numbers")[: (SECONDS - LEARNT) * SAMPLE_RATE], at=LEARNT * SAMPLE_RATE)
    noise, echo = microphone(len(played)), bleed(played, -6, 0.04)
    assert power(cancelled(played, own + echo) - own) < power(echo) / 10**1.2
    assert power(cancelled(played, noise + echo) - noise) < power(echo) / 10**1.8


def test_what_is_not_played_is_left() -> None:
    played, own = recording("dialogue")[: SECONDS * SAMPLE_RATE], recording("numbers")[: SECONDS * SAMPLE_RATE]
    assert power(cancelled(played, own.astype(np.float64)) - own) < 0.02 * power(own.astype(np.float64))
    silence = np.zeros(len(own), np.int16)
    np.testing.assert_array_equal(cancelled(silence, own.astype(np.float64)), own)
