"""The microphone; the only user of sounddevice, which needs PortAudio on the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from livetrans.audio.file import Resampler
from livetrans.audio.source import AudioChannel, Block
from livetrans.clock import Clock
from livetrans.errors import SourceError, UsageError
from livetrans.events import SAMPLE_RATE, AudioChunk, Notice

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUFFERED_SECONDS = 60
DEAD_SECONDS = 3.0
"""Seconds without a callback after which the device is taken for gone, whatever its driver reports."""


@dataclass(frozen=True, slots=True)
class Device:
    """An input device as the operating system lists it."""

    number: int
    name: str
    channels: int
    default_rate: int
    default: bool


class Microphone:
    """A listening device. The callback only enqueues; resampling and everything else happens in the listening thread.

    When the listener is a minute behind, the oldest audio is dropped, with a Notice. `start_sample` counts dropped and
    paused audio too, so source time stays true.
    """

    def __init__(
        self,
        device: str | int | None,
        clock: Clock,
        notify: Callable[[Notice], None] = lambda notice: None,
        backend: PortAudio | None = None,
        dead_seconds: float = DEAD_SECONDS,
    ) -> None:
        """`device`: a number, a part of a name, or None for the system's choice. Device errors are raised here."""
        self._backend = PortAudio() if backend is None else backend
        self._clock = clock
        self._notify = notify
        self._dead_seconds = dead_seconds
        self.device = choose_device(self._backend.devices(), device)
        rate = SAMPLE_RATE if self._backend.supports(self.device, SAMPLE_RATE) else self.device.default_rate
        self._rate = rate
        self._channel = AudioChannel(BUFFERED_SECONDS * rate)
        self._heard_frames = 0
        self._dropped_frames = 0
        self._paused = False
        self._stream = self._backend.open(self.device, rate, self._on_sound, self._on_end)

    @property
    def duration(self) -> float | None:
        return None

    @property
    def skipped(self) -> float:
        return self._dropped_frames / self._rate

    def __iter__(self) -> Iterator[AudioChunk]:
        """Starts listening; when the device fails, what it captured comes first, and then the error."""
        conversion = _Conversion(self._rate)
        alive_frames = -1
        try:
            self._stream.start()
            while (blocks := self._channel.take(self._dead_seconds)) is not None:
                self._report_skipped()
                if not blocks and self._heard_frames == alive_frames:
                    self._channel.end(self._gone())
                alive_frames = self._heard_frames
                yield from conversion.chunks(blocks)
        finally:
            self._stream.close()

    def pause(self, paused: bool) -> None:
        """While paused, audio is discarded, and its time passes."""
        self._paused = paused

    def close(self) -> None:
        self._channel.end()

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        start, self._heard_frames = self._heard_frames, self._heard_frames + len(samples)
        if not self._paused:
            self._channel.offer(Block(samples, start, self._clock.now()))

    def _on_end(self) -> None:
        # Also called after close: then the channel has ended already, and this error is not raised.
        self._channel.end(self._gone())

    def _gone(self) -> SourceError:
        return SourceError(f"The microphone '{self.device.name}' no longer gives sound: plug it in and start again.")

    def _report_skipped(self) -> None:
        dropped = self._channel.take_dropped_frames()
        if dropped:
            self._dropped_frames += dropped
            self._notify(
                Notice("warning", f"Skipped {dropped / self._rate:.1f} s of sound: this machine cannot keep up.")
            )


