"""Detectors of speech behind the voice-activity gate: Silero's network, and webrtcvad's statistics of six bands."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from livetrans.config import GateSettings
from livetrans.events import FULL_SCALE, SAMPLE_RATE

OPENS = (0.1, 0.2, 0.3, 0.5)
"""Probability of speech from which a window is voiced while the gate is closed, for each strictness (Silero)."""
STAYS = 0.5
"""Share of that probability from which it is voiced while the gate is open."""
CONTEXT = 64
"""Samples before a window that Silero takes with it."""


class Detector(Protocol):
    """Tells speech from other sound, by windows in their order; a gate has one of its own."""

    window: int
    """Samples of a window."""

    def is_voiced(self, samples: NDArray[np.int16], is_open: bool) -> bool:
        """Return whether a window has speech; `is_open`: whether speech is passing."""


def detector_of(settings: GateSettings) -> Detector:
    """Return a detector, with its library loaded."""
    return Silero(settings.strictness) if settings.detector == "silero" else WebRtc(settings.strictness)


class Silero:
    """Silero's network, which comes with faster-whisper; its memory goes from window to window."""

    window = 512

    def __init__(self, strictness: int) -> None:
        self._session = _silero_session()
        self._opens = OPENS[strictness]
        self._memory = {"h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)}
        self._before = np.zeros(CONTEXT, np.float32)

    def is_voiced(self, samples: NDArray[np.int16], is_open: bool) -> bool:
        sound = samples.astype(np.float32) / np.float32(FULL_SCALE)
        inputs = {"input": np.concatenate([self._before, sound])[None], **self._memory}
        probability, self._memory["h"], self._memory["c"] = self._session.run(None, inputs)
        self._before = sound[-CONTEXT:]
        return bool(probability.item() >= self._opens * (STAYS if is_open else 1.0))


class WebRtc:
    """WebRTC's detector: a rule of levels in six bands, which music and noise meet too."""

    window = 480
    """30 ms, the longest that it takes."""

    def __init__(self, strictness: int) -> None:
        import webrtcvad

        self._vad = webrtcvad.Vad(strictness)

    def is_voiced(self, samples: NDArray[np.int16], is_open: bool) -> bool:
        return bool(self._vad.is_speech(samples.tobytes(), SAMPLE_RATE))


@cache
def _silero_session() -> Any:
    """Load the network once; gates share it, as their memory is an input of each call."""
    import onnxruntime

    package = find_spec("faster_whisper")  # which need not be imported
    assert package and package.origin
    path = next((Path(package.origin).parent / "assets").glob("silero_vad*.onnx"))
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
