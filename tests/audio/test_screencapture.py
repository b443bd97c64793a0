"""What a Mac plays, by frameworks whose answers are scripted; `make real` tries the true ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from livetrans.audio import capture as capturing
from livetrans.audio import live, screencapture
from livetrans.audio.capture import OUTPUT
from livetrans.audio.live import Microphone
from livetrans.audio.pulse import NO_PROGRAM, NO_SERVER, NOTHING
from livetrans.audio.screencapture import PlayedByMac, samples_of
from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError, UsageError
from livetrans.cli import devices
from tests.audio import mac_frameworks
from tests.audio.mac_frameworks import App, Buffer, Failure, Mac, Over, sound
from tests.audio.test_microphone import ScriptedCapture

DECLINED = Failure(-3801, "The user declined TCCs for application, window, display capture")
ONE, TWO = sound([0.25]), sound([0.5])
"""8,192 and 16,384."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(screencapture, "LOOK_SECONDS", 0.0)
    screencapture._receiver_class.cache_clear()
    yield
    screencapture._receiver_class.cache_clear()


class Heard:
    """A capture of a scripted Mac, to the script's end."""

    def __init__(self, patch: pytest.MonkeyPatch, mac: Mac, program: str | None = None) -> None:
        mac_frameworks.install(patch, mac)
        self.mac = mac
        self.blocks: list[list[int]] = []
        self.absences: list[str] = []
        """Why there was no sound, after each step."""
        self.stream = PlayedByMac(program, lambda samples: self.blocks.append(samples.tolist()))

    def run(self, *steps: Callable[[], object]) -> Heard:
        """Look once for the stream to be opened, and once after each step."""

        def noted(step: Callable[[], object]) -> Callable[[], None]:
            def run() -> None:
                self.absences.append(self.stream.absence)
                step()

            return run

        self.mac.steps += [lambda: None, *map(noted, [*steps, lambda: None])]
        with pytest.raises(Over):
            self.stream.start()
        del self.absences[0]
        return self


def test_all_that_a_mac_plays_is_heard_without_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch, mac := Mac()).run(mac.play(ONE, TWO))
    assert (heard.stream.name, heard.blocks, heard.absences) == ("this Mac", [[8192], [16_384]], [NOTHING])
    (stream,) = mac.running
    assert (stream.heard, stream.options) == (
        "display 1",
        {"CapturesAudio": True, "ExcludesCurrentProcessAudio": True, "SampleRate": 16_000, "ChannelCount": 1}
        | {"Width": 2, "Height": 2, "MinimumFrameInterval": 60.0},
    )


def test_every_order_of_channels_becomes_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    mac_frameworks.install(monkeypatch, Mac())
    left, right = [0.5, 1.0, -1.0], [0.25, 1.0, -1.0]
    for planar in (True, False):
        samples, rate = samples_of(sound(left, right, rate=48_000.0, planar=planar))
        assert (samples.tolist(), samples.dtype, rate) == ([12_288, 32_767, -32_768], np.int16, 48_000)
    assert samples_of(sound([2.0, -2.0]))[0].tolist() == [32_767, -32_768]


def test_a_rate_that_was_not_asked_for_is_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    tone = np.sin(np.arange(48_000) / 48_000 * 2 * np.pi * 440)
    buffers = [sound(part, rate=48_000.0) for part in np.split(tone, 100)]
    heard = Heard(monkeypatch, mac := Mac()).run(mac.play(*buffers), mac.play(TWO))
    samples = np.concatenate(heard.blocks[:-1])
    assert len(samples) == pytest.approx(16_000, abs=100)
    assert np.abs(np.fft.rfft(samples)).argmax() * 16_000 / len(samples) == pytest.approx(440, abs=2)
    assert heard.blocks[-1] == [16_384], "it changes in the middle"


@pytest.mark.parametrize("buffer", [Buffer(b"\1\0", 16_000.0, 1, 0, 16), Buffer(b"", 16_000.0, 1, status=-12_700)])
def test_what_cannot_be_read_ends_its_stream_alone(monkeypatch: pytest.MonkeyPatch, buffer: Buffer) -> None:
    heard = Heard(monkeypatch, mac := Mac()).run(mac.play(buffer), lambda: None, mac.play(ONE))
    assert (len(mac.streams), len(mac.running), heard.blocks) == (2, 1, [[8192]])


def test_a_refusal_says_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM_PROGRAM", "Apple_Terminal")
    monkeypatch.setattr(capturing, "ON_A_MAC", True)
    mac_frameworks.install(monkeypatch, Mac(refusal=DECLINED))
    capturing.capture(OUTPUT, None, None, io.BytesIO(b"\n"), output := io.BytesIO())
    answer = json.loads(output.getvalue())
    assert "let Terminal record" in answer["fault"] and "Screen & System Audio Recording" in answer["fault"]
    assert answer["fault"].endswith(".") and not answer["usage"]


