"""Source time is within 50 ms of the truth, whatever a capture leaves out and however its device's clock runs.

The capture has a clock of its own: sound is what was audible at each true instant, numbered by it, so that its place in
source time can be compared with the instant at which it was heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from livetrans.audio import live
from livetrans.audio.bleed import BleedFilter
from livetrans.audio.capture import Captured
from livetrans.audio.live import LiveSource, Microphone, Playback, SourceTime
from livetrans.audio.pulse import NOTHING
from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError
from livetrans.config import GateSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, Event, Gap
from livetrans.speech.gate import VoiceActivityGate

from .rooms import Sound, as_samples, bleed, microphone, recording

BLOCK = 0.04
"""Seconds of a block."""
Heard = tuple[float, float]
"""Begin and end of a sound in true time."""
HOURS = (0, 1, 2, 4)


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source looks for its device again at once."""
    monkeypatch.setattr(live, "RETRY_SECONDS", (0.0,))


class OwnClock:
    """A capture of sounds at true times. A block comes when its last sample was heard, by the true clock."""

    def __init__(
        self,
        clock: ManualClock,
        sounds: Iterable[Heard],
        ppm: float = 0.0,
        late: Callable[[], float] = float,
        block: float = BLOCK,
        audible: Callable[[NDArray[np.float64]], Sound] | None = None,
    ):
        """`ppm`: by how much the device's clock runs fast. `late`: how late the next block comes.

        `audible` gives the samples at true times; without it every sample of a sound is 1.
        """
        self._clock, self._sounds, self._fast, self._late = clock, sounds, 1 + ppm / 1e6, late
        self._block, self._audible = block, audible
        self.device, self.number, self.rate = "scripted", 0, SAMPLE_RATE

    def blocks(self) -> Iterator[Captured]:
        samples = np.ones(round(self._block * SAMPLE_RATE), np.int16)
        quiet_from = 0.0
        for begin, end in self._sounds:
            while begin - quiet_from > 1.0:  # The child says once a second that nothing is played.
                quiet_from += 1.0
                self._reach(quiet_from)
                yield Captured(samples[:0], absence=NOTHING)
            length = self._block / self._fast
            for number in range(1, round((end - begin) / length) + 1):
                at = begin + number * length
                if self._audible:
                    samples = self._audible(at - np.arange(len(samples), 0, -1) / SAMPLE_RATE / self._fast)
                self._reach(at + self._late())
                yield Captured(samples)
            quiet_from = end

    def _reach(self, instant: float) -> None:
        self._clock.advance(max(instant - self._clock.now(), 0.0))

    def was_suspended(self) -> bool:
        return False

    def close(self) -> None: ...


def opened(
    sounds: list[Heard], source_class: type = Playback, ppm: float = 0.0, **options: Any
) -> tuple[LiveSource, list[Event]]:
    """Return a source over such a capture, and the list of what it reports."""
    clock, events = ManualClock(), []
    captures = [OwnClock(clock, sounds, ppm, **options)]

    def open_capture(*_: object) -> OwnClock:
        if not captures:
            source.close()
            raise SourceError("the end")
        return captures.pop()

    source = source_class(None, clock, events.append, open_capture)
    return source, events


def heard(
    sounds: list[Heard], source_class: type = Playback, ppm: float = 0.0, **options: Any
) -> tuple[list[AudioChunk], list[Event]]:
    """Run a source over such a capture."""
    source, events = opened(sounds, source_class, ppm, **options)
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


@pytest.mark.parametrize(
    ("ppm", "hours"), [(-100, 1), *(pytest.param(ppm, 4, marks=pytest.mark.long) for ppm in (-100, -50, 50, 100))]
)
def test_a_device_whose_clock_drifts_follows_the_true_one_for_hours(ppm: float, hours: int) -> None:
    source, _ = opened([(0.0, hours * 3600.0)], Microphone, ppm, block=1.0)
    for number, chunk in enumerate(source, 1):
        if len(chunk.samples):
            assert abs(chunk.end - number / (1 + ppm / 1e6)) < 0.05
            assert abs(len(chunk.samples) - SAMPLE_RATE) <= 0.011 * SAMPLE_RATE
    assert number >= hours * 3600


def test_two_tracks_whose_clocks_drift_apart_stay_together() -> None:
    """The same instant is at the same place in both, throughout."""
    sounds = [(float(second), second + 0.4) for second in range(600)]
    found = [errors(heard(sounds, source, ppm)[0], sounds) for source, ppm in ((Microphone, 100.0), (Playback, -100.0))]
    assert max(abs(mine - theirs) for mine, theirs in zip(*found, strict=True)) < 0.05


def at_the_hours(sound: Sound) -> Callable[[NDArray[np.float64]], Sound]:
    """Return what is audible at true times, in seconds: a sound at the beginning of each of `HOURS`."""

    def audible(times: NDArray[np.float64]) -> Sound:
        hour, second = divmod(times[-1], 3600.0)
        if hour not in HOURS or second > len(sound) / SAMPLE_RATE + 1:
            return np.zeros(len(times), np.int16)
        places = (times - hour * 3600.0) * SAMPLE_RATE
        return as_samples(np.interp(places, np.arange(len(sound)), sound, left=0, right=0))

    return audible


