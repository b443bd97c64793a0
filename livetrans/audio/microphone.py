"""The microphone as a source of live sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from livetrans.audio.capture import Capture
from livetrans.audio.live import LiveSource
from livetrans.audio.portaudio import is_system_sound, zeros_advice
from livetrans.clock import Clock, seconds_asleep
from livetrans.events import SAMPLE_RATE, Gap, Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNNAMED = ("default", "pulse", "pipewire", "sysdefault")
"""Names of ALSA's ways to the sound server, which say nothing of a microphone."""
ZEROS_SECONDS = 5.0
"""Seconds of samples that are exactly 0 after which the user is warned: a room is never that quiet."""


class Microphone(LiveSource):
    """A microphone, or another device that records."""

    gap_reason = "microphone"
    now = "The microphone is now '{}'."
    lost = (
        "The microphone '{}' gives no sound: plug it in, or restart the sound system; captions go on when it is back."
    )
    back = "The microphone '{}' is back"

    def __init__(
        self,
        device: str | int | None,
        clock: Clock,
        notify: Callable[[Notice | Gap], None],
        open_capture: Callable[[str | int | None, int | None], Capture] = Capture,
        asleep: Callable[[], float] = seconds_asleep,
    ) -> None:
        """`device`: a number, a part of a name, or None for the system's choice. Device errors are raised here."""
        capture = open_capture(device, None)
        # Its name, because numbers change when devices come and go.
        wanted = (None, None) if device is None else (capture.device, capture.number)
        self._zeros = 0
        """Frames since the last sample that was not 0."""

        def open_again() -> Capture:
            self._zeros = 0
            return open_capture(*wanted)

        super().__init__(capture, open_again, clock, notify, asleep)

    @property
    def name(self) -> str:
        device = self._capture.device
        return f"microphone ({device})" if device in _UNNAMED else device

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        """Report once that the device gives nothing but zeros, and once that it gives sound again."""
        before, limit = self._zeros, ZEROS_SECONDS * SAMPLE_RATE
        self._zeros = 0 if samples.any() else before + len(samples)
        device = f"The microphone '{self._capture.device}' gives"
        if is_system_sound(self._capture.device):
            return  # Zeros are a pause of what is played.
        if before < limit <= self._zeros:
            self._notify(Notice("warning", f"{device} nothing but zeros: {zeros_advice()}.", "zeros"))
        elif self._zeros < limit <= before:
            self._notify(Notice("info", f"{device} sound.", "zeros"))
