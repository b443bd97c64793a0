"""An echo canceller: subtracts from the microphone what it hears of a known sound, through a room that is learned.

The partitioned-block frequency-domain Kalman filter with diagonal covariance: G. Enzner and P. Vary, "Frequency-domain
adaptive Kalman filter for acoustic echo control in hands-free telephones", Signal Processing 86 (2006), and F. Kuech,
E. Mabande and G. Enzner, "State-space architecture of the partitioned-block-based acoustic echo controller", ICASSP
2014. Each bin has an estimate of the room, its uncertainty, and the power of the near end, so that the user's speech
slows learning down instead of spoiling it. WebRTC's canceller lost more of the user's words than none
(docs/design.md, "Sound").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PARTITIONS = 24
"""Blocks of the room's impulse response: 0.48 s of 20 ms blocks, for what is played early, the delay and the room."""
TRANSITION = 0.997
"""Share of the room that is the same a block later (the papers' A). A larger one cancels more where nothing changes,
and less where the clocks of loudspeaker and microphone differ: 7 instead of 10 dB at 0.9997, 30 ppm apart."""
SMOOTHING = 0.87
"""Weight of the earlier power of the near end in each block: a mean over some 0.15 s, as long as a syllable."""
NEW_SHARE = 0.5
"""Share of a transform's samples that belong to the block (the papers' R/M); the others are those of the last one."""


class EchoCanceller:
    """A canceller of blocks of both sounds, the same stretch of time, in order; floats in -1..1."""

    def __init__(self, block: int) -> None:
        self._block = block
        self._room = np.zeros((PARTITIONS, block + 1), complex)
        self._uncertainty = np.ones((PARTITIONS, block + 1))
        """Variance of the error of `_room`; at first of a room that may be as loud as the loudspeaker."""
        self._near_power = np.full(block + 1, 1e-3)
        """Power of the near end: the user, noise, and what the estimate does not explain; at first -55 dB."""
        self.forget_sound()

    def forget_sound(self) -> None:
        """Take the next blocks for the first after a pause; the room stays known."""
        self._last = np.zeros(self._block)
        self._spectra = np.zeros((PARTITIONS, self._block + 1), complex)

    def cancel(self, played: NDArray[np.float64], heard: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a block of what was heard without what was played; unchanged where that would make it louder.

        The room is learned from the block first: what is subtracted is the newer estimate.
        """
        self._spectra = np.roll(self._spectra, 1, axis=0)
        self._spectra[0] = np.fft.rfft(np.concatenate([self._last, played]))
        self._last = played
        power = np.abs(self._spectra) ** 2
        if not power.any():
            return heard
        error = np.fft.rfft(np.concatenate([np.zeros(self._block), heard - self._echo()]))
        self._near_power = SMOOTHING * self._near_power + (1 - SMOOTHING) * np.abs(error) ** 2
        # The last term keeps bins without any power from a division by zero.
        rate = self._uncertainty / ((self._uncertainty * power).sum(axis=0) + self._near_power / NEW_SHARE + 1e-10)
        response = np.fft.irfft(self._room + rate * np.conj(self._spectra) * error, axis=1)
        response[:, self._block :] = 0.0
        self._room = np.fft.rfft(response, axis=1)
        self._uncertainty = TRANSITION**2 * (1 - NEW_SHARE * rate * power) * self._uncertainty
        self._uncertainty += (1 - TRANSITION**2) * np.abs(self._room) ** 2
        cancelled = heard - self._echo()
        return cancelled if (cancelled**2).sum() < (heard**2).sum() else heard

    def _echo(self) -> NDArray[np.float64]:
        """Return what the room as it is known gives back of the blocks played."""
        return np.fft.irfft((self._room * self._spectra).sum(axis=0))[self._block :]
