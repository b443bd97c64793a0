"""What a real sound server plays: a program alone, to the sample; through each fault the run goes on, with gaps."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from livetrans.audio import pulse
from livetrans.audio.live import Playback
from livetrans.audio.portaudio import ON_A_MAC
from livetrans.base.clock import SystemClock
from livetrans.base.errors import SourceError, UsageError
from livetrans.events import SAMPLE_RATE, Event, Gap, Notice
from tests.audio.sound_server import SoundServer, wait_until, write_wav

pytestmark = pytest.mark.skipif(ON_A_MAC, reason="a Mac has no such server")

SECONDS = 20


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SoundServer]:
    server = SoundServer(tmp_path)
    for name in ("XDG_RUNTIME_DIR", "PULSE_RUNTIME_PATH", "HOME"):
        monkeypatch.setenv(name, server.environment[name])
    monkeypatch.delenv("PULSE_SERVER", raising=False)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def count(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound whose samples count, so that each names its place."""
    return write_wav(tmp_path_factory.mktemp("sound") / "count.wav", np.arange(SECONDS * SAMPLE_RATE) % 30_000 + 1)


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples = np.random.default_rng(0).integers(-20_000, -10_000, SECONDS * SAMPLE_RATE)
    return write_wav(tmp_path_factory.mktemp("sound") / "noise.wav", samples)


class Ear:
    """Hears a source in a thread."""

    def __init__(self, program: str | None) -> None:
        self.events: list[Event] = []
        self.pieces: list[np.ndarray] = []
        self.source = Playback(program, SystemClock(), self.events.append)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        for chunk in self.source:
            self.pieces.append(chunk.samples)

    def samples(self) -> np.ndarray:
        """All that was heard by now but zeros."""
        samples = np.concatenate([np.zeros(0, np.int16), *self.pieces])
        return samples[samples != 0]

    def wait_for_sound(self, seconds: float = 1.0) -> None:
        """Until it has heard as much more."""
        before = len(self.samples())
        wait_until(lambda: len(self.samples()) >= before + seconds * SAMPLE_RATE)

    def gaps(self) -> list[Gap]:
        return [event for event in self.events if isinstance(event, Gap)]

    def notices(self, level: str) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice) and event.level == level]

    def close(self) -> None:
        self.source.close()
        self._thread.join(30)
        assert not self._thread.is_alive()


@contextmanager
def hearing(program: str | None) -> Iterator[Ear]:
    """Hear from the moment on at which the source has begun: it has sound, or knows that the program plays none."""
    ear = Ear(program)
    try:
        wait_until(lambda: any(map(len, ear.pieces)) or bool(ear.notices("warning")))
        yield ear
    finally:
        ear.close()
    wait_until(lambda: not captures())


def captures() -> list[psutil.Process]:
    """The processes of parec that this one's captures have started."""
    return [child for child in psutil.Process().children(recursive=True) if child.name() == "parec"]


@contextmanager
def playing(server: SoundServer, path: Path, program: str, sink: str = "speaker") -> Iterator[subprocess.Popen[bytes]]:
    process = server.start_playing(path, program, sink)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def runs(samples: np.ndarray) -> list[int]:
    """Lengths of the stretches in which every sample is the next one of the count."""
    steps = np.flatnonzero(~np.isin(np.diff(samples.astype(int)), (1, -29_999)))
    return np.diff(np.concatenate([[-1], steps, [len(samples) - 1]])).tolist()


def test_of_two_programs_one_is_heard_to_the_sample(server: SoundServer, count: Path, noise: Path) -> None:
    with playing(server, noise, "Müsic player"), hearing("count") as ear, playing(server, count, "Counting program"):
        ear.wait_for_sound(2.0)
        samples = ear.samples()
        assert len(runs(samples)) == 1, "nothing is missing, and nothing of the other program is in it"
        assert samples[0] < SAMPLE_RATE / 2, "the beginning is there"
        assert ear.notices("warning")[0].startswith("'count' plays nothing yet")
        outputs, streams = pulse.list_played()
        assert [output.default for output in outputs] == [True, False]
        assert {stream.program for stream in streams} == {"Müsic player", "Counting program"}


@pytest.mark.long
def test_all_programs_are_heard_without_a_choice_and_silence_is_no_gap(server: SoundServer, count: Path) -> None:
    with hearing(None) as ear:
        time.sleep(3.0)
        with playing(server, count, "one"):
            ear.wait_for_sound()
        with playing(server, count, "other"):
            ear.wait_for_sound()
    assert ear.notices("warning") == [] and ear.gaps() == []


@pytest.mark.long
def test_another_program_that_matches_is_heard_once_the_first_has_stopped(server: SoundServer, count: Path) -> None:
    with hearing("zoom") as ear:
        for name in ("zoom notes", "ZOOM VoiceEngine"):
            with playing(server, count, name):
                ear.wait_for_sound()
        assert len(runs(ear.samples())) == 2


@pytest.mark.long
@pytest.mark.parametrize("program", ["call", None])
def test_a_program_on_another_output_is_followed_where_it_should_be(
    program: str | None, server: SoundServer, count: Path
) -> None:
    """One program goes on when it is moved; all that is played, when the default output changes."""
    with hearing(program) as ear, playing(server, count, "call"):
        ear.wait_for_sound()
        if program is None:
            server.control("set-default-sink", "headset")
        (stream,) = server.streams()
        server.control("move-sink-input", stream, "headset")
        ear.wait_for_sound()
        heard = ear.samples().astype(int)
        lost = [length for length in np.diff(heard).tolist() if length not in (1, -29_999)]
        print(f"{program}: {len(lost)} jumps, {sum(abs(length) for length in lost) / SAMPLE_RATE:.2f} s lost")
    assert len(lost) <= 1
    assert ear.notices("warning")[1 if program else 0 :] == []


@pytest.mark.long
def test_two_streams_of_a_program_are_one_sound(server: SoundServer, count: Path, noise: Path) -> None:
    with hearing("call") as ear, playing(server, noise, "call"):
        ear.wait_for_sound()
        assert ear.samples().max() < 0
        with playing(server, count, "call"):
            before = len(ear.samples())
            ear.wait_for_sound(3.0)
            assert ear.samples()[before:].max() > 0
    assert ear.gaps() == []


def test_what_is_missing_is_said_in_one_sentence(
    tmp_path: Path, server: SoundServer, monkeypatch: pytest.MonkeyPatch, count: Path
) -> None:
    with (
        playing(server, count, "Call one"),
        playing(server, count, "Call two"),
        pytest.raises(UsageError, match=r"'Call one', 'Call two'.*--app"),
    ):
        Ear("call")
    server.kill()
    with pytest.raises(SourceError, match="No sound server answers"):
        Ear(None)
    monkeypatch.setattr("livetrans.audio.pulse.shutil.which", lambda program: None)
    with pytest.raises(SourceError, match="apt install"):
        pulse.PlayedStream(None, lambda samples, lost: None)
