"""Endless speakers, the devices and pipes that their sound comes from, and the words that sound and texts hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from livetrans.audio.capture import Captured
from livetrans.base.clock import Clock
from livetrans.base.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk, Word

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORD_SAMPLES, BLOCK_SAMPLES = 4_800, 3_200
WORDS = [Word("Www"[n % 3] + f"{n}x" + "." * (n % 3 == 2), 0.0, WORD_SAMPLES / SAMPLE_RATE) for n in range(30_000)]
"""By number: the first word of a sentence, one within it, and its last."""


@dataclass
class Speaker:
    """Somebody who speaks sentence after sentence into a device, which may be gone for a while."""

    clock: Clock
    chance: Random
    number: int = 0
    """Of the next word: each is said once."""
    gone_until: float = 0.0
    _said: list[tuple[int, int]] = field(default_factory=list)
    """Numbers of words, with the samples at which they begin; the last ones."""

    def sound(self, start: int, end: int) -> NDArray[np.int16]:
        """Return what is said between two samples; nothing was said before, unless it was asked for."""
        said, pauses = self._said, (0, 0, 6_000, 16_000, 48_000)
        while not said or said[-1][1] < end:
            begin = max(said[-1][1] + WORD_SAMPLES if said else 0, start) + self.chance.choice(pauses)
            kinds = [0, *[1] * self.chance.randint(1, 8), *self.chance.choice(([], [2]))]
            said += [(self.number + 3 * at + kind, begin + at * WORD_SAMPLES) for at, kind in enumerate(kinds)]
            self.number += 3 * len(kinds)
        samples = np.zeros(end - start, np.int16)
        for number, begin in said:
            samples[max(begin - start, 0) : max(begin + WORD_SAMPLES - start, 0)] = number + 1
        self._said = [one for one in said if one[1] + WORD_SAMPLES > end] or said[-1:]
        return samples

    def open(self, *_: object) -> Device:
        if self.clock.now() < self.gone_until:
            raise SourceError("It is gone.")
        return Device(self)


@dataclass
class Device:
    """The capture of a speaker while the device is there."""

    speaker: Speaker
    closed: bool = False
    device, number, rate = "scripted", 0, SAMPLE_RATE

    def blocks(self) -> Iterator[Captured]:
        clock = self.speaker.clock
        heard = round(clock.now() * SAMPLE_RATE)
        while not self.closed and clock.now() >= self.speaker.gone_until:
            clock.sleep(BLOCK_SAMPLES / SAMPLE_RATE)
            end = round(clock.now() * SAMPLE_RATE)
            start, heard = max(heard, end - BLOCK_SAMPLES), end
            yield Captured(self.speaker.sound(start, end))

    def was_suspended(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


@dataclass
class Pipe:
    """A source of sound that waits until it is read, and has no time at which it was captured."""

    speaker: Speaker
    closed: bool = False
    duration, skipped = None, 0.0

    def __iter__(self) -> Iterator[AudioChunk]:
        heard = 0
        while not self.closed:
            self.speaker.clock.sleep((heard + BLOCK_SAMPLES) / SAMPLE_RATE - self.speaker.clock.now())
            yield AudioChunk(self.speaker.sound(heard, heard + BLOCK_SAMPLES), heard)
            heard += BLOCK_SAMPLES

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None:
        self.closed = True


class Held:
    """In place of the bleed filter: passes everything on, a chunk late."""

    def __init__(self, *_: object) -> None:
        self._held: list[AudioChunk] = []

    def feed(self, chunk: AudioChunk) -> list[AudioChunk]:
        passed, self._held = self._held, [chunk]
        return passed

    def feed_played(self, chunk: AudioChunk) -> None: ...

    def flush(self) -> list[AudioChunk]:
        return self._held


def numbers_in(sound: Iterable[NDArray[np.int16]]) -> tuple[list[int], set[int]]:
    """Return the numbers of the words that the sound holds whole, in order, and of all of which it holds a part."""
    lengths: Counter[int] = Counter()
    for samples in sound:
        values, counts = np.unique(samples, return_counts=True)
        lengths.update(dict(zip((values - 1).tolist(), counts.tolist(), strict=True)))
    del lengths[-1]
    return sorted(number for number, length in lengths.items() if length >= WORD_SAMPLES), set(lengths)


def numbers_of(texts: Iterable[str]) -> list[int]:
    """Return the numbers of the words of which no part is missing in the texts."""
    return [int(number) for number in re.findall(r"[Ww](\d+)x", " ".join(texts))]