def test_a_failure_says_its_reason_and_no_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    mac_frameworks.install(monkeypatch, Mac(refusal=Failure(-3811, "internal")))
    with pytest.raises(SourceError, match=r"\(internal\).*\.$"):
        screencapture.content()
    import ScreenCaptureKit  # type: ignore[import-not-found]

    monkeypatch.setattr(screencapture, "ANSWER_SECONDS", 0.01)
    silent = {"getShareableContentWithCompletionHandler_": lambda done: None}
    monkeypatch.setattr(ScreenCaptureKit, "SCShareableContent", type("Silent", (), silent))
    with pytest.raises(SourceError, match="no answer"):
        screencapture.content()


def test_a_stream_that_stops_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mac = Mac()
    heard = Heard(monkeypatch, mac).run(mac.play(ONE), mac.stop_stream(Failure(-3821)), lambda: None, mac.play(TWO))
    assert (heard.blocks, len(mac.streams), len(mac.running)) == ([[8192], [16_384]], 2, 1)


def test_a_display_that_sleeps_ends_no_stream_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch, mac := Mac()).run(mac.set(displays=[]), mac.play(ONE))
    assert (heard.blocks, len(mac.streams), heard.absences) == ([[8192]], 1, [NOTHING, NOTHING])


def test_a_display_that_wakes_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch, mac := Mac()).run(
        mac.set(displays=[]), mac.stop_stream(Failure(-3815)), lambda: None, mac.set(displays=[2]), mac.play(TWO)
    )
    assert (heard.blocks, [stream.heard for stream in mac.streams]) == ([[16_384]], ["display 1", "display 2"])
    assert heard.absences[2:4] == [NO_SERVER, NOTHING]


@pytest.mark.parametrize("failure", ["refusal", "start_failure", "output_failure"])
def test_a_mac_that_refuses_later_is_asked_again(monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    heard = Heard(monkeypatch, mac := Mac())
    heard.run(
        lambda: (mac.set(**{failure: DECLINED})(), mac.stop_stream(DECLINED)()),
        lambda: None,
        mac.set(**{failure: None}),
        mac.play(ONE),
    )
    assert (heard.absences[1], heard.blocks) == (NO_SERVER, [[8192]])


def test_a_program_is_waited_for_and_heard_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    mac = Mac(apps=[App("Safari", 3), App(None, 4)])
    heard = Heard(monkeypatch, mac, "zoom")
    assert heard.stream.name == "zoom"
    both = [App("Safari", 3), App("zoom.us", 7, "us.zoom.xos"), App("zoom.us", 8)]
    heard.run(
        mac.set(apps=both),
        mac.play(sound([0.0, 0.0])),  # It is open, and plays nothing yet.
        mac.play(ONE),
        mac.play(sound([0.0])),  # a pause between words
        mac.set(apps=[App("Safari", 3)]),
        mac.set(apps=[App("zoom.us", 9)]),
        mac.play(TWO),
    )
    assert heard.blocks == [[8192], [0], [16_384]]
    assert [stream.heard for stream in mac.streams] == [[7, 8], [9]] and len(mac.running) == 1
    assert heard.absences == [NO_PROGRAM, NO_PROGRAM, NOTHING, NOTHING, NO_PROGRAM, NO_PROGRAM, NOTHING]


def test_a_part_of_a_name_that_several_programs_have_is_refused_at_first_only(monkeypatch: pytest.MonkeyPatch) -> None:
    twins = [App("zoom.us", 7), App("Zoom Player", 8, "com.inmatrix")]
    with pytest.raises(UsageError, match=r"'zoom\.us', 'Zoom Player'.*--app"):
        Heard(monkeypatch, Mac(apps=twins), "zoom")
    mac = Mac()
    heard = Heard(monkeypatch, mac, "zoom").run(mac.set(apps=twins), mac.set(apps=twins[1:]), mac.play(ONE))
    assert ([stream.heard for stream in mac.streams], heard.blocks) == ([[8]], [[8192]])


def test_the_programs_of_a_mac_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "ON_A_MAC", True)
    mac_frameworks.install(
        monkeypatch, Mac(apps=[App("Zo\x1bom", 3), App("Safari", 4), App("Safari", 5), App(None, 6)])
    )
    first, *_, safari, zoom = devices.lines_of_played([])
    assert first.split() == ["*", "this", "Mac"] and safari.split() == ["Safari", "(open)"]
    assert "\x1b" not in zoom and zoom.endswith("(open)")
    mac_frameworks.install(monkeypatch, Mac(refusal=DECLINED))
    (line,) = devices.lines_of_played([])
    assert "Screen & System Audio Recording" in line


def test_without_the_extra_one_program_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing, "ON_A_MAC", True)
    capturing.capture(OUTPUT, "zoom", None, io.BytesIO(b"\n"), output := io.BytesIO())
    answer = json.loads(output.getvalue())
    assert "mac-sound" in answer["fault"] and "--app" in answer["fault"] and answer["usage"]


def test_a_microphone_that_is_a_loopback_device_would_hear_the_mac_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ON_A_MAC", True)
    for device, hears in (("BlackHole 2ch", True), ("USB Headset", False)):
        opened = ScriptedCapture(ManualClock(), device=device)
        microphone = Microphone(None, ManualClock(), lambda event: None, lambda *wanted, opened=opened: opened)
        assert microphone.hears_output(screencapture.NAME) is hears
