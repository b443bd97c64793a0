"""webrtcvad, and nothing else of it than one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livetrans.errors import UsageError
from livetrans.events import SAMPLE_RATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class VoiceDetector:
    """Says of each window whether there is voice in it; it adapts to what it has heard, so windows come in order."""

    def __init__(self, aggressiveness: int) -> None:
        if aggressiveness not in range(4):
            raise UsageError(f"The gate's aggressiveness is {aggressiveness}; choose 0, 1, 2 or 3.")
        import webrtcvad

        self._vad = webrtcvad.Vad(aggressiveness)

    def is_speech(self, window: NDArray[np.int16]) -> bool:
        """`window`: 480 samples, 30 ms."""
        return bool(self._vad.is_speech(window.tobytes(), SAMPLE_RATE))
