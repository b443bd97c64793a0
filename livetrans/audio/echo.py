"""An echo canceller: subtracts from the microphone what it hears of a known sound, through a room that is learned.

The partitioned-block frequency-domain Kalman filter of Enzner and Vary (2006) with the diagonal form of Kuech, Mabande
and Enzner (2014): each bin has an estimate of the room, its uncertainty, and the power of everything else, so that the
user's speech slows learning down instead of spoiling it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PARTITIONS = 24
"""Blocks of the room's answer."""
KEPT = 0.997
"""Share of the room that is the same a block later. A larger one cancels more where nothing changes, and less where the
clocks of loudspeaker and microphone differ."""
SMOOTHING = 0.87
"""Of the power of everything else, from one block to the next."""


class EchoCanceller:
    """Takes blocks of both sounds, the same stretch of time, in order; floats in -1..1."""

    def __init__(self, block: int) -> None:
        self._block = block
        self._room = np.zeros((PARTITIONS, block + 1), complex)
        self._uncertainty = np.ones((PARTITIONS, block + 1))
        self._other_power = np.full(block + 1, 1e-3)
        self.forget_sound()

    def forget_sound(self) -> None:
        """Take the next blocks for the first after a pause; the room stays known."""
        self._last = np.zeros(self._block)
        self._played = np.zeros((PARTITIONS, self._block + 1), complex)

    def cancel(self, played: NDArray[np.float64], heard: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a block of what was heard without what was played; unchanged where that would make it louder."""
        self._played = np.roll(self._played, 1, axis=0)
        self._played[0] = np.fft.rfft(np.concatenate([self._last, played]))
        self._last = played
        power = np.abs(self._played) ** 2
        if not power.any():
            return heard
        rest = np.fft.rfft(np.concatenate([np.zeros(self._block), heard - self._echo()]))
        self._other_power = SMOOTHING * self._other_power + (1 - SMOOTHING) * np.abs(rest) ** 2
        rate = self._uncertainty / ((self._uncertainty * power).sum(axis=0) + 2 * self._other_power + 1e-10)
        answer = np.fft.irfft(self._room + rate * np.conj(self._played) * rest, axis=1)
        answer[:, self._block :] = 0.0
        self._room = np.fft.rfft(answer, axis=1)
        self._uncertainty = KEPT**2 * (1 - 0.5 * rate * power) * self._uncertainty
        self._uncertainty += (1 - KEPT**2) * np.abs(self._room) ** 2
        cancelled = heard - self._echo()
        return cancelled if (cancelled**2).sum() < (heard**2).sum() else heard

    def _echo(self) -> NDArray[np.float64]:
        return np.fft.irfft((self._room * self._played).sum(axis=0))[self._block :]
