from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livetrans.audio.file import CHUNK_SAMPLES, AudioFile
from livetrans.audio.source import Part, ReplayClock
from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError, UsageError
from livetrans.events import SAMPLE_RATE, AudioChunk, Notice
from tests.audio.sound_server import joined, write_wav


def tone(seconds: float, rate: int = SAMPLE_RATE) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    return np.round(8000 * np.sin(2 * np.pi * 440 * time)).astype(np.int16)


def add_sound(output: Any, stream: Any, rate: int, pieces: dict[float, np.ndarray]) -> None:
    """Encode pieces of sound, of shape (n, channels), by their time stamps in seconds."""
    for begin, samples in pieces.items():
        layout, size = "stereo" if samples.shape[1] == 2 else "mono", stream.codec_context.frame_size or 1024
        resampler = av.AudioResampler(stream.format.name, layout, rate, frame_size=size)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), "s16", layout)
        frame.sample_rate = rate
        position = round(begin * rate)
        for part in (*resampler.resample(frame), *resampler.resample(None)):
            part.pts, part.time_base = position, Fraction(1, rate)
            position += part.samples
            output.mux(stream.encode(part))
    output.mux(stream.encode(None))


def encode(path: Path, codec: str, samples: np.ndarray) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=SAMPLE_RATE, layout="mono")
        add_sound(container, stream, SAMPLE_RATE, {0.0: samples[:, None]})
    return path


def read(path: Path, **options: Any) -> list[AudioChunk]:
    """Read the whole file at full speed."""
    return list(AudioFile(path, ManualClock(), real_time=False, **options))


def test_a_wav_comes_as_it_is_in_chunks_of_60_ms(tmp_path: Path) -> None:
    samples = tone(1.234)
    source = AudioFile(write_wav(tmp_path / "x.wav", samples), ManualClock(), real_time=False)
    assert source.duration == pytest.approx(1.234)
    chunks = list(source)
    assert np.array_equal(joined(chunks), samples)
    assert {len(chunk.samples) for chunk in chunks[:-1]} == {CHUNK_SAMPLES}
    assert all(chunk.captured_at is None for chunk in chunks)


