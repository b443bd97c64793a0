"""The capture of a device, or of what the computer plays, in another process; and the level of its sound.

Sound libraries crash or hang when a sound server dies, write lines of their own to standard error, and see a device
that was plugged in later only when they start anew: none of this reaches the process that shows captions.

The child reads one line of JSON, what is wanted, and writes one to its standard output, what was opened or why nothing
was; then, after it has read one byte, blocks. The head of each has its kind, its frames, and the instant of its capture
by `system_seconds`. The kind is sound, or why there is none now; blocks without sound have no frames and come about
once a second. The child ends when the device does, and when its parent has gone or is stopped (Ctrl+Z), so that nothing
is heard meanwhile.
"""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from livetrans.audio import portaudio, pulse
from livetrans.audio.portaudio import ON_A_MAC
from livetrans.base.clock import system_seconds
from livetrans.base.errors import LivetransError, SourceError, UsageError
from livetrans.base.files import read_all
from livetrans.base.installation import install_command, is_installed, start_python
from livetrans.events import FULL_SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.audio.screencapture import PlayedByMac

ANSWER_SECONDS = 60.0 if ON_A_MAC else 10.0
"""Longest time that opening a device may take: the call does not return where the sound server hangs."""
START_SECONDS, DEAD_SECONDS = 60.0 if ON_A_MAC else 5.0, 3.0
"""Seconds until the first sound, and without sound later, after which the device counts as lost, whatever its
driver reports. At first macOS asks the user whether the terminal may use it."""
QUEUED_BLOCKS = 1000
"""Most blocks that wait in the child for a parent that does not read, some ten seconds; later ones are dropped."""
WATCH_SECONDS = 0.25
"""Seconds between two looks at the parent."""
SUSPENDED_CODE = 3
"""Exit code of a child that ended because its parent was stopped."""
_NO_CHOICE = "One program of a Mac is heard by an extra alone: {}; or drop --app."
_NO_ANSWER = "The sound system does not answer: restart it, or plug the microphone in again."
MICROPHONE, OUTPUT = "microphone", "output"
"""What is captured: a device that records, or what the computer plays."""

BLOCK_SECONDS = 0.1
"""Sound over which a level is the root mean square."""

_KINDS = (None, *pulse.ABSENCES)
"""Kinds of blocks by number: sound, or the reason why there is none."""
_HEAD = struct.Struct("<BId")


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """A block of sound: mono int16, shape (n,), at the capture's rate."""

    samples: NDArray[np.int16]
    age: float = 0.0
    """Seconds since its last sample was captured."""
    absence: str | None = None
    """Why nothing is played now, one of `livetrans.audio.pulse.ABSENCES`; None for a block with samples."""


class Capture:
    """A device, or what the computer plays, captured by a child process."""

    def __init__(self, device: str | int | None, number: int | None = None, kind: str = MICROPHONE) -> None:
        """`device`: a number, a name, or None for the system's choice. `number` decides between devices of that name.

        Of the kind `OUTPUT`, `device` is a part of the name of a program, or None for all that the output plays.

        Raises:
            UsageError: no device has that name.
            SourceError: the device cannot be opened.
        """
        pipe = subprocess.PIPE
        try:
            self._process = start_python("livetrans.audio.capture", stdin=pipe, stdout=pipe)
        except OSError as error:  # Later there may be room for another process.
            raise SourceError(f"No process can be started to listen ({error.strerror}): end other programs.") from error
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        timer = threading.Timer(ANSWER_SECONDS, self._process.kill)
        timer.start()
        with suppress(OSError):  # It has died: it gives no line.
            self._input.write(json.dumps([kind, device, number]).encode() + b"\n")
        line = self._output.readline()
        timer.cancel()
        # A child that was killed or crashed leaves no line, or a part of one.
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {"fault": _NO_ANSWER, "usage": False}
        if "fault" in answer:
            self.close()
            raise (UsageError if answer["usage"] else SourceError)(answer["fault"])
        self.device, self.number, self.rate = str(answer["device"]), int(answer["number"]), int(answer["rate"])

    def blocks(self) -> Iterator[Captured]:
        """Start, and yield the sound as it comes, until the device ends or after `close`."""
        with suppress(OSError, ValueError):  # ValueError: closed by another thread, or killed within a block
            self._input.write(b"\n")
            while len(head := read_all(self._output, _HEAD.size)) == _HEAD.size:
                kind, frames, captured_at = _HEAD.unpack(head)
                samples = np.frombuffer(read_all(self._output, 2 * frames), dtype="<i2").astype(np.int16)
                yield Captured(samples, max(system_seconds() - captured_at, 0.0), _KINDS[kind])

    def was_suspended(self) -> bool:
        """Return whether the blocks ended because this process was stopped (Ctrl+Z); otherwise the device ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        return self._process.returncode == SUSPENDED_CODE

    def close(self) -> None:
        """Release the device; from any thread, any number of times."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # In a call of a driver that hangs, a process outlives being killed.
            self._process.wait(timeout=1.0)