@pytest.mark.long
def test_bleed_is_recognised_at_every_hour_of_tracks_whose_clocks_drift_apart() -> None:
    """The microphone hears the loudspeaker alone, for 20 s of an hour: next to nothing passes as the user's speech.

    Each hour has a first second in which the delay is learned that the clocks have drifted to since the last sample.
    """
    played = recording("dialogue")[: 20 * SAMPLE_RATE]
    in_room = as_samples(bleed(played, -12, 0.04) + microphone(len(played)))
    run = [(0.0, 4 * 3600.0 + 30.0)]
    theirs, _ = opened(run, Playback, -100.0, block=1.0, audible=at_the_hours(played))
    mine, _ = opened(run, Microphone, 100.0, block=1.0, audible=at_the_hours(in_room))
    bleed_filter, gate, played_chunks = BleedFilter(), VoiceActivityGate(GateSettings()), iter(theirs)
    passed = dict.fromkeys(HOURS, 0)
    played_until = 0.0
    for heard_chunk in mine:
        is_sampled = heard_chunk.end // 3600 in HOURS and heard_chunk.end % 3600 < 25.0
        while played_until < heard_chunk.end and (played_chunk := next(played_chunks, None)):
            played_until = played_chunk.end
            if is_sampled:
                bleed_filter.feed_played(played_chunk)
        for chunk in bleed_filter.feed(heard_chunk) if is_sampled else ():
            passed[int(heard_chunk.end // 3600)] += sum(len(speech.samples) for speech in gate.feed(chunk))
    assert max(passed.values()) < 1.5 * SAMPLE_RATE, passed


def test_a_machine_that_is_busy_for_a_moment_moves_nothing() -> None:
    delays = iter([0.0] * 100 + [0.3, 0.26, 0.22, 0.18, 0.14, 0.1, 0.06, 0.02] + [0.0] * 1000)
    chunks, events = heard([(0.0, 20.0)], Microphone, late=lambda: next(delays))
    assert max(map(abs, errors(chunks, [(0.0, 20.0)]))) < 0.05
    assert sum(len(chunk.samples) for chunk in chunks) == pytest.approx(20 * SAMPLE_RATE, abs=0.02 * SAMPLE_RATE)
    assert "overflow" not in [event.reason for event in events if isinstance(event, Gap)]


@pytest.mark.parametrize("block", [0.01, 0.04])
@pytest.mark.parametrize(
    ("stall", "first", "apart"),
    [(2.0, 2.0, 0.0), (2.0, 0.8, 0.2), (2.0, 0.8, 0.3), (1.0, 0.4, 0.3), (3.0, 0.5, 0.5), (3.0, 0.041, 0.5)],
)
def test_a_busy_machine_that_hands_its_backlog_over_in_two_parts_moves_nothing(
    stall: float, first: float, apart: float, block: float
) -> None:
    """`first` seconds of sound come after a stall that began at 30 s, the rest as much later."""
    delays = []
    for number in range(round(90.0 / block)):
        begin, end = number * block, (number + 1) * block
        handed_over = 30.0 + stall + (apart if begin >= 30.0 + first else 0.0)
        delays.append(max(handed_over - end, 0.0) if 30.0 <= begin < handed_over else 0.0)
    late = iter([*delays, 0.0])
    source, _ = opened([(0.0, 90.0)], Microphone, late=lambda: next(late), block=block)
    chunks = [chunk for chunk in source if len(chunk.samples)]
    ends = np.cumsum([len(chunk.samples) for chunk in chunks])
    assert max(abs(end - chunk.end * SAMPLE_RATE) for end, chunk in zip(ends, chunks, strict=True)) < 0.05 * SAMPLE_RATE
    assert ends[-1] == pytest.approx(90.0 * SAMPLE_RATE, abs=0.02 * SAMPLE_RATE)


@given(st.data())
def test_a_busy_machine_loses_and_adds_no_sample(data: st.DataObject) -> None:
    """Blocks come late by up to 35 ms each, and after stalls of up to two seconds all at once."""
    length, count = round(BLOCK * SAMPLE_RATE), 300
    delays = [*data.draw(st.lists(st.floats(0.0, 0.035), min_size=20, max_size=20)), 0.0]
    # The machine has caught up before the next stall, and before the end.
    stalls = {data.draw(st.integers(at, at + 40)): data.draw(st.floats(0.05, 2.0)) for at in (1, 101, 201)}
    source_time, chunks, came = SourceTime(0.0), [], 0.0
    for number in range(1, count + 1):
        due = number * BLOCK
        came = max(came, due + delays[number % len(delays)], due + stalls.get(number, 0.0))
        samples = np.arange((number - 1) * length, number * length) % 30_000
        chunks += source_time.feed(samples.astype(np.int16), came)
    chunks += source_time.flush()
    heard = np.concatenate([chunk.samples for chunk in chunks])
    np.testing.assert_array_equal(heard, np.arange(count * length) % 30_000)
    assert all(before.start_sample + len(before.samples) == after.start_sample for before, after in pairwise(chunks))


def test_a_sleep_of_the_machine_moves_source_time_by_its_length() -> None:
    sounds = [(0.5, 5.0), (3605.0, 3610.0)]
    source_time, found = SourceTime(0.0), []
    for begin, end in sounds:
        for instant in np.arange(begin + BLOCK, end + BLOCK / 2, BLOCK):
            found += source_time.feed(np.ones(round(BLOCK * SAMPLE_RATE), np.int16), float(instant))
    assert max(map(abs, errors(found, [(0.5, 4.98), sounds[1]]))) < 0.05
