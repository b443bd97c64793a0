"""Input devices through PortAudio; the only user of sounddevice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from livetrans.base.errors import SourceError, UsageError
from livetrans.base.installation import install_command
from livetrans.events import SAMPLE_RATE

COMMON_RATES = (48_000, 44_100)
"""Hz; every device supports one of them, also one that rejects the rate that it reports as its default."""

_SYSTEM_SOUND = re.compile(r"monitor|loopback|blackhole|soundflower|stereo mix", re.IGNORECASE)

ON_A_MAC = sys.platform == "darwin"
_TERMINALS = {"Apple_Terminal": "Terminal", "iTerm.app": "iTerm", "vscode": "Visual Studio Code"}
"""Names of programs in System Settings, by $TERM_PROGRAM, where they differ."""

NO_MICROPHONE = "There is no microphone: plug one in, or check that the system lets the terminal use it."

OnSound = Callable[[NDArray[np.int16]], None]
"""Gets its own copy of each mono block, shape (n,), as soon as it is captured; must not wait."""


@dataclass(frozen=True, slots=True)
class Device:
    """An input device as the operating system lists it."""

    number: int
    name: str
    channels: int
    default_rate: int
    default: bool


def load() -> Any:
    """Import sounddevice, which knows only the devices that were there at its import."""
    try:
        import sounddevice
    except OSError as error:
        raise SourceError(
            "PortAudio is missing, which the microphone needs: use `apt install libportaudio2` (Linux) or "
            "`brew install portaudio` (macOS)."
        ) from error
    return sounddevice


def list_devices() -> list[Device]:
    """Return the devices that can record.

    Raises:
        SourceError: PortAudio is missing or fails.
    """
    sounddevice = load()
    try:
        listed = sounddevice.query_devices()
        default = sounddevice.default.device[0]
    except sounddevice.PortAudioError as error:
        raise SourceError(f"The sound devices cannot be listed ({error}): check the sound system.") from error
    return [
        Device(
            number, entry["name"], entry["max_input_channels"], round(entry["default_samplerate"]), number == default
        )
        for number, entry in enumerate(listed)
        if entry["max_input_channels"] > 0
    ]


class DeviceStream:
    """An open stream of a device, at `rate` frames per second."""

    absence = None
    """A device that gives no sound has ended."""

    def __init__(self, device: Device, on_sound: OnSound, on_end: Callable[[], None]) -> None:
        """Open the device at 16 kHz in mono, or else at a rate and with channels that it supports.

        Raises:
            SourceError: it supports none, or another program has it.
        """
        self._on_sound = on_sound
        self.name, self.number = device.name, device.number
        sounddevice = load()
        self._error: type[Exception] = sounddevice.PortAudioError
        rates = dict.fromkeys((SAMPLE_RATE, device.default_rate, *COMMON_RATES))
        refusal: Exception | None = None
        for rate, channels in product(rates, sorted({1, min(2, device.channels), device.channels})):
            try:
                self._stream = sounddevice.InputStream(
                    device=device.number,
                    channels=channels,
                    dtype="int16",
                    samplerate=rate,
                    callback=self._callback,
                    finished_callback=on_end,
                )
            except (self._error, ValueError) as error:
                refusal = refusal or error
            else:
                self.rate = rate
                return
        raise SourceError(
            f"The microphone '{device.name}' cannot be opened ({refusal}): close the program that uses it, or choose "
            "another with --device."
        ) from refusal

    def start(self) -> None:
        """Start the capture.

        Raises:
            SourceError: the device does not start.
        """
        try:
            self._stream.start()
        except self._error as error:
            raise SourceError(f"The microphone '{self.name}' does not start ({error}): plug it in again.") from error

    def _callback(self, data: NDArray[np.int16], frames: int, time: Any, status: Any) -> None:
        # PortAudio reuses this memory.
        self._on_sound(data[:, 0].copy() if data.shape[1] == 1 else data.mean(axis=1).astype(np.int16))


def portaudio_version() -> str | None:
    """Return PortAudio's version, asked in another process because its start may print or hang; None without it."""
    question = "import sounddevice; print(sounddevice.get_portaudio_version()[1])"
    try:
        answer = subprocess.run([sys.executable, "-P", "-c", question], capture_output=True, text=True, timeout=10)
    except subprocess.TimeoutExpired:
        return "a PortAudio that does not answer"
    return answer.stdout.partition(",")[0].strip() or None


def is_system_sound(name: str) -> bool:
    """Return whether the name is that of a device that gives what the machine plays (a call, a video)."""
    return bool(_SYSTEM_SOUND.search(name))


def choose_loopback(devices: Sequence[Device]) -> Device:
    """Return the device that gives what the machine plays; the default one of several.

    Raises:
        SourceError: there is none; the sentence says how to get one.
    """
    loopbacks = [device for device in devices if is_system_sound(device.name)]
    if not loopbacks:
        raise SourceError(
            f"To hear what this Mac plays, install an extra: {install_command('mac-sound')}; or set up a loopback "
            "device such as BlackHole, by the steps in docs/using.md."
        )
    return next((device for device in loopbacks if device.default), loopbacks[0])


def zeros_advice() -> str:
    """Return what to do about a microphone that gives nothing but zeros, as a clause."""
    if not ON_A_MAC:
        return "unmute it, or take another with --device: `livetrans devices --listen` shows each one's level"
    return (
        f"allow {terminal()} to use it in System Settings, Privacy & Security, Microphone, and start {terminal()} again"
    )


def terminal() -> str:
    """Return the name of the program in which livetrans runs, to which a Mac gives its permissions."""
    program = os.environ.get("TERM_PROGRAM", "this terminal")
    return _TERMINALS.get(program, program)


def choose_device(devices: list[Device], wanted: str | int | None, number: int | None = None) -> Device:
    """Return the device with this number, or this text in its name in any case; None chooses the default.

    Where several have exactly that name, `number` chooses the nearest one: numbers move when devices come and go.
    """
    if not devices:
        raise SourceError(NO_MICROPHONE)
    if wanted is None:
        return next((device for device in devices if device.default), devices[0])
    text = str(wanted).strip()
    if number is not None:
        named = [device for device in devices if device.name == wanted]
        matches = sorted(named, key=lambda device: abs(device.number - number))[:1]
    elif text.isdecimal():
        matches = [device for device in devices if device.number == int(text)]
    else:
        matches = [device for device in devices if text.casefold() in device.name.casefold()]
        exact = [device for device in matches if device.name.casefold() == text.casefold()]
        matches = exact if len(exact) == 1 else matches
    if len(matches) == 1:
        return matches[0]
    listed = ", ".join(f"{device.number} '{device.name}'" for device in matches or devices)
    if matches:
        raise UsageError(f"Several microphones match '{text}': {listed}; give a number.")
    raise UsageError(f"No microphone matches '{text}'; there are: {listed}.")
