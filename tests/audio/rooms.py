"""What a microphone hears of a loudspeaker in a room: synthetic, and the same at each call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.events import SAMPLE_RATE, AudioChunk

Sound = NDArray[np.int16]
RECORDINGS = Path(__file__).parents[2] / "recordings"
NOISE = 6.0
"""Of the microphone, standard deviation of its samples."""
REVERBERATION = 0.35
"""Seconds until the room's echo is 60 dB weaker."""


def recording(name: str) -> Sound:
    """Return the sound of a recording of the tree."""
    chunks = AudioFile(RECORDINGS / f"{name}.flac", ManualClock(), False, lambda notice: None)
    return np.concatenate([chunk.samples for chunk in chunks])


def microphone(length: int, *, own: Sound | None = None, at: int = 0) -> NDArray[np.float64]:
    """Return noise of the microphone, with the user's own speech from a sample on."""
    heard = np.random.default_rng(7).standard_normal(length) * NOISE
    if own is not None:
        heard[at : at + len(own)] += own[: length - at]
    return heard


def bleed(played: Sound, decibels: float, delay: float, seed: int = 3) -> NDArray[np.float64]:
    """Return what comes of the loudspeaker: `delay` seconds later, `decibels` from its loudness, through a room.

    The room answers with noise that decays; the loudspeaker has neither low nor high tones.
    """
    times = np.arange(round(REVERBERATION * SAMPLE_RATE)) / SAMPLE_RATE
    answer = np.random.default_rng(seed).standard_normal(len(times)) * 0.15 * 10 ** (-3 * times / REVERBERATION)
    answer[0] = 1.0
    size = 1 << (len(played) + len(answer)).bit_length()
    tones = np.fft.rfftfreq(size, 1 / SAMPLE_RATE)
    speaker = tones / (tones + 200) / (1 + (tones / 5000) ** 4)
    heard = np.fft.irfft(np.fft.rfft(played, size) * np.fft.rfft(answer, size) * speaker, size)[: len(played)]
    heard *= np.sqrt(np.mean(played.astype(np.float64) ** 2) / np.mean(heard**2)) * 10 ** (decibels / 20)
    return np.concatenate([np.zeros(round(delay * SAMPLE_RATE)), heard])[: len(played)]


def as_samples(sound: NDArray[np.float64]) -> Sound:
    return np.clip(np.rint(sound), -32_768, 32_767).astype(np.int16)


def chunks(sound: Sound, size: int = 1600) -> Iterator[AudioChunk]:
    for start in range(0, len(sound), size):
        yield AudioChunk(sound[start : start + size], start)
