"""What opens a device, and the process that captures it."""

from __future__ import annotations

import errno
import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from livetrans.audio import capture as capturing
from livetrans.audio import portaudio
from livetrans.audio.capture import _HEAD, MICROPHONE, OUTPUT, QUEUED_BLOCKS, SUSPENDED_CODE, Capture
from livetrans.audio.portaudio import Device, DeviceStream, choose_device, list_devices
from livetrans.audio.pulse import NOTHING
from livetrans.base.errors import LivetransError, SourceError, UsageError
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

    __name__ = "sounddevice"
    PortAudioError = PortAudioError

    def __init__(
        self, *accepted: tuple[int, int], gives: Callable[[FakeSoundDevice], None] = lambda fake: None
    ) -> None:
        self.accepted, self._gives = accepted, gives
        self.default = SimpleNamespace(device=[1, 0])
        self.names: tuple[tuple[str, int], ...] = (("Speaker", 0), ("USB Headset", 2), ("Camera", 1))
        self.tried: list[tuple[int, int]] = []

    def query_devices(self) -> list[dict[str, object]]:
        return [
            {"name": name, "max_input_channels": count, "default_samplerate": 32_000.0} for name, count in self.names
        ]

    def InputStream(self, *, samplerate: int, channels: int, callback: object, finished_callback: object, **_: object):
        self.tried.append((samplerate, channels))
        if (samplerate, channels) not in self.accepted:
            raise PortAudioError("Invalid sample rate")
        self.callback, self.finish = callback, finished_callback
        return self

    def start(self) -> None:
        self._gives(self)

    def play(self, samples: np.ndarray) -> None:
        self.callback(samples, len(samples), None, None)


