"""Log-mel features exactly as faster-whisper makes them, kept in a form that can still be cut, joined and made noisy.

faster-whisper takes log10 of 80 mel bands, lifts everything to at most 8 below the loudest value, and maps x to
(x + 4) / 4. The first step is done once per clip (`log_mel`), the rest per training window (`normalise`).
"""

from __future__ import annotations

import numpy as np
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.typing import NDArray

BANDS = 80
FRAMES_PER_SECOND = 100
WINDOW_FRAMES = 3000
SILENCE = -10.0
"""log10 of the least power that faster-whisper distinguishes."""

_extractor = FeatureExtractor(feature_size=BANDS)
_hann = np.hanning(401)[:-1].astype(np.float32)


def log_mel(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """log10 mel power [frames, 80] of 16 kHz samples, 100 frames a second."""
    padded = np.pad(samples, (200, 200), mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:-1]
    power = np.abs(np.fft.rfft(frames * _hann, axis=-1)).astype(np.float32) ** 2
    return np.log10(np.maximum(power @ _extractor.mel_filters.T, 1e-10))


def normalise(log_power: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the encoder sees of a window of log10 mel power."""
    return (np.maximum(log_power, max(log_power.max() - 8.0, SILENCE)) + 4.0) / 4.0
