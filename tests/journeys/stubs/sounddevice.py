"""In place of sounddevice, on PYTHONPATH: a microphone that hears the file in STUB_MICROPHONE, then a quiet room.

A loopback device, as a Mac needs one, gives the same.

As much of the library as `livetrans/audio/portaudio.py` uses. It is imported in the process that captures, so all that
lies between that process and the captions is what a user has.
"""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

BLOCK = 1600
"""Frames of a block: a tenth of a second."""

default = SimpleNamespace(device=(0, -1))


class PortAudioError(Exception):
    pass


def query_devices() -> list[dict[str, Any]]:
    rest = {"max_input_channels": 1, "default_samplerate": 16_000.0, "hostapi": 0}
    return [{"name": name} | rest for name in ("Stub Microphone", "Stub BlackHole")]


def query_hostapis() -> list[dict[str, Any]]:
    return [{"name": "Stub"}]


def get_portaudio_version() -> tuple[int, str]:
    return 1246720, "PortAudio stub"


class InputStream:
    """Calls back every tenth of a second, at the pace of speech."""

    def __init__(self, *, callback: Any, finished_callback: Any, samplerate: float, **options: Any) -> None:
        self._callback, self._finished, self._rate = callback, finished_callback, samplerate
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._play, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    close = abort = stop

    def _play(self) -> None:
        room = np.random.default_rng(0).integers(-4, 5, BLOCK).astype(np.int16)
        sound = np.frombuffer(open(os.environ["STUB_MICROPHONE"], "rb").read(), np.int16)
        begin = time.monotonic()
        for number in range(36_000):
            block = sound[number * BLOCK : (number + 1) * BLOCK]
            data = np.concatenate([block, room[len(block) :]]).reshape(-1, 1)
            if self._stopped.wait(max(0.0, begin + number * BLOCK / self._rate - time.monotonic())):
                break
            times = SimpleNamespace(inputBufferAdcTime=number * BLOCK / self._rate)
            self._callback(data, BLOCK, times, SimpleNamespace(input_overflow=False))
        self._finished()
