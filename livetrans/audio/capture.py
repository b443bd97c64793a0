"""The capture of a device in another process, and the level of its sound.

Sound libraries crash or hang when a sound server dies, write lines of their own to standard error, and see a device
that was plugged in later only when they start anew: none of this reaches the process that shows captions.

The child writes to its standard output: one line of JSON, what was opened or why nothing was; then, after it has read
one byte, blocks of sound, each with a head of two 32-bit numbers: frames lost before it, and its frames. It ends when
the device does.
"""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Protocol

import numpy as np

from livetrans.errors import LivetransError, SourceError, UsageError
from livetrans.events import FULL_SCALE
from livetrans.installation import start_python

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.audio.portaudio import PortAudio

ANSWER_SECONDS = 10.0
"""Longest time that opening a device may take: the call does not return where the sound server hangs."""
START_SECONDS, DEAD_SECONDS = 5.0, 3.0
"""Seconds until the first sound, and without sound later, after which the device counts as lost, whatever its
driver reports."""

BLOCK_SECONDS = 0.1
"""Sound over which a level is the root mean square."""

_HEAD = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class Opened:
    """The device that the child opened, or the sentence that says why it could not."""

    device: str = ""
    rate: int = 0
    fault: str = ""
    usage: bool = False
    """Whether the fault is the user's choice of a device."""


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """A block of sound: mono int16, shape (n,), at the capture's rate."""

    samples: NDArray[np.int16]
    lost_frames: int = 0
    """Frames that the device lost before this block."""


class Capture(Protocol):
    """An open device."""

    device: str
    rate: int

    def blocks(self) -> Iterator[Captured]:
        """Start, and give the sound as it comes; ends when the device does, or after `close`."""

    def close(self) -> None:
        """Release the device; from any thread, any number of times."""


class CaptureProcess:
    """The device with that number or name (None: the system's choice), captured by a child process.

    Raises:
        UsageError: no device has that name.
        SourceError: the device cannot be opened.
    """

    def __init__(self, device: str | int | None) -> None:
        wanted = [] if device is None else [str(device)]
        pipe = subprocess.PIPE
        self._process = start_python("livetrans.audio.capture", *wanted, stdin=pipe, stdout=pipe)
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        answer = threading.Timer(ANSWER_SECONDS, self._process.kill)
        answer.start()
        line = self._output.readline()
        answer.cancel()
        opened = Opened(**json.loads(line or b"{}"))
        if not opened.rate:
            self.close()
            fault = opened.fault or "The sound system does not answer: restart it, or plug the microphone in again."
            raise UsageError(fault) if opened.usage else SourceError(fault)
        self.device, self.rate = opened.device, opened.rate

    def blocks(self) -> Iterator[Captured]:
        with suppress(OSError, ValueError):  # ValueError: closed by another thread
            self._input.write(b"\n")
            while head := _read_exactly(self._output, _HEAD.size):
                lost, frames = _HEAD.unpack(head)
                samples = np.frombuffer(_read_exactly(self._output, 2 * frames), dtype="<i2")
                yield Captured(samples.astype(np.int16), lost)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


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


def level_of(samples: np.ndarray) -> float:
    """Return the root mean square of int16 samples, 0..1 of full scale; 0 for none."""
    return float(np.sqrt(np.mean(np.square(samples / FULL_SCALE)))) if len(samples) else 0.0


def decibels(level: float) -> float:
    """Return a level above 0 in decibels relative to full scale."""
    return 20 * math.log10(level)


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    """Read `count` bytes; return none if the stream ends before."""
    parts: list[bytes] = []
    while count:
        part = stream.read(count)
        if not part:
            return b""
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def capture(
    wanted: str | None,
    commands: IO[bytes],
    sound: IO[bytes],
    backend: PortAudio | None = None,
    start_seconds: float = START_SECONDS,
    dead_seconds: float = DEAD_SECONDS,
) -> None:
    """Run in the child: open the device, write the line, wait for the byte, write sound until the device ends."""
    from livetrans.audio.portaudio import PortAudio, choose_device

    blocks: SimpleQueue[Captured | None] = SimpleQueue()
    try:
        backend = PortAudio() if backend is None else backend
        device = choose_device(backend.devices(), wanted)
        stream = backend.open(
            device, lambda samples, lost: blocks.put(Captured(samples, lost)), lambda: blocks.put(None)
        )
        opened = Opened(device.name, stream.rate)
    except (SourceError, UsageError) as error:
        opened = Opened(fault=str(error), usage=isinstance(error, UsageError))
    sound.write(json.dumps(asdict(opened)).encode() + b"\n")
    sound.flush()
    if not opened.rate or not commands.read(1):
        return

    def start() -> None:
        try:
            stream.start()
        except SourceError:
            blocks.put(None)

    # A daemon: a start that hangs must not keep this process.
    threading.Thread(target=start, name="livetrans-start", daemon=True).start()
    patience = start_seconds
    with suppress(Empty):
        while (block := blocks.get(timeout=patience)) is not None:
            sound.write(_HEAD.pack(block.lost_frames, len(block.samples)) + block.samples.astype("<i2").tobytes())
            sound.flush()
            patience = dead_seconds


def _main() -> None:
    """Capture, and exit without closing the stream or the library: both calls may hang if the device is gone."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else None
    with suppress(OSError):  # the other process has gone
        capture(wanted, open(0, "rb", 0), open(1, "wb"))
    os._exit(0)


if __name__ == "__main__":
    _main()
