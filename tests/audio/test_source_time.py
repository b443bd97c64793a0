"""Source time is within 50 ms of the truth, whatever a capture leaves out and however its device's clock runs.

The capture has a clock of its own: sound is what was audible at each true instant, numbered by it, so that its place in
source time can be compared with the instant at which it was heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest

from livetrans.audio.capture import Captured
from livetrans.audio.live import Microphone, Playback, SourceTime
from livetrans.audio.pulse import NOTHING
from livetrans.clock import ManualClock
from livetrans.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk, Event, Gap

BLOCK = 0.04
"""Seconds of a block."""
Heard = tuple[float, float]
"""Begin and end of a sound in true time."""


class OwnClock:
    """A capture of sounds at true times. A block comes when its last sample was heard, by the true clock."""

    def __init__(
        self, clock: ManualClock, sounds: Iterable[Heard], ppm: float = 0.0, late: Callable[[], float] = float
    ):
        """`ppm`: by how much the device's clock runs fast. `late`: how late the next block comes."""
        self._clock, self._sounds, self._fast, self._late = clock, sounds, 1 + ppm / 1e6, late
        self.device, self.number, self.rate = "scripted", 0, SAMPLE_RATE

    def blocks(self) -> Iterator[Captured]:
        samples = np.ones(round(BLOCK * SAMPLE_RATE), np.int16)
        quiet_from = 0.0
        for begin, end in self._sounds:
            while begin - quiet_from > 1.0:  # The child says once a second that nothing is played.
                quiet_from += 1.0
                self._reach(quiet_from)
                yield Captured(samples[:0], absence=NOTHING)
            length = BLOCK / self._fast
            for number in range(1, round((end - begin) / length) + 1):
                self._reach(begin + number * length + self._late())
                yield Captured(samples)
            quiet_from = end

    def _reach(self, instant: float) -> None:
        self._clock.advance(max(instant - self._clock.now(), 0.0))

    def was_suspended(self) -> bool:
        return False

    def close(self) -> None: ...


def heard(
    sounds: list[Heard], source_class: type = Playback, ppm: float = 0.0, late: Callable[[], float] = float
) -> tuple[list[AudioChunk], list[Event]]:
    """Run a source over such a capture."""
    clock, events = ManualClock(), []
    captures = [OwnClock(clock, sounds, ppm, late)]

    def open_capture(*_: object) -> OwnClock:
        if not captures:
            source.close()
            raise SourceError("the end")
        return captures.pop()

    source = source_class(None, clock, events.append, open_capture)
    return list(source), events


def errors(chunks: list[AudioChunk], sounds: list[Heard]) -> list[float]:
    """Seconds by which each sound begins and ends too late; sounds are told from zeros between them."""
    edges: list[float] = []
    position, was = 0, 0
    for chunk in chunks:
        if chunk.start_sample > position and was:
            edges.append(position / SAMPLE_RATE)
            was = 0
        changes = np.flatnonzero(np.diff(chunk.samples, prepend=was))
        edges += [float(chunk.start_sample + change) / SAMPLE_RATE for change in changes]
        if len(chunk.samples):
            was, position = int(chunk.samples[-1]), chunk.start_sample + len(chunk.samples)
    edges += [position / SAMPLE_RATE] if was else []
    truth = [instant for sound in sounds for instant in sound]
    assert len(edges) == len(truth), edges
    return [found - true for found, true in zip(edges, truth, strict=True)]


@pytest.mark.parametrize("first", [0.0, 0.05, 0.3, 0.9, 3.0, 60.0])
def test_the_first_sound_has_its_time_however_late_it_comes(first: float) -> None:
    sounds = [(first, first + 4.0)]
    chunks, events = heard(sounds)
    if first > 0.02:
        assert max(map(abs, errors(chunks, sounds))) < 0.05
    assert all(chunk.captured_at == pytest.approx(chunk.end) for chunk in chunks)
    assert not [event for event in events if isinstance(event, Gap) and event.start == 0]


@pytest.mark.parametrize("pause", [0.1, 0.13, 0.25, 0.5, 0.9, 1.1, 1.5, 2.0])
def test_pauses_of_a_program_stay_in_source_time(pause: float) -> None:
    sounds = [(0.5 + number * (1.0 + pause), 1.5 + number * (1.0 + pause)) for number in range(10)]
    chunks, _ = heard(sounds)
    assert max(map(abs, errors(chunks, sounds))) < 0.05
    starts = [chunk.start_sample for chunk in chunks]
    assert starts == sorted(starts)


@pytest.mark.parametrize("ppm", [-100, -50, 50, 100])
def test_a_device_whose_clock_drifts_follows_the_true_one_for_hours(ppm: float) -> None:
    source_time, fast, block = SourceTime(0.0), 1 + ppm / 1e6, np.ones(SAMPLE_RATE, np.int16)
    for second in range(1, 4 * 3600 + 1):
        for chunk in source_time.feed(block, second / fast):
            assert abs(chunk.end - second / fast) < 0.05
            assert abs(len(chunk.samples) - SAMPLE_RATE) <= 0.011 * SAMPLE_RATE


def test_two_tracks_whose_clocks_drift_apart_stay_together() -> None:
    ends = []
    for source_class, ppm in ((Microphone, 100.0), (Playback, -100.0)):
        chunks, _ = heard([(0.0, 1800.0)], source_class, ppm)
        ends.append({round(chunk.captured_at or 0): chunk.end for chunk in chunks})
        assert abs(chunks[-1].end - 1800.0) < 0.05
    assert max(abs(ends[0][second] - ends[1][second]) for second in ends[0].keys() & ends[1].keys()) < 1.05


def test_a_machine_that_is_busy_for_a_moment_moves_nothing() -> None:
    delays = iter([0.0] * 100 + [0.3, 0.26, 0.22, 0.18, 0.14, 0.1, 0.06, 0.02] + [0.0] * 1000)
    chunks, events = heard([(0.0, 20.0)], Microphone, late=lambda: next(delays))
    assert max(map(abs, errors(chunks, [(0.0, 20.0)]))) < 0.05
    assert sum(len(chunk.samples) for chunk in chunks) == pytest.approx(20 * SAMPLE_RATE, abs=0.02 * SAMPLE_RATE)
    assert "overflow" not in [event.reason for event in events if isinstance(event, Gap)]


def test_a_sleep_of_the_machine_moves_source_time_by_its_length() -> None:
    sounds = [(0.5, 5.0), (3605.0, 3610.0)]
    source_time, found = SourceTime(0.0), []
    for begin, end in sounds:
        for instant in np.arange(begin + BLOCK, end + BLOCK / 2, BLOCK):
            found += source_time.feed(np.ones(round(BLOCK * SAMPLE_RATE), np.int16), float(instant))
    assert max(map(abs, errors(found, [(0.5, 4.98), sounds[1]]))) < 0.05
