"""Levels of microphones, from captures that the test scripts, and the meters that show them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from livetrans.audio import portaudio, pulse
from livetrans.audio.capture import Captured, LevelMeter
from livetrans.audio.portaudio import Device
from livetrans.audio.pulse import Output, PlayingStream
from livetrans.base.errors import SourceError
from livetrans.cli import devices, run

RATE = 16_000


class FakeCapture:
    rate = RATE

    def __init__(self, device: str, *blocks: np.ndarray) -> None:
        self.device, self._blocks, self.closed = device, blocks, False

    def blocks(self) -> Iterator[Captured]:
        for block in self._blocks:
            yield Captured(block)

    def close(self) -> None:
        self.closed = True


def tone(level: float, seconds: float) -> np.ndarray:
    """A square wave: its root mean square is its height."""
    signs = np.where(np.arange(round(seconds * RATE)) // 20 % 2, 1, -1)
    return (signs * level * 32_768).astype(np.int16)


def opened(number: object) -> FakeCapture:
    if number == 2:
        raise SourceError("The microphone 'Busy' cannot be opened: close the program that uses it.")
    captures = {0: (tone(0.5, 0.3), tone(0.1, 0.27)), 1: (np.zeros(RATE, np.int16),), 3: ()}
    return FakeCapture(f"device {number}", *captures[number])  # type: ignore[index]


def test_the_level_is_that_of_the_last_tenth_of_a_second_and_the_loudest_is_kept() -> None:
    meter = LevelMeter(0, opened)
    assert meter.wait(5)
    meter.close()
    assert (meter.name, meter.fault) == ("device 0", None)
    assert meter.level == pytest.approx(0.1, abs=1e-3)
    assert meter.loudest == pytest.approx(0.5, abs=1e-3)


def test_a_device_without_sound_says_why() -> None:
    for number, words in ((2, "cannot be opened"), (3, "gives no sound")):
        meter = LevelMeter(number, opened)
        assert meter.wait(5)
        meter.close()
        assert meter.level is None and words in (meter.fault or "")


def test_the_seconds_of_listening_count_from_the_first_sound(capsys: pytest.CaptureFixture[str]) -> None:
    class SlowMeter(LevelMeter):
        looks = 0

        def wait(self, seconds: float) -> bool:
            self.looks += 1
            if self.looks == 5:
                self.level = self.loudest = 0.5
            return False

    meter = SlowMeter(3, opened)
    devices.show_levels([Device(3, "USB", 1, RATE, True)], 0.1, lambda number: meter)
    assert "-6 dB" in capsys.readouterr().out
    assert meter.looks < 20


def test_devices_listen_prints_a_line_a_microphone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("Built-in", "USB \x1b[31mmicrophone with a name that is longer than its column", "Busy")
    microphones = [Device(number, name, 1, RATE, number == 0) for number, name in enumerate(names)]
    monkeypatch.setattr(portaudio, "list_devices", lambda: microphones)
    show = devices.show_levels
    monkeypatch.setattr(
        devices, "show_levels", lambda found, seconds: show(found, seconds, lambda n: LevelMeter(n, opened))
    )
    monkeypatch.setattr(devices, "lines_of_played", lambda found: ["* Speaker"])
    assert run(["devices", "--listen"]) == 0
    listed, played, lines = (part.splitlines() for part in capsys.readouterr().out.split("\n\n"))
    assert len(listed) == 4 and played[1:] == ["* Speaker"]
    assert "█" in lines[0] and lines[0].endswith("-6 dB") and len(lines[0]) <= 80
    assert "silence" in lines[1] and "\x1b" not in lines[1] and "…" in lines[1]
    assert "cannot be opened" in lines[2]
    assert len(lines) == 3


@pytest.mark.parametrize("name", ["Monitor of Built-in Audio", "BlackHole 2ch", "Loopback: PCM (hw:1,0)"])
def test_system_sound_is_named(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        portaudio, "list_devices", lambda: [Device(0, "USB", 1, RATE, True), Device(1, name, 2, RATE, False)]
    )
    assert run(["devices"]) == 0
    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert "system sound" in second and "system sound" not in first


def test_outputs_and_what_plays_are_listed_or_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = [Output(0, "Speaker", "speaker.monitor", True), Output(1, "HDMI", "hdmi.monitor", False)]
    streams = [PlayingStream(number, "Fire\x1bfox", "", 0, number == 2) for number in (1, 2)]
    monkeypatch.setattr(devices, "ON_A_MAC", False)
    monkeypatch.setattr(pulse, "list_played", lambda: (outputs, streams))
    lines = devices.lines_of_played([])
    assert lines[0].startswith("*") and "Speaker" in lines[0] and lines[1].split() == ["HDMI"]
    assert lines[-1].endswith("(playing)") and "\x1b" not in lines[-1], "one of its streams plays, the other one pauses"

    monkeypatch.setattr(devices, "ON_A_MAC", True)
    assert devices.lines_of_played([Device(3, "BlackHole 2ch", 2, RATE, False)])[0].endswith("BlackHole 2ch")
    (missing,) = devices.lines_of_played([Device(0, "USB", 1, RATE, True)])
    assert "BlackHole" in missing and missing.endswith(".")