class _Conversion:
    """Converts the device's blocks to audio chunks at 16 kHz; a gap between blocks is a gap in source time."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._resampler = None if rate == SAMPLE_RATE else Resampler()
        self._next_frame = 0
        self._position = 0

    def chunks(self, blocks: list[Block]) -> Iterator[AudioChunk]:
        run: list[Block] = []
        for block in blocks:
            if block.start_frame != self._next_frame:
                yield from self._convert(run)
                yield from self._jump(block)
                run = []
            run.append(block)
            self._next_frame = block.start_frame + len(block.samples)
        yield from self._convert(run)

    def _convert(self, run: list[Block]) -> Iterator[AudioChunk]:
        if not run:
            return
        samples = np.concatenate([block.samples for block in run])
        if self._resampler is not None:
            samples = self._resampler.feed_samples(samples, self._rate)
        if len(samples):
            yield AudioChunk(samples, self._position, run[-1].captured_at)
            self._position += len(samples)

    def _jump(self, block: Block) -> Iterator[AudioChunk]:
        if self._resampler is not None:
            samples = self._resampler.flush()
            if len(samples):
                yield AudioChunk(samples, self._position)
                self._position += len(samples)
            self._resampler = Resampler()
        self._position = max(self._position, round(block.start_frame * SAMPLE_RATE / self._rate))


class PortAudio:
    """Input devices through sounddevice, whose errors become SourceErrors; tests pass a class with the same methods."""

    def __init__(self) -> None:
        try:
            import sounddevice
        except OSError as error:
            raise SourceError(
                "PortAudio is missing, which the microphone needs: use `apt install libportaudio2` (Linux) or "
                "`brew install portaudio` (macOS)."
            ) from error
        self._sounddevice: Any = sounddevice

    def devices(self) -> list[Device]:
        """Devices that can record."""
        try:
            listed = self._sounddevice.query_devices()
            default = self._sounddevice.default.device[0]
        except self._sounddevice.PortAudioError as error:
            raise SourceError(f"The sound devices cannot be listed ({error}): check the sound system.") from error
        return [
            Device(
                number,
                entry["name"],
                entry["max_input_channels"],
                round(entry["default_samplerate"]),
                number == default,
            )
            for number, entry in enumerate(listed)
            if entry["max_input_channels"] > 0
        ]

    def supports(self, device: Device, rate: int) -> bool:
        """Whether the device opens in mono at that rate."""
        try:
            self._sounddevice.check_input_settings(device=device.number, channels=1, dtype="int16", samplerate=rate)
        except (self._sounddevice.PortAudioError, ValueError):
            return False
        return True

    def open(
        self, device: Device, rate: int, on_sound: Callable[[NDArray[np.int16]], None], on_end: Callable[[], None]
    ) -> _PortAudioStream:
        """`on_sound` gets its own copy of each mono block, shape (n,), on a thread that must not wait."""

        def callback(data: NDArray[np.int16], frames: int, time: object, status: object) -> None:
            on_sound(data[:, 0].copy())  # PortAudio uses its memory again.

        try:
            stream = self._sounddevice.InputStream(
                device=device.number,
                channels=1,
                dtype="int16",
                samplerate=rate,
                callback=callback,
                finished_callback=on_end,
            )
        except self._sounddevice.PortAudioError as error:
            raise SourceError(
                f"The microphone '{device.name}' cannot be opened ({error}): close the program that uses it, or choose "
                "another with --device."
            ) from error
        return _PortAudioStream(stream, device, self._sounddevice.PortAudioError)


class _PortAudioStream:
    def __init__(self, stream: Any, device: Device, error: type[Exception]) -> None:
        self._stream, self._device, self._error = stream, device, error

    def start(self) -> None:
        try:
            self._stream.start()
        except self._error as error:
            raise SourceError(
                f"The microphone '{self._device.name}' does not start ({error}): plug it in again."
            ) from error

    def close(self) -> None:
        # A device that is gone cannot be closed, and need not be.
        with suppress(self._error):
            self._stream.close()


def list_devices(backend: PortAudio | None = None) -> list[Device]:
    """The input devices, for `livetrans devices`."""
    return (PortAudio() if backend is None else backend).devices()


def choose_device(devices: list[Device], wanted: str | int | None) -> Device:
    """The device with that number or with that in its name, upper and lower case alike; None: the default."""
    if not devices:
        raise SourceError("There is no microphone: plug one in, or check that the system lets the terminal use it.")
    if wanted is None:
        return next((device for device in devices if device.default), devices[0])
    text = str(wanted).strip()
    if text.isdecimal():
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