Run = Callable[..., tuple[dict[str, object], bytes]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run what the child runs; return the line that it writes, and what comes after it."""
    monkeypatch.setattr(capturing, "START_SECONDS", 0.05)
    monkeypatch.setattr(capturing, "DEAD_SECONDS", 0.05)
    monkeypatch.setattr(capturing, "watch", lambda: None)

    def run(
        fake: FakeSoundDevice,
        wanted: str | None = None,
        start: bytes = b"\n",
        output: io.BytesIO | None = None,
        kind: str = MICROPHONE,
    ) -> tuple[dict[str, object], bytes]:
        monkeypatch.setitem(sys.modules, "sounddevice", fake)
        output = output or io.BytesIO()
        capturing.capture(kind, wanted, None, io.BytesIO(start), output)
        line, sound = output.getvalue().split(b"\n", 1)
        return json.loads(line), sound

    return run


def blocks_in(sound: bytes) -> list[list[int]]:
    """The samples of each block."""
    found = []
    while sound:
        _, frames, _ = _HEAD.unpack_from(sound)
        samples, sound = sound[_HEAD.size : _HEAD.size + 2 * frames], sound[_HEAD.size + 2 * frames :]
        found.append(np.frombuffer(samples, "<i2").tolist())
    return found


def test_the_first_rate_and_channels_that_the_device_takes_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(1, "USB Headset", 2, 32_000, True)
    for accepted in ((SAMPLE_RATE, 1), (SAMPLE_RATE, 2), (32_000, 1), (48_000, 2), (44_100, 1)):
        monkeypatch.setitem(sys.modules, "sounddevice", fake := FakeSoundDevice(accepted))
        stream = DeviceStream(device, lambda samples: None, lambda: None)
        assert (stream.rate, fake.tried[-1]) == (accepted[0], accepted)
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSoundDevice())
    with pytest.raises(SourceError, match=r"USB Headset.*Invalid sample rate.*--device"):
        DeviceStream(device, lambda samples: None, lambda: None)


def test_two_channels_become_their_mean(run: Run) -> None:
    def gives(fake: FakeSoundDevice) -> None:
        fake.play(np.array([[30_000, 32_000], [-4, 0]], np.int16))
        fake.finish()

    head, sound = run(FakeSoundDevice((SAMPLE_RATE, 2), gives=gives))
    assert head == {"device": "USB Headset", "number": 1, "rate": SAMPLE_RATE}
    assert blocks_in(sound) == [[31_000, -2]]


def test_a_parent_that_does_not_read_loses_the_newest_sound(run: Run) -> None:
    played = threading.Event()

    class Pipe(io.BytesIO):
        def write(self, data: object) -> int:
            if self.tell():  # after the line of what was opened
                played.wait(10)
            return super().write(data)  # type: ignore[arg-type]

    def gives(fake: FakeSoundDevice) -> None:
        for _ in range(2 * QUEUED_BLOCKS):
            fake.play(np.ones((10, 1), np.int16))
        played.set()
        fake.finish()

    _, sound = run(FakeSoundDevice((48_000, 1), gives=gives), output=Pipe())
    assert QUEUED_BLOCKS <= len(blocks_in(sound)) <= QUEUED_BLOCKS + 2


def test_a_device_that_gives_nothing_or_does_not_start_ends_the_capture(run: Run) -> None:
    def fails(fake: FakeSoundDevice) -> None:
        raise PortAudioError("gone")

    for gives in (lambda fake: None, fails, lambda fake: threading.Event().wait(5)):
        head, sound = run(FakeSoundDevice((SAMPLE_RATE, 1), gives=gives))
        assert (head["rate"], sound) == (SAMPLE_RATE, b"")


def test_what_is_played_ends_where_it_cannot_be_followed_any_more(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """The system may refuse another process for a moment."""

    class Refused:
        name, number, rate, absence = "output", 0, SAMPLE_RATE, NOTHING

        def start(self) -> None:
            raise BlockingIOError

    class Pipe(io.BytesIO):
        def flush(self) -> None:
            assert len(self.getvalue()) < 500, "it does not end"

    monkeypatch.setattr(capturing, "open_stream", lambda *_: Refused())
    monkeypatch.setattr("livetrans.audio.pulse.QUIET_SECONDS", 0.05)
    assert run(FakeSoundDevice(), kind=OUTPUT, output=Pipe())[1] == b""


def test_a_process_that_cannot_be_started_is_a_device_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(capturing, "start_python", refuse)
    with pytest.raises(SourceError, match="Too many open files"):
        Capture(None)


def test_a_driver_that_hangs_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(timeout: float | None = None) -> int:
        assert timeout is not None and timeout <= 1.0, "it waits for ever"
        raise subprocess.TimeoutExpired("capture", timeout)

    answer = io.BytesIO(b'{"device": "USB", "number": 0, "rate": 16000}\n')
    process = SimpleNamespace(stdin=io.BytesIO(), stdout=answer, kill=lambda: None, wait=wait)
    monkeypatch.setattr(capturing, "start_python", lambda *_, **__: process)
    Capture(None).close()


def test_nothing_is_captured_before_it_is_asked_for(run: Run) -> None:
    fake = FakeSoundDevice((SAMPLE_RATE, 1), gives=lambda fake: fake.play(np.ones((1, 1), np.int16)))
    assert run(fake, start=b"")[1] == b""


def test_why_nothing_was_opened_is_said_in_one_sentence(run: Run) -> None:
    for wanted, usage in (("webcam", True), ("camera", False)):
        head, sound = run(FakeSoundDevice(), wanted)
        assert (head["usage"], sound) == (usage, b"") and wanted in str(head["fault"]).lower()


def test_on_a_mac_what_is_played_comes_from_a_loopback_device(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing, "ON_A_MAC", True)
    fake = FakeSoundDevice((SAMPLE_RATE, 1), gives=lambda fake: fake.play(np.ones((1, 1), np.int16)))
    missing, _ = run(fake, kind=OUTPUT)
    assert "BlackHole" in str(missing["fault"]) and not missing["usage"]
    fake.names = (*fake.names, ("BlackHole 2ch", 2))
    head, sound = run(fake, kind=OUTPUT)
    assert (head["device"], blocks_in(sound)) == ("BlackHole 2ch", [[1]])


def test_the_process_prints_nothing_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LivetransError) as caught:
        Capture("a microphone that nobody has")
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


def test_of_two_devices_of_one_name_the_same_one_is_opened_again() -> None:
    twins = [Device(number, "USB Microphone", 1, 48_000, False) for number in (2, 5)]
    with pytest.raises(UsageError, match="give a number"):
        choose_device(twins, "USB Microphone")
    assert [choose_device(twins, "USB Microphone", number).number for number in (2, 5, 6)] == [2, 5, 5]
    assert choose_device(twins[:1], "USB Microphone", 5).number == 2, "the other one, rather than none"
    with pytest.raises(UsageError):
        choose_device(DEVICES, "Webcam", 0)


def test_a_capture_ends_when_its_parent_is_stopped() -> None:
    child = "from livetrans.audio.capture import watch; print('watching', flush=True); watch()"
    parent = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
print(child.wait(), flush=True)
"""
    # In a group of its own: the system discards SIGTSTP where no shell could continue the group (POSIX).
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, process_group=0)
    assert process.stdout
    pid = int(process.stdout.readline())
    process.send_signal(signal.SIGTSTP)
    patience = time.monotonic() + 30
    while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < patience, "it goes on listening"
        time.sleep(0.05)
    process.send_signal(signal.SIGCONT)
    assert int(process.communicate(timeout=30)[0]) == SUSPENDED_CODE


def test_a_child_that_dies_in_its_answer_is_a_sound_system_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for command in (["true"], ["printf", "{"], ["printf", '{"device": "x", "rate"']):

        def start(module: str, *arguments: str, command: list[str] = command, **pipes: int) -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, bufsize=0, **pipes)

        monkeypatch.setattr(capturing, "start_python", start)
        with pytest.raises(SourceError, match="does not answer"):
            Capture(None)


def test_a_macs_silent_microphone_needs_the_terminals_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portaudio, "ON_A_MAC", True)
    for program, named in (("Apple_Terminal", "Terminal"), ("ghostty", "ghostty"), (None, "this terminal")):
        monkeypatch.delenv("TERM_PROGRAM", raising=False)
        if program:
            monkeypatch.setenv("TERM_PROGRAM", program)
        assert f"allow {named} to use it" in portaudio.zeros_advice()
    monkeypatch.setattr(portaudio, "ON_A_MAC", False)
    assert "unmute" in portaudio.zeros_advice()


def test_only_devices_that_record_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSoundDevice())
    assert [(device.number, device.name, device.default) for device in list_devices()] == [
        (1, "USB Headset", True),
        (2, "Camera", False),
    ]


def test_without_portaudio_one_sentence_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    with pytest.raises(SourceError, match="apt install libportaudio2"):
        list_devices()
