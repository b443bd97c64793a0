from __future__ import annotations

import io
import threading

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.audio.pcm import READ_BYTES, PcmStream
from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk


class Pipe:
    """Gives bytes in the sizes asked for, as a pipe may."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes, self.given = io.BytesIO(data), sizes, 0

    def read(self, count: int) -> bytes:
        size = self._sizes.pop(0) if self._sizes else count
        data = self._data.read(min(size, count))
        self.given += len(data)
        return data


def joined(chunks: list[AudioChunk]) -> list[int]:
    position = 0
    for chunk in chunks:
        assert chunk.start_sample == position
        position += len(chunk.samples)
    return [int(sample) for chunk in chunks for sample in chunk.samples]


@given(st.lists(st.integers(-32_768, 32_767), min_size=1, max_size=200), st.lists(st.integers(1, 9)), st.booleans())
def test_every_sample_comes_however_the_pipe_splits_them(samples: list[int], sizes: list[int], odd: bool) -> None:
    data = np.array(samples, dtype="<i2").tobytes() + (b"\x01" if odd else b"")
    assert joined(list(PcmStream(Pipe(data, sizes), ManualClock()))) == samples  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"\x01"])
def test_nothing_on_the_pipe_is_an_error(data: bytes) -> None:
    with pytest.raises(SourceError, match="Standard input"):
        list(PcmStream(io.BytesIO(data), ManualClock()))


def test_a_broken_pipe_gives_what_came_before_its_error() -> None:
    class Breaking(Pipe):
        def read(self, count: int) -> bytes:
            if self.given == 40:
                raise OSError("gone")
            return super().read(count)

    heard: list[AudioChunk] = []
    with pytest.raises(SourceError, match="gone"):
        heard.extend(PcmStream(Breaking(b"\x01\x00" * 50, [20, 20]), ManualClock()))  # type: ignore[arg-type]
    assert joined(heard) == [1] * 20


class Slow(io.BytesIO):
    """Gives `backlog` bytes at once, and from then on each read as late as live sound comes."""

    def __init__(self, data: bytes, clock: ManualClock, backlog: int) -> None:
        super().__init__(data)
        self._clock, self._backlog = clock, backlog

    def read(self, count: int | None = -1) -> bytes:
        if self.tell() >= self._backlog:
            self._clock.advance((count or 0) / 2 / SAMPLE_RATE)
        return super().read(count)


def test_live_sound_has_instants_though_some_waited_while_models_were_loaded() -> None:
    clock = ManualClock()
    source = PcmStream(Slow(b"\x01\x00" * SAMPLE_RATE * 10, clock, 2 * SAMPLE_RATE * 3), clock)
    clock.advance(25.0)
    chunks = list(source)
    assert all(chunk.captured_at is None for chunk in chunks if chunk.end <= 3.0)
    assert all(chunk.captured_at == pytest.approx(22.0 + chunk.end, abs=0.2) for chunk in chunks if chunk.end > 3.2)


def test_sound_that_comes_faster_than_speech_has_no_instants_however_long_models_were_loaded() -> None:
    clock = ManualClock()
    source = PcmStream(io.BytesIO(b"\x01\x00" * SAMPLE_RATE * 20), clock)
    clock.advance(25.0)
    assert all(chunk.captured_at is None for chunk in source)


def test_close_ends_a_paused_stream() -> None:
    source = PcmStream(io.BytesIO(b"\x01\x00" * SAMPLE_RATE * 60), ManualClock())
    chunks = iter(source)
    next(chunks)
    source.pause(True)
    threading.Timer(0.05, source.close).start()
    list(chunks)
    source.close()


def recording(container: str) -> bytes:
    """A second of a tone in that container, written as into a pipe."""
    whole = io.BytesIO()
    whole.name = f"x.{container}"
    with av.open(whole, "w", format=container) as output:
        stream = output.add_stream("pcm_s16le", rate=SAMPLE_RATE, layout="mono")
        samples = np.sin(np.arange(SAMPLE_RATE) * 0.2).astype(np.float32)[None, :]
        frame = av.AudioFrame.from_ndarray(samples, format="flt", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        for packet in (*stream.encode(frame), *stream.encode(None)):
            output.mux(packet)
    return whole.getvalue()


@pytest.mark.parametrize("container", ["wav", "matroska"])
@pytest.mark.parametrize("sizes", [[], [1], [3, 1, 9]])
def test_a_recording_in_the_pipe_is_decoded(container: str, sizes: list[int]) -> None:
    heard = joined(list(PcmStream(Pipe(recording(container), [*sizes]), ManualClock())))  # type: ignore[arg-type]
    assert len(heard) == SAMPLE_RATE
    assert max(heard) > 30_000


def test_a_recording_that_cannot_be_decoded_from_a_pipe_is_said() -> None:
    pipe = Pipe(b"\0\0\0\x20ftypisom" + bytes(9000), [])
    with pytest.raises(SourceError, match="name the file itself"):
        list(PcmStream(pipe, ManualClock()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"event": "transcript", "at": 0.5}\n', "holds JSON lines.*FILE.jsonl"),
        ("\ufeffGuten Morgen, schöne Welt.\r\n", "holds text"),
        ("ä" * READ_BYTES, "holds text"),
    ],
)
def test_text_in_the_pipe_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(SourceError, match=sentence):
        list(PcmStream(Pipe(b"" + text.encode(), []), ManualClock()))  # type: ignore[arg-type]


@given(st.lists(st.integers(-32768, 32767), min_size=8, max_size=50).filter(lambda samples: min(samples) < 32))
def test_sound_is_never_taken_for_text(samples: list[int]) -> None:
    data = np.array([*samples, 0], "<i2").tobytes()
    assert joined(list(PcmStream(io.BytesIO(data), ManualClock()))) == [*samples, 0]
