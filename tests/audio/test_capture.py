"""What opens a device, and the process that captures it."""

from __future__ import annotations

import builtins
import io
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from livetrans.audio.capture import CaptureProcess, capture
from livetrans.audio.portaudio import Device, PortAudio, choose_device
from livetrans.errors import LivetransError, SourceError, UsageError
from livetrans.events import SAMPLE_RATE

DEVICES = [
    Device(0, "Built-in Microphone", 1, 48_000, False),
    Device(3, "USB Headset", 2, 44_100, True),
    Device(4, "USB Microphone", 1, 48_000, False),
]


class PortAudioError(Exception):
    pass


class FakeSoundDevice:
    """sounddevice's interface over devices that take some rates and numbers of channels only."""

    PortAudioError = PortAudioError

    def __init__(
        self, *accepted: tuple[int, int], gives: Callable[[FakeSoundDevice], None] = lambda fake: None
    ) -> None:
        self.accepted, self._gives = accepted, gives
        self.default = SimpleNamespace(device=[1, 0])
        self.tried: list[tuple[int, int]] = []

    def query_devices(self) -> list[dict[str, object]]:
        names = (("Speaker", 0), ("USB Headset", 2), ("Camera", 1))
        return [{"name": name, "max_input_channels": count, "default_samplerate": 32_000.0} for name, count in names]

    def InputStream(self, *, samplerate: int, channels: int, callback: object, finished_callback: object, **_: object):
        self.tried.append((samplerate, channels))
        if (samplerate, channels) not in self.accepted:
            raise PortAudioError("Invalid sample rate")
        self.callback, self.finish = callback, finished_callback
        return self

    def start(self) -> None:
        self._gives(self)

    def play(self, samples: np.ndarray, begins_at: float, overflow: bool = False) -> None:
        status = SimpleNamespace(input_overflow=overflow)
        self.callback(samples, len(samples), SimpleNamespace(inputBufferAdcTime=begins_at), status)


def port_audio(fake: FakeSoundDevice) -> PortAudio:
    backend = PortAudio.__new__(PortAudio)
    backend._sounddevice = fake
    return backend


def captured(fake: FakeSoundDevice, wanted: str | None = None, start: bytes = b"\n") -> tuple[dict[str, object], bytes]:
    """The line that the child writes, and what comes after it."""
    output = io.BytesIO()
    capture(wanted, io.BytesIO(start), output, port_audio(fake), start_seconds=0.05, dead_seconds=0.05)
    line, sound = output.getvalue().split(b"\n", 1)
    return json.loads(line), sound


def test_the_first_rate_and_channels_that_the_device_takes_are_used() -> None:
    device = Device(1, "USB Headset", 2, 32_000, True)
    for accepted in ((SAMPLE_RATE, 1), (SAMPLE_RATE, 2), (32_000, 1), (48_000, 2), (44_100, 1)):
        fake = FakeSoundDevice(accepted)
        stream = port_audio(fake).open(device, lambda samples, lost: None, lambda: None)
        assert (stream.rate, fake.tried[-1]) == (accepted[0], accepted)
    with pytest.raises(SourceError, match=r"USB Headset.*Invalid sample rate.*--device"):
        port_audio(FakeSoundDevice()).open(device, lambda samples, lost: None, lambda: None)


def test_two_channels_become_their_mean_and_lost_frames_are_counted() -> None:
    def gives(fake: FakeSoundDevice) -> None:
        fake.play(np.array([[30_000, 32_000], [-4, 0]], np.int16), 0.0)
        fake.play(np.array([[1, 1]], np.int16), 2 / SAMPLE_RATE + 0.5, overflow=True)
        fake.finish()

    head, sound = captured(FakeSoundDevice((SAMPLE_RATE, 2), gives=gives))
    assert head == {"device": "USB Headset", "rate": SAMPLE_RATE, "fault": "", "usage": False}
    first = np.array([0, 2], "<u4").tobytes() + np.array([31_000, -2], "<i2").tobytes()
    second = np.array([SAMPLE_RATE // 2, 1], "<u4").tobytes() + np.array([1], "<i2").tobytes()
    assert sound == first + second


def test_a_device_that_gives_nothing_or_does_not_start_ends_the_capture() -> None:
    def fails(fake: FakeSoundDevice) -> None:
        raise PortAudioError("gone")

    for gives in (lambda fake: None, fails, lambda fake: threading.Event().wait(5)):
        head, sound = captured(FakeSoundDevice((SAMPLE_RATE, 1), gives=gives))
        assert (head["rate"], sound) == (SAMPLE_RATE, b"")


def test_nothing_is_captured_before_it_is_asked_for() -> None:
    fake = FakeSoundDevice((SAMPLE_RATE, 1), gives=lambda fake: fake.play(np.ones((1, 1), np.int16), 0.0))
    assert captured(fake, start=b"")[1] == b""


def test_why_nothing_was_opened_is_said_in_one_sentence() -> None:
    for wanted, usage in (("webcam", True), ("camera", False)):
        head, sound = captured(FakeSoundDevice(), wanted)
        assert (head["rate"], head["usage"], sound) == (0, usage, b"")
        assert isinstance(head["fault"], str) and wanted in head["fault"].lower()


def test_the_process_prints_nothing_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LivetransError) as caught:
        CaptureProcess("a microphone that nobody has")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_devices_are_chosen_by_number_or_part_of_the_name() -> None:
    assert choose_device(DEVICES, 4).number == 4
    assert choose_device(DEVICES, "0").number == 0
    assert choose_device(DEVICES, "headset").number == 3
    assert choose_device(DEVICES, None).number == 3
    assert choose_device(DEVICES[:1], None).number == 0
    with pytest.raises(UsageError, match=r"Several.*3 'USB Headset', 4 'USB Microphone'"):
        choose_device(DEVICES, "usb")
    with pytest.raises(UsageError, match="Built-in"):
        choose_device(DEVICES, "webcam")
    with pytest.raises(SourceError, match="no microphone"):
        choose_device([], None)


def test_only_devices_that_record_are_listed() -> None:
    found = port_audio(FakeSoundDevice()).devices()
    assert [(device.number, device.name, device.default) for device in found] == [
        (1, "USB Headset", True),
        (2, "Camera", False),
    ]


def test_without_portaudio_one_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fail(name: str, *rest: object, **more: object) -> object:
        if name == "sounddevice":
            raise OSError("PortAudio library not found")
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(SourceError, match="apt install libportaudio2"):
        PortAudio()