@pytest.mark.parametrize(
    ("name", "codec"), [("x.flac", "flac"), ("x.mp3", "mp3"), ("x.m4a", "aac"), ("x.ogg", "libopus")]
)
def test_other_formats_give_the_same_sound(tmp_path: Path, name: str, codec: str) -> None:
    samples = tone(2.0)
    notices: list[Notice] = []
    path = encode(tmp_path / name, codec, samples)
    heard = joined(read(path, notify=notices.append))
    assert abs(len(heard) - len(samples)) < 0.2 * SAMPLE_RATE
    middle = heard[SAMPLE_RATE // 2 : -SAMPLE_RATE // 2].astype(float)
    assert 4000 < np.sqrt(np.mean(middle**2)) < 8000
    assert notices == []


def test_stereo_at_another_rate_is_mixed_and_resampled(tmp_path: Path) -> None:
    left = tone(1.0, 44_100)
    stereo = np.stack([left, left], axis=1)
    heard = joined(read(write_wav(tmp_path / "x.wav", stereo, 44_100)))
    assert abs(len(heard) - SAMPLE_RATE) <= 32
    assert np.corrcoef(heard[200:15_800], tone(1.0)[200:15_800])[0, 1] > 0.99


def test_in_real_time_a_chunk_comes_when_it_is_due_and_a_busy_listener_gets_all_that_is(tmp_path: Path) -> None:
    clock = ManualClock(100.0)
    samples = tone(10.0)
    chunks = []
    for chunk in AudioFile(write_wav(tmp_path / "x.wav", samples), clock, real_time=True):
        chunks.append(chunk)
        assert chunk.captured_at == pytest.approx(100.0 + chunk.end), "the instant of being due, not of being fetched"
        if len(chunks) <= 3:
            assert clock.now() == pytest.approx(100.0 + chunk.end)
        if len(chunks) == 3:
            clock.advance(2.5)
    assert np.array_equal(joined(chunks), samples)
    assert len(chunks[3].samples) == 41 * CHUNK_SAMPLES
    assert all(chunk.start_sample % CHUNK_SAMPLES == 0 for chunk in chunks)


def test_a_pause_moves_what_is_due(tmp_path: Path) -> None:
    clock = ManualClock()
    source = AudioFile(write_wav(tmp_path / "x.wav", tone(1.0)), clock, real_time=True)
    chunks = iter(source)
    next(chunks)
    source.pause(True)
    clock.advance(30.0)
    threading.Timer(0.05, source.pause, [False]).start()
    chunk = next(chunks)
    assert len(chunk.samples) == CHUNK_SAMPLES
    assert chunk.captured_at == pytest.approx(30.0 + chunk.end)


def test_a_suspension_moves_what_is_due_and_a_busy_listener_does_not(tmp_path: Path) -> None:
    clock = ManualClock()
    replay_clock = ReplayClock(clock)
    chunks = iter(AudioFile(write_wav(tmp_path / "x.wav", tone(12.0)), replay_clock, real_time=True))
    next(chunks)
    clock.advance(60.0)
    chunk = next(chunks)
    assert (chunk.start_sample, len(chunk.samples)) == (CHUNK_SAMPLES, CHUNK_SAMPLES)
    assert clock.now() == pytest.approx(60.0 + chunk.end) and chunk.captured_at == pytest.approx(chunk.end)
    for _ in range(32):  # As the thread does that watches the run.
        clock.advance(0.25)
        replay_clock.now()
    assert next(chunks).end == pytest.approx(chunk.end + 8.0, abs=0.06)


@pytest.mark.parametrize("real_time", [False, True])
def test_close_ends_the_iteration_even_in_a_pause(tmp_path: Path, real_time: bool) -> None:
    source = AudioFile(write_wav(tmp_path / "x.wav", tone(5.0)), ManualClock(), real_time)
    chunks = iter(source)
    next(chunks)
    source.pause(True)
    threading.Timer(0.05, source.close).start()
    assert len(list(chunks)) <= 1
    source.close()


def test_files_without_sound_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "nothing.wav").write_bytes(b"")
    (tmp_path / "text.wav").write_text("not sound at all\n" * 100)
    write_wav(tmp_path / "header.wav", np.zeros(0, dtype=np.int16))
    (tmp_path / "cut.mp4").write_bytes(b"\0\0\0\x20ftypisom" + bytes(5000))
    (tmp_path / "cut.flac").write_bytes(b"fLaC\0\0")
    with av.open(str(tmp_path / "silent.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height = 64, 64
        stream.pix_fmt = "yuv420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), dtype=np.uint8), format="rgb24")))
        container.mux(stream.encode(None))
    for name, saying in {
        "missing.wav": "no file",
        ".": "folder",
        "nothing.wav": "empty",
        "text.wav": "not an audio file",
        "header.wav": "no sound",
        "silent.mp4": "no audio stream",
        "cut.mp4": "cut off or damaged",
        "cut.flac": "cut off or damaged",
    }.items():
        with pytest.raises(SourceError, match=saying) as raised:
            read(tmp_path / name)
        assert str(raised.value).count("\n") == 0


def test_a_part_of_a_file_keeps_the_times_of_the_whole(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "x.wav", tone(3.0))
    whole = joined(read(path))
    for real_time in (False, True):
        source = AudioFile(path, clock := ManualClock(), real_time, part=Part(0.5, 2.25))
        assert source.duration == 2.25
        chunks = list(source)
        assert chunks[0].start_sample == SAMPLE_RATE // 2
        assert chunks[-1].end == 2.25
        heard = np.concatenate([chunk.samples for chunk in chunks])
        assert heard.tolist() == whole[SAMPLE_RATE // 2 : 9 * SAMPLE_RATE // 4].tolist()
        assert not source.damage
        assert clock.now() == pytest.approx(1.75 if real_time else 0.0)
    with pytest.raises(UsageError, match="no sound after 0:04: it is 0:03 long"):
        read(path, part=Part(4.0))


def test_a_sampling_rate_that_no_recording_has_is_refused(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "x.wav", tone(1.0))
    header = bytearray(path.read_bytes())
    for rate in (1, 2**31 - 1):
        header[24:28] = rate.to_bytes(4, "little")
        path.write_bytes(header)
        with pytest.raises(SourceError, match=rf"rate of {rate} Hz"):
            read(path)


def test_a_playlist_is_not_followed(tmp_path: Path) -> None:
    write_wav(tmp_path / "sound.wav", tone(1.0))
    path = tmp_path / "list.txt"
    for playlist in (
        "ffconcat version 1.0\nfile sound.wav\n",
        f"ffconcat version 1.0\nfile {tmp_path}/sound.wav\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsound.wav\n#EXT-X-ENDLIST\n",
    ):
        path.write_text(playlist)
        with pytest.raises(SourceError, match="not an audio file"):
            read(path)


def test_a_colon_in_a_name_is_not_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_wav(Path("http:sound.wav"), tone(1.0))
    assert len(joined(read(path))) == SAMPLE_RATE


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_reported(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "x.wav", tone(0.1))
    path.chmod(0)
    with pytest.raises(SourceError, match="may not be read"):
        read(path)


@pytest.mark.parametrize("name", ["x.wav", "x.flac", "x.mp3"])
def test_a_truncated_file_gives_what_is_left_with_a_warning(tmp_path: Path, name: str) -> None:
    samples = np.random.default_rng(1).integers(-9000, 9000, 4 * SAMPLE_RATE).astype(np.int16)
    path = tmp_path / name
    if name == "x.wav":
        write_wav(path, samples)
    else:
        encode(path, name.split(".")[1], samples)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + 1])
    notices: list[Notice] = []
    heard = joined(read(path, notify=notices.append))
    assert 1.5 * SAMPLE_RATE < len(heard) < 2.5 * SAMPLE_RATE
    if name == "x.wav":
        assert np.array_equal(heard, samples[: len(heard)])
    assert [notice.level for notice in notices] == ["warning"]


def test_the_file_is_never_whole_in_memory(tmp_path: Path) -> None:
    source = AudioFile(write_wav(tmp_path / "x.wav", tone(60.0)), ManualClock(), real_time=False)
    next(iter(source))
    assert len(source._pending) + len(source._decoder._rest) < 2 * SAMPLE_RATE
    source.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.wav")
    return tmp_path / "pipe.wav"


def test_a_named_pipe_is_heard_from_its_first_byte(tmp_path: Path, pipe: Path) -> None:
    sound = write_wav(tmp_path / "a.wav", tone(1.0)).read_bytes()
    threading.Thread(target=pipe.write_bytes, args=(sound,), daemon=True).start()
    assert len(joined(read(pipe))) == SAMPLE_RATE


def test_a_named_pipe_without_sound_is_refused_and_not_opened_again(pipe: Path) -> None:
    threading.Thread(target=pipe.write_bytes, args=(b"no sound at all\n" * 100,), daemon=True).start()
    with ThreadPoolExecutor() as pool, pytest.raises(SourceError, match="not an audio file"):
        try:
            pool.submit(read, pipe).result(timeout=20)
        finally:
            os.close(os.open(pipe, os.O_RDWR))  # It ends an opening that waits for a writer.
