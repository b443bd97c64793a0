from __future__ import annotations

import builtins
import threading
from collections.abc import Callable

import numpy as np
import pytest

from livetrans.audio.microphone import BUFFERED_SECONDS, Device, Microphone, PortAudio, choose_device, list_devices
from livetrans.clock import ManualClock
from livetrans.errors import SourceError, UsageError
from livetrans.events import SAMPLE_RATE, AudioChunk, Notice

DEVICES = [
    Device(0, "Built-in Microphone", 1, 48_000, False),
    Device(3, "USB Headset", 2, 44_100, True),
    Device(4, "USB Microphone", 1, 48_000, False),
]


class FakeCard:
    """A sound card whose callback the test calls itself."""

    def __init__(self, devices: list[Device] = DEVICES, rates: tuple[int, ...] = (SAMPLE_RATE,)) -> None:
        self._devices, self._rates = devices, rates
        self.on_sound: Callable[[np.ndarray], None]
        self.on_end: Callable[[], None]
        self.opened: tuple[Device, int] | None = None
        self.started = self.closed = False

    def devices(self) -> list[Device]:
        return self._devices

    def supports(self, device: Device, rate: int) -> bool:
        return rate in self._rates

    def open(self, device: Device, rate: int, on_sound: Callable[[np.ndarray], None], on_end: Callable[[], None]):
        self.opened, self.on_sound, self.on_end = (device, rate), on_sound, on_end
        return self

    def start(self) -> None:
        self.started = True

    def close(self) -> None:
        self.closed = True
        self.on_end()  # PortAudio calls it for every end, ours included.


def microphone(card: FakeCard, **options: object) -> tuple[Microphone, list[Notice]]:
    notices: list[Notice] = []
    return Microphone(None, ManualClock(7.0), notices.append, backend=card, **options), notices  # type: ignore[arg-type]


def block(value: int, seconds: float = 1.0, rate: int = SAMPLE_RATE) -> np.ndarray:
    return np.full(round(seconds * rate), value, dtype=np.int16)


def test_what_the_callback_gets_comes_out_in_order_with_its_instant() -> None:
    card = FakeCard()
    mic, notices = microphone(card)
    assert card.opened == (DEVICES[1], SAMPLE_RATE)
    for value in (1, 2, 3):
        card.on_sound(block(value, 0.02))
    mic.close()
    chunks = list(mic)
    assert np.concatenate([c.samples for c in chunks]).tolist() == [v for v in (1, 2, 3) for _ in range(320)]
    assert chunks[-1].captured_at == 7.0
    assert card.started and card.closed
    assert notices == []


def test_an_unplugged_microphone_gives_everything_heard_before_the_error() -> None:
    card = FakeCard()
    mic, _ = microphone(card)
    card.on_sound(block(5))
    card.on_end()
    heard: list[AudioChunk] = []
    with pytest.raises(SourceError, match="USB Headset"):
        for chunk in mic:
            heard.append(chunk)
    assert sum(len(chunk.samples) for chunk in heard) == SAMPLE_RATE
    assert card.closed


def test_a_microphone_that_falls_silent_is_gone() -> None:
    card = FakeCard()
    mic, _ = microphone(card, dead_seconds=0.02)
    card.on_sound(block(5))
    chunks = iter(mic)
    assert len(next(chunks).samples) == SAMPLE_RATE
    with pytest.raises(SourceError, match="no longer gives sound"):
        next(chunks)


def test_a_listener_a_minute_behind_loses_the_oldest_sound_with_a_warning() -> None:
    card = FakeCard()
    mic, notices = microphone(card)
    for value in range(BUFFERED_SECONDS + 5):
        card.on_sound(block(value))
    mic.close()
    chunks = list(mic)
    assert chunks[0].start == 5.0, "source time goes on over what was lost"
    assert chunks[0].samples[0] == 5
    assert chunks[-1].end == BUFFERED_SECONDS + 5
    assert [(notice.level, "5.0 s" in notice.text) for notice in notices] == [("warning", True)]


def test_paused_sound_is_thrown_away_and_its_time_goes_on() -> None:
    card = FakeCard()
    mic, notices = microphone(card)
    card.on_sound(block(1))
    mic.pause(True)
    card.on_sound(block(2, 3.0))
    mic.pause(False)
    card.on_sound(block(3))
    mic.close()
    assert [(chunk.start, chunk.end, int(chunk.samples[0])) for chunk in mic] == [(0.0, 1.0, 1), (4.0, 5.0, 3)]
    assert notices == []


def test_a_pause_is_not_a_dead_microphone() -> None:
    card = FakeCard()
    mic, _ = microphone(card, dead_seconds=0.05)
    mic.pause(True)
    done = threading.Event()

    def play() -> None:
        while not done.wait(0.01):
            card.on_sound(block(1, 0.01))
        mic.close()

    threading.Timer(0.4, done.set).start()
    player = threading.Thread(target=play)
    player.start()
    assert list(mic) == []
    player.join()


def test_a_device_without_16_khz_is_opened_at_its_own_rate_and_resampled() -> None:
    card = FakeCard(rates=(44_100,))
    mic, _ = microphone(card)
    assert card.opened == (DEVICES[1], 44_100)
    time = np.arange(44_100 * 2) / 44_100
    tone = (8000 * np.sin(2 * np.pi * 300 * time)).astype(np.int16)
    for start in range(0, len(tone), 441):
        card.on_sound(tone[start : start + 441])
    mic.pause(True)
    card.on_sound(block(0, 1.0, 44_100))
    mic.pause(False)
    for start in range(0, len(tone), 441):
        card.on_sound(tone[start : start + 441])
    mic.close()
    chunks = list(mic)
    first = np.concatenate([c.samples for c in chunks if c.start < 2.9])
    expected = 8000 * np.sin(2 * np.pi * 300 * np.arange(len(first)) / SAMPLE_RATE)
    assert abs(len(first) - 2 * SAMPLE_RATE) < 50
    assert np.corrcoef(first[100:-100], expected[100:-100])[0, 1] > 0.999
    assert any(chunk.start_sample == 3 * SAMPLE_RATE for chunk in chunks)


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
    assert list_devices(FakeCard()) == DEVICES


def test_without_portaudio_one_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fail(name: str, *rest: object, **more: object) -> object:
        if name == "sounddevice":
            raise OSError("PortAudio library not found")
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(SourceError, match="apt install libportaudio2"):
        PortAudio()
