from __future__ import annotations

import io
import threading

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.audio.pcm import BUFFERED_SECONDS, READ_BYTES, PcmStream
from livetrans.clock import ManualClock
from livetrans.errors import SourceError
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


def test_reading_stops_while_the_channel_is_full() -> None:
    pipe = Pipe(b"\x01\x00" * SAMPLE_RATE * 60, [])
    source = PcmStream(pipe, ManualClock())  # type: ignore[arg-type]
    chunks = iter(source)
    next(chunks)
    full = threading.Event()
    full.wait(0.3)
    held = pipe.given
    full.wait(0.2)
    assert pipe.given == held
    assert held <= 2 * (BUFFERED_SECONDS * SAMPLE_RATE * 2) + 3 * READ_BYTES
    assert sum(len(chunk.samples) for chunk in chunks) > 0


def test_sound_has_instants_unless_it_comes_faster_than_speech() -> None:
    fast = list(PcmStream(io.BytesIO(b"\x01\x00" * SAMPLE_RATE * 5), ManualClock()))
    assert fast[-1].captured_at is None
    clock = ManualClock()
    source = PcmStream(io.BytesIO(b"\x01\x00" * SAMPLE_RATE * 2), clock)
    clock.advance(3.0)
    assert all(chunk.captured_at == 3.0 for chunk in source), "it waited while models were loaded"


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
