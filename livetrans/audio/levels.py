"""The level of sound, and of microphones, each measured in a thread of its own."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from livetrans.audio.capture import Capture, CaptureProcess
from livetrans.errors import LivetransError
from livetrans.events import FULL_SCALE

BLOCK_SECONDS = 0.1
"""Sound over which a level is the root mean square."""


def level_of(samples: np.ndarray) -> float:
    """Return the root mean square of int16 samples, 0..1 of full scale; 0 for none."""
    return float(np.sqrt(np.mean(np.square(samples / FULL_SCALE)))) if len(samples) else 0.0


def decibels(level: float) -> float:
    """Return a level above 0 in decibels relative to full scale."""
    return 20 * math.log10(level)


class LevelMeter:
    """Listens to a device until it is closed. Levels are root mean squares, 0..1 of full scale."""

    def __init__(
        self, device: str | int | None, open_capture: Callable[[str | int | None], Capture] = CaptureProcess
    ) -> None:
        """`device`: a number, a part of a name, or None for the system's choice."""
        self.name = ""
        self.level: float | None = None
        """Of the last tenth of a second; None before the first."""
        self.loudest: float | None = None
        self.fault: str | None = None
        """The sentence that says why there is no level."""
        self._device, self._open = device, open_capture
        self._capture: Capture | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="livetrans-level", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        try:
            capture = self._capture = self._open(self._device)
        except LivetransError as error:
            self.fault = str(error)
            return
        self.name = capture.device
        waiting = np.empty(0, np.int16)
        for block in capture.blocks():
            if self._closed.is_set():
                break
            waiting = np.concatenate([waiting, block.samples])
            length = round(BLOCK_SECONDS * capture.rate)
            for begin in range(0, len(waiting) - length + 1, length):
                self.level = level_of(waiting[begin : begin + length])
                self.loudest = max(self.level, self.loudest or 0.0)
            waiting = waiting[len(waiting) // length * length :]
        capture.close()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end of the sound; return whether it ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Release the device."""
        self._closed.set()
        if self._capture:
            self._capture.close()
        if self.loudest is None and self.fault is None:
            self.fault = "The microphone gives no sound: plug it in again, or restart the sound system."
