"""Files as recorders, browsers and stations write them: all their sound, where a player plays it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livetrans.audio.file import AudioFile
from livetrans.audio.pcm import PcmStream
from livetrans.base.clock import ManualClock
from livetrans.events import SAMPLE_RATE, Notice
from tests.audio.sound_server import joined
from tests.audio.test_audio_file import add_sound, tone

Piece = tuple[float, float]
"""Time stamp of a stretch of tone, and its length, both in seconds."""
ENCODERS = {
    "mp3": "libmp3lame",
    "adts": "aac",
    "aiff": "pcm_s16be",
    "wav": "pcm_s16le",
    "matroska": "aac",
    "mp4": "aac",
}


def add_tone(output: Any, stream: Any, rate: int, channels: int, pieces: list[Piece]) -> None:
    add_sound(
        output, stream, rate, {begin: np.tile(tone(seconds, rate)[:, None], channels) for begin, seconds in pieces}
    )


def encoded(container: str, rate: int = SAMPLE_RATE, channels: int = 1, **options: str) -> bytes:
    whole = io.BytesIO()
    with av.open(whole, "w", format=container, options=options) as output:
        layout = "stereo" if channels == 2 else "mono"
        stream = output.add_stream(ENCODERS[container], rate=rate, layout=layout)
        add_tone(output, stream, rate, channels, [(0.0, 4.0)])
    return whole.getvalue()


def heard(path: Path) -> tuple[np.ndarray, AudioFile, list[Notice]]:
    notices: list[Notice] = []
    source = AudioFile(path, ManualClock(), False, notices.append)
    return joined(list(source)), source, notices


def stretches(samples: np.ndarray) -> list[tuple[float, float]]:
    """Begin and end of each stretch of sound, in seconds."""
    block = SAMPLE_RATE // 50
    loud = np.abs(samples[: len(samples) // block * block].reshape(-1, block)).max(axis=1) > 1000
    edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(int))) / 50
    return [(float(begin), float(end)) for begin, end in zip(edges[::2], edges[1::2], strict=True)]


@pytest.mark.parametrize("container", ["mp3", "adts"])
def test_a_file_whose_rate_and_channels_change_is_read_whole(container: str, tmp_path: Path) -> None:
    path = tmp_path / f"joined.{container}"
    path.write_bytes(encoded(container, 44_100, 1) + encoded(container, 22_050, 2))
    samples, source, notices = heard(path)
    assert len(samples) / SAMPLE_RATE == pytest.approx(8.0, abs=0.3)
    assert sum(end - begin for begin, end in stretches(samples)) == pytest.approx(8.0, abs=0.3)
    assert (source.damage, notices) == ("", [])


@pytest.mark.parametrize("begins", [0.0, 4.936])
@pytest.mark.parametrize("hole", [0.0, 6.0])
def test_sound_is_at_the_time_stamps_of_its_frames(begins: float, hole: float, tmp_path: Path) -> None:
    path = tmp_path / "screen.mkv"
    pieces = [(begins, 5.0), (begins + 5.0 + hole, 3.0)]
    with av.open(str(path), "w") as output:
        video = output.add_stream("mpeg4", rate=5)
        video.width = video.height = 32
        stream = output.add_stream("aac", rate=48_000, layout="mono")
        for number in range(100):  # 20 s of pictures, longer than the sound
            frame = av.VideoFrame(32, 32, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            output.mux(video.encode(frame))
        output.mux(video.encode(None))
        add_tone(output, stream, 48_000, 1, pieces)
    samples, source, notices = heard(path)
    expected = [(begins, begins + 8.0)]
    if hole:
        expected = [(begins, begins + 5.0), (begins + 5.0 + hole, begins + 8.0 + hole)]
    assert np.array(stretches(samples)) == pytest.approx(np.array(expected), abs=0.08)
    assert (source.damage, notices) == ("", [])


@pytest.mark.parametrize("faster", [1.004, 1.0, 0.996])
def test_sound_that_runs_faster_or_slower_than_its_time_stamps_stays_at_them(faster: float, tmp_path: Path) -> None:
    """As a screen recorder writes it, whose clock is not that of its sound card."""
    path, rate = tmp_path / "drift.mkv", SAMPLE_RATE
    samples = np.zeros(round(100 * rate * faster), np.int16)
    for second in range(10, 100, 10):
        samples[round(second * rate * faster) :][: rate // 2] = 10_000
    with av.open(str(path), "w") as output:
        stream = output.add_stream("pcm_s16le", rate=rate, layout="mono")
        for first in range(0, len(samples), 1600):
            frame = av.AudioFrame.from_ndarray(samples[None, first : first + 1600], format="s16", layout="mono")
            frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), round(first / faster)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    found, source, notices = heard(path)
    begins = [begin for begin, _ in stretches(found)]
    assert begins == pytest.approx(range(10, 100, 10), abs=0.12)
    assert (source.damage, notices) == ("", [])


def test_of_several_streams_the_default_one_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "two.mkv"
    with av.open(str(path), "w") as output:
        silent = output.add_stream("aac", rate=48_000, layout="mono")
        spoken = output.add_stream("aac", rate=48_000, layout="mono")
        silent.disposition, spoken.disposition = 0, av.stream.Disposition.default
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 48_000), np.int16), "s16", "mono")
        frame.sample_rate = 48_000
        for part in av.AudioResampler("fltp", "mono", 48_000, frame_size=1024).resample(frame):
            output.mux(silent.encode(part))
        output.mux(silent.encode(None))
        add_tone(output, spoken, 48_000, 1, [(0.0, 1.0)])
    assert np.abs(heard(path)[0]).max() > 1000


PIPED: dict[str, Callable[[], bytes]] = {
    "mp3 without a tag": lambda: encoded("mp3", 44_100, id3v2_version="0", write_xing="0"),
    "mp3 of a low rate": lambda: encoded("mp3", 16_000, id3v2_version="0", write_xing="0"),
    "aac": lambda: encoded("adts", 44_100),
    "aiff": lambda: encoded("aiff", 48_000, 2),
    "rf64": lambda: encoded("wav", 48_000, 2, rf64="always"),
}


@pytest.mark.parametrize("kind", PIPED)
def test_what_is_piped_is_known_by_its_first_bytes(kind: str) -> None:
    samples = joined(list(PcmStream(io.BytesIO(PIPED[kind]()), ManualClock())))
    assert len(samples) / SAMPLE_RATE == pytest.approx(4.0, abs=0.2)
    spectrum = np.abs(np.fft.rfft(samples[SAMPLE_RATE : 3 * SAMPLE_RATE]))
    assert spectrum.argmax() / 2 == pytest.approx(440, abs=2), "it is the tone, not noise"


def test_raw_sound_that_begins_like_a_frame_is_raw_sound() -> None:
    data = b"\xff\xfb" + np.random.default_rng(0).integers(-99, 99, 40_000).astype("<i2").tobytes()
    assert joined(list(PcmStream(io.BytesIO(data), ManualClock()))).tobytes() == data


def test_gigabytes_after_the_sound_of_a_wav_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "recorder.wav"
    path.write_bytes(encoded("wav"))
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    began = time.process_time()
    samples, source, _ = heard(path)
    assert len(samples) == 4 * SAMPLE_RATE
    assert not source.damage
    assert time.process_time() - began < 10, "of some 0.1 s; through the gigabyte it takes over 100 s"