class LevelMeter:
    """The level of a device, measured by a thread until it is closed: a root mean square, 0..1 of full scale."""

    def __init__(self, device: str | int | None, open_capture: Callable[[str | int | None], Capture] = Capture) -> None:
        """`device`: a number, a part of a name, or None for the system's choice."""
        self.name = ""
        self.level: float | None = None
        """Level of the last tenth of a second; None before the first."""
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
        if self._closed.is_set():
            capture.close()  # It was opened after `close`.
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


def open_stream(
    kind: str, wanted: str | int | None, number: int | None, on_sound: portaudio.OnSound, on_end: Callable[[], None]
) -> portaudio.DeviceStream | pulse.PlayedStream | PlayedByMac:
    """Open what `Capture` was given; `on_end` is called when a device ends.

    Raises:
        UsageError, SourceError: as `Capture`.
    """
    if kind == OUTPUT:
        program = None if wanted is None else str(wanted)
        if not ON_A_MAC:
            return pulse.PlayedStream(program, on_sound)
        if is_installed("ScreenCaptureKit"):
            from livetrans.audio.screencapture import PlayedByMac

            return PlayedByMac(program, on_sound)
        if program is not None:
            raise UsageError(_NO_CHOICE.format(install_command("mac-sound")))
    devices = portaudio.list_devices()
    device = portaudio.choose_loopback(devices) if kind == OUTPUT else portaudio.choose_device(devices, wanted, number)
    return portaudio.DeviceStream(device, on_sound, on_end)


def capture(kind: str, wanted: str | int | None, number: int | None, commands: IO[bytes], sound: IO[bytes]) -> None:
    """Run in the child: open the stream, write the line, wait for the byte, write sound until the stream ends."""
    waiting: SimpleQueue[tuple[NDArray[np.int16], float] | None] = SimpleQueue()

    def on_sound(samples: NDArray[np.int16]) -> None:
        if waiting.qsize() < QUEUED_BLOCKS:
            waiting.put((samples, system_seconds()))

    def on_end() -> None:
        waiting.put(None)

    stream = None
    try:
        stream = open_stream(kind, wanted, number, on_sound, on_end)
        answer: dict[str, object] = {"device": stream.name, "number": stream.number, "rate": stream.rate}
    except (SourceError, UsageError) as error:
        answer = {"fault": str(error), "usage": isinstance(error, UsageError)}
    sound.write(json.dumps(answer).encode() + b"\n")
    sound.flush()
    if stream is None or not commands.read(1):
        return

    def start() -> None:
        try:
            stream.start()
        except Exception:  # Without sound from here on; whatever it was, the parent opens another stream.
            on_end()

    # Daemons: a start that hangs must not keep this process.
    threading.Thread(target=watch, name="livetrans-watch", daemon=True).start()
    threading.Thread(target=start, name="livetrans-start", daemon=True).start()
    patience = START_SECONDS if stream.absence is None else pulse.QUIET_SECONDS
    while True:
        try:
            block = waiting.get(timeout=patience)
        except Empty:
            if stream.absence is None:
                return
            sound.write(_HEAD.pack(_KINDS.index(stream.absence), 0, system_seconds()))
        else:
            if block is None:
                return
            samples, captured_at = block
            sound.write(_HEAD.pack(0, len(samples), captured_at) + samples.astype("<i2").tobytes())
        sound.flush()
        patience = DEAD_SECONDS if stream.absence is None else pulse.QUIET_SECONDS


def watch() -> None:
    """End this process when its parent has gone or is stopped."""
    import psutil  # type: ignore[import-untyped]

    parent = os.getppid()
    while True:
        time.sleep(WATCH_SECONDS)
        if os.getppid() != parent:
            os._exit(0)  # While nothing is played, no write to a closed pipe would end it.
        with suppress(psutil.Error, OSError):
            if psutil.Process(parent).status() == psutil.STATUS_STOPPED:
                os._exit(SUSPENDED_CODE)


def _main() -> None:
    """Capture, and exit without closing the stream or the library: both calls may hang if the device is gone."""
    commands = open(0, "rb", 0)
    with suppress(SourceError):  # Said once the device is wanted.
        portaudio.load()
    if wanted := commands.readline():
        with suppress(OSError):  # the other process has gone
            kind, device, number = json.loads(wanted)
            capture(kind, device, number, commands, open(1, "wb"))
    os._exit(0)


if __name__ == "__main__":
    _main()
