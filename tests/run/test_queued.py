"""No sound is lost between a source and a listener who is slower, up to hours of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livetrans.base.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice
from livetrans.run import tracks
from livetrans.run.listening import TrackStages
from livetrans.run.tracks import RECORDED_SECONDS, SHARED_SECONDS, TAKEN_SECONDS, OldestFirst, QueuedSource, Track


class Sounds:
    """A source of chunks, given at once; `live` ones cannot wait."""

    duration, skipped = None, 0.0

    def __init__(self, chunks: list[AudioChunk], failure: Exception | None = None) -> None:
        self._chunks, self._failure = chunks, failure
        self.given = 0
        self.ended, self.closed = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[AudioChunk]:
        for chunk in self._chunks:
            self.given += 1
            yield chunk
        self.ended.set()
        if self._failure:
            raise self._failure

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None:
        self.closed.set()


def sounds(seconds: list[float], *, gaps: frozenset[int] = frozenset(), live: bool = True) -> list[AudioChunk]:
    chunks, start = [], 0
    for number, length in enumerate(seconds):
        start += SAMPLE_RATE if number in gaps else 0
        samples = np.arange(start, start + round(length * SAMPLE_RATE)).astype(np.int16)
        chunks.append(AudioChunk(samples, start, (start + len(samples)) / SAMPLE_RATE if live else None))
        start += len(samples)
    return chunks


def joined(chunks: list[AudioChunk]) -> dict[int, bytes]:
    """Samples by where a stretch without a gap begins."""
    stretches: dict[int, bytes] = {}
    begin, following = 0, -1
    for chunk in chunks:
        if chunk.start_sample != following:
            begin = chunk.start_sample
        stretches[begin] = stretches.get(begin, b"") + chunk.samples.tobytes()
        following = chunk.start_sample + len(chunk.samples)
    return stretches


@settings(max_examples=20)
@given(st.lists(st.floats(0.5, 6.0), min_size=1, max_size=20), st.frozensets(st.integers(0, 19)), st.booleans())
def test_everything_comes_in_order_though_nobody_listened_at_first(
    lengths: list[float], gaps: frozenset[int], fails: bool
) -> None:
    chunks = sounds(lengths, gaps=gaps)
    source = Sounds(chunks, SourceError("unplugged") if fails else None)
    captured = QueuedSource(source, lambda event: None)
    taken = iter(captured)
    got = [next(taken)]
    assert source.ended.wait(20)  # Live sound does not wait for its listener.
    with pytest.raises(SourceError, match="unplugged") if fails else nullcontext():
        got.extend(taken)
    assert joined(got) == joined(chunks)
    assert max(len(chunk.samples) for chunk in got) <= (TAKEN_SECONDS + 6) * SAMPLE_RATE
    assert all(chunk.captured_at == pytest.approx(chunk.end) for chunk in got)
    assert captured.skipped == 0


def test_recorded_sound_waits_at_its_source() -> None:
    source = Sounds(sounds([1.0] * 100, live=False))
    captured = QueuedSource(source, lambda event: None)
    taken = iter(captured)
    next(taken)
    assert not source.ended.wait(0.1)
    assert source.given < 2 * RECORDED_SECONDS
    assert sum(1 for _ in taken) >= 1
    assert source.given == 100


def test_of_several_sources_none_waits_for_an_end_that_recedes() -> None:
    """The sound that waits is given in short chunks, however much of it there is."""
    captured = QueuedSource(Sounds(sounds([0.1] * 50)), lambda event: None, is_shared=True)
    captured.start()
    got = list(captured)
    assert max(len(chunk.samples) for chunk in got) <= SHARED_SECONDS * SAMPLE_RATE
    assert sum(len(chunk.samples) for chunk in got) == 5 * SAMPLE_RATE


def test_a_listener_who_leaves_ends_the_capture() -> None:
    source = Sounds(sounds([1.0] * 100, live=False))
    taken = iter(QueuedSource(source, lambda event: None))
    next(taken)
    taken.close()  # type: ignore[attr-defined]
    assert source.closed.wait(20)
    for thread in threading.enumerate():
        if thread.name == "capturing":
            thread.join(20)
    assert not [thread for thread in threading.enumerate() if thread.name == "capturing"]


def test_sound_beyond_hours_is_left_out_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracks, "LIVE_SECONDS", 20.0)
    published: list[Notice | Gap] = []
    source = Sounds(sounds([1.0] * 60))
    captured = QueuedSource(source, published.append)
    captured.start()
    assert source.ended.wait(20)
    heard = [chunk for chunk in captured if len(chunk.samples)]
    assert sum(len(chunk.samples) for chunk in heard) == 20 * SAMPLE_RATE
    assert captured.skipped == 40
    notice, gap = published
    assert isinstance(notice, Notice) and "left out" in notice.text
    assert gap == Gap(20.0, 60.0, "too slow")


def test_gaps_come_between_the_sound_before_and_behind_them() -> None:
    chunks = sounds([1.0] * 40, gaps=frozenset({10, 30}))
    gaps = [
        Gap(before.end, after.start, "microphone") for before, after in pairwise(chunks) if before.end < after.start
    ]
    at_end = Gap(chunks[-1].end, chunks[-1].end + 5.0, "microphone")

    class Interrupted(Sounds):
        def __iter__(self) -> Iterator[AudioChunk]:
            for chunk in super().__iter__():
                for gap in gaps:
                    if gap.end == chunk.start:
                        captured.notify(gap)
                yield chunk
            captured.notify(at_end)

    order: list[AudioChunk | Gap | Notice] = []
    captured = QueuedSource(source := Interrupted(chunks), order.append)
    for chunk in captured:
        assert source.ended.wait(20)
        order.append(chunk)
    assert [item for item in order if isinstance(item, Gap)] == [*gaps, at_end]
    times = [item.end for item in order if not isinstance(item, Notice)]
    assert times == sorted(times)
    for before, item in pairwise(order):
        if isinstance(item, Gap):
            assert isinstance(before, AudioChunk) and not len(before.samples), "what ends the segment before it"


def test_closing_waits_for_no_device_that_hangs_while_it_is_opened() -> None:
    """Where the sound server hangs, both sources of a meeting do."""
    released, change = threading.Event(), threading.Condition()

    class Hanging(Sounds):
        def __iter__(self) -> Iterator[AudioChunk]:
            released.wait(20)
            return iter(())

    opened = [QueuedSource(Hanging([]), lambda event: None, track=name, change=change) for name in ("them", "me")]
    stages = [TrackStages(sound, Mock(track=sound._track), lambda event: None) for sound in opened]
    sound = OldestFirst(list(map(Track, opened, stages)), change, lambda event: None)
    heard: list[object] = []
    listener = threading.Thread(target=lambda: heard.extend(sound))
    listener.start()
    for one in opened:
        one.close()
    listener.join(5)
    assert not listener.is_alive() and heard == [(one, None) for one in stages]
    released.set()
