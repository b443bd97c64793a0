"""`mic` and `listen` on a real sound server: words come through its faults, and gaps are marked with their length."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from livetrans.audio.portaudio import ON_A_MAC
from livetrans.events import SAMPLE_RATE
from tests.audio.rooms import RECORDINGS, recording
from tests.audio.sound_server import Listener, SoundServer, plain, wait_until, write_wav

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("translator_path", "recogniser_path")]
NOT_ON_A_MAC = pytest.mark.skipif(ON_A_MAC, reason="a Mac has no such server")

SENTENCE = "my brother lives in a small house near the river"
"""The second of the demo."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SoundServer]:
    server = SoundServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def sentence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's second sentence, with silence around it."""
    samples = recording("demo")[int(3.0 * SAMPLE_RATE) : int(6.6 * SAMPLE_RATE)]
    return write_wav(tmp_path_factory.mktemp("sound") / "sentence.wav", np.pad(samples, (0, SAMPLE_RATE // 2)))


def sound_of(name: str, path: Path) -> set[str]:
    """Write a recording of the tree as a file; return its words."""
    write_wav(path, recording(name))
    return set(plain((RECORDINGS / f"{name}.txt").read_text(encoding="utf-8")).split())


def words_heard(listener: Listener) -> float:
    """The share of the sentence's words that were heard as often as it was played, each place once."""
    return len(set(SENTENCE.split()) & set(listener.heard().split())) / len(set(SENTENCE.split()))


def of_the_microphone(errors: str) -> list[str]:
    """What standard error says of it; none of it comes from a native library."""
    for word in ("ALSA", "Expression", "jack", "pa_linux", "PulseAudio", "Traceback"):
        assert word.casefold() not in errors.casefold()
    return [line for line in errors.splitlines() if "microphone" in line]


def test_a_server_that_dies_and_comes_back_is_a_gap_and_not_the_end(
    server: SoundServer, sentence: Path, tmp_path: Path
) -> None:
    listener = Listener(server, tmp_path)
    listener.wait_for_sound()
    server.play(sentence)
    time.sleep(1.0)
    server.kill()
    died_at = time.monotonic()
    time.sleep(3.0)
    server.start()
    listener.wait_for("gap")
    lasted = time.monotonic() - died_at
    server.play(sentence)
    time.sleep(2.0)
    code, output, errors = listener.stop()
    (gap,) = listener.events("gap")
    print(f"gap {gap['end'] - gap['start']:.1f} s of {lasted:.1f} s; lag {listener.lag():.2f} s; {listener.heard()!r}")
    assert code == 0
    assert listener.heard().split().count("river") == 2
    assert gap["reason"] == "microphone"
    assert abs(gap["end"] - gap["start"] - lasted) < 2.0
    lines = output.splitlines()
    assert f"[{gap['end'] - gap['start']:.0f} s without sound]" in lines[1:-1], lines
    (line,) = of_the_microphone(errors)
    assert "gives no sound" in line


def test_a_suspended_source_is_a_gap(server: SoundServer, sentence: Path, tmp_path: Path) -> None:
    listener = Listener(server, tmp_path)
    listener.wait_for_sound()
    server.control("suspend-sink", "speaker", "1")
    time.sleep(5.0)
    server.control("suspend-sink", "speaker", "0")
    listener.wait_for("gap")
    server.play(sentence)
    time.sleep(2.0)
    code, _, errors = listener.stop()
    assert code == 0
    assert words_heard(listener) == 1.0
    (gap,) = listener.events("gap")
    assert 4.0 < gap["end"] - gap["start"] < 12.0
    assert len(of_the_microphone(errors)) == 1


@pytest.mark.parametrize("command", ["mic", pytest.param("listen", marks=NOT_ON_A_MAC)])
def test_what_comes_while_it_is_suspended_is_a_gap(
    command: str, server: SoundServer, sentence: Path, tmp_path: Path
) -> None:
    listener = Listener(server, tmp_path, command=command)
    listener.wait_for_sound()
    server.play(sentence)
    time.sleep(1.0)
    listener.signal(signal.SIGTSTP)
    for _ in range(3):
        server.play(sentence)
    listener.signal(signal.SIGCONT)
    listener.wait_for("gap")
    server.play(sentence)
    time.sleep(2.0)
    code, _, errors = listener.stop()
    assert code == 0
    assert listener.heard().split().count("river") == 2
    # What plays is heard up to 2 s after the run began where the output has rendered ahead: that may be a gap too.
    (gap,) = (gap for gap in listener.events("gap") if gap["reason"] == "suspended")
    assert gap["end"] - gap["start"] > 10
    assert listener.events("back_pressure") == [], "being behind does not count while nothing runs"
    assert of_the_microphone(errors) == []


def test_another_default_source_is_followed(server: SoundServer, sentence: Path, tmp_path: Path) -> None:
    for module in (
        "module-null-sink sink_name=other rate=16000 channels=1",
        "module-remap-source source_name=first master=speaker.monitor",
        "module-remap-source source_name=second master=other.monitor",
    ):
        server.control("load-module", *module.split())
    server.control("set-default-source", "first")
    listener = Listener(server, tmp_path)
    listener.wait_for_sound()
    server.control("set-default-source", "second")
    time.sleep(1.0)
    server.play(sentence, "other")
    time.sleep(2.0)
    listener.stop()
    assert words_heard(listener) == 1.0


@pytest.mark.parametrize("rate", [8_000, 11_025, 96_000])
def test_a_second_program_and_another_rate_do_no_harm(rate: int, sentence: Path, tmp_path: Path) -> None:
    server = SoundServer(tmp_path, rate)
    other = subprocess.Popen(["parec"], env=server.environment, stdout=subprocess.DEVNULL)
    try:
        listener = Listener(server, tmp_path)
        listener.wait_for_sound()
        server.play(sentence)
        time.sleep(2.0)
        code, _, errors = listener.stop()
    finally:
        other.kill()
        server.kill()
    print(f"{rate} Hz: heard {words_heard(listener):.0%}, lag {listener.lag():.2f} s")
    assert (code, of_the_microphone(errors)) == (0, [])
    assert words_heard(listener) >= (1.0 if rate >= 16_000 else 0.5), listener.heard()


@NOT_ON_A_MAC
def test_of_two_programs_the_words_of_one_are_heard(server: SoundServer, tmp_path: Path) -> None:
    words = sound_of("demo", tmp_path / "demo.wav")
    others = sound_of("questions", tmp_path / "questions.wav") - words
    other = server.start_playing(tmp_path / "questions.wav", "other call")
    listener = Listener(server, tmp_path, "--app", "meeting", command="listen")
    try:
        wait_until(lambda: any("plays nothing yet" in notice["text"] for notice in listener.events("notice")))
        server.start_playing(tmp_path / "demo.wav", "Meeting").wait(120)
        time.sleep(2.0)
        interrupted_at = time.monotonic()
        code, _, errors = listener.stop()
        print(f"ended {time.monotonic() - interrupted_at:.1f} s after Ctrl-C")
    finally:
        other.kill()
    heard = set(listener.heard().split())
    print(f"{len(heard & words)} of {len(words)} words, {len(heard & others)} of {len(others)} of the other program")
    assert code == 0 and "Traceback" not in errors
    assert len(heard & words) >= 0.95 * len(words), words - heard
    assert heard & others == set()
