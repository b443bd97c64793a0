from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import GateSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, SpeechChunk
from livetrans.speech.gate import OPENING_SECONDS, VoiceActivityGate
from tests.audio.rooms import recording
from tests.benchmarks.words_in_noise import KINDS
from tests.benchmarks.words_in_noise import chunks as chunks_of

DEFAULT = GateSettings()
WINDOW = 512
OPENING_WINDOWS = round(OPENING_SECONDS * SAMPLE_RATE) // WINDOW
SECONDS = WINDOW / SAMPLE_RATE
MINIMUM = ceil(DEFAULT.minimum_speech / SECONDS)


def sound(windows: list[bool]) -> np.ndarray:
    """Voice among silence; every sample tells where it stands."""
    levels = [4000 if voiced else 0 for voiced in windows]
    return (np.repeat(levels, WINDOW) + np.arange(len(levels) * WINDOW) % 7).astype(np.int16)


class Loud:
    """Takes what is loud for speech."""

    window = WINDOW

    def is_voiced(self, samples: np.ndarray, is_open: bool) -> bool:
        return bool(np.abs(samples).max() > 500)


def gate(samples: np.ndarray, sizes: list[int], options: GateSettings = DEFAULT) -> list[SpeechChunk]:
    detector = VoiceActivityGate(options, Loud())
    chunks: list[SpeechChunk] = []
    position, turn = 0, 0
    while position < len(samples):
        size = sizes[turn % len(sizes)]
        piece = samples[position : position + size]
        chunks += detector.feed(AudioChunk(piece, position, (position + len(piece)) / SAMPLE_RATE))
        position, turn = position + len(piece), turn + 1
    return chunks + detector.flush()


def stretches(windows: list[bool], pause: float) -> list[tuple[int, int]]:
    """Stretches of voice separated by at least a pause of silence, as first and last voiced window."""
    found: list[tuple[int, int]] = []
    for i, is_voiced in enumerate(windows):
        if is_voiced and found and (i - found[-1][1] - 1) * SECONDS < pause:
            found[-1] = (found[-1][0], i)
        elif is_voiced:
            found.append((i, i))
    return found


patterns = st.lists(st.tuples(st.booleans(), st.integers(1, 60)), min_size=1, max_size=10).map(
    lambda runs: [is_voiced for is_voiced, count in runs for _ in range(count)]
)
chunk_sizes = st.lists(st.sampled_from([100, 480, 960, 5000, 100_000]), min_size=1, max_size=3)


@st.composite
def talks(draw: st.DrawFn) -> tuple[float, list[bool]]:
    """A pause, and windows whose silences are clearly shorter or at least as long."""
    pause = draw(st.sampled_from([0.3, DEFAULT.pause, 1.5, 3.0, 6.0]))
    limit = ceil(pause / SECONDS)
    silences = st.one_of(st.integers(1, limit - 1), st.integers(limit, limit + 60))
    runs = draw(st.lists(st.tuples(silences, st.integers(1, 60)), min_size=1, max_size=6))
    return pause, [is_voiced for silence, voice in runs for is_voiced in [False] * silence + [True] * voice]


@given(talks(), chunk_sizes)
def test_no_voiced_window_of_speech_is_lost_whatever_the_pause(
    talk: tuple[float, list[bool]], sizes: list[int]
) -> None:
    pause, windows = talk
    samples = sound(windows)
    kept = np.zeros(len(samples), dtype=bool)
    for chunk in gate(samples, sizes, replace(DEFAULT, pause=pause)):
        part = slice(chunk.start_sample, chunk.start_sample + len(chunk.samples))
        assert np.array_equal(samples[part], chunk.samples)
        assert not kept[part].any(), "a sample came twice"
        kept[part] = True
    for first, last in stretches(windows, pause):
        opening = windows[first : first + OPENING_WINDOWS]
        if sum(opening) >= MINIMUM:
            assert kept[first * WINDOW : (last + 1) * WINDOW].all()
            assert kept[max(last * WINDOW, 0) : (last + 1) * WINDOW + 4800].all(), "the hang-over is missing"


@pytest.mark.parametrize("pause", [0.3, 0.8, 1.5, 1.6, 3.0, 60.0])
def test_a_silence_ends_the_segment_once_it_is_as_long_as_the_pause(pause: float) -> None:
    limit = ceil(pause / SECONDS)
    for silence, ends in ((limit - 1, 1), (limit, 2)):
        chunks = gate(sound([True] * 40 + [False] * silence + [True] * 40), [960], replace(DEFAULT, pause=pause))
        assert sum(chunk.pause for chunk in chunks) == ends
        assert sum(len(chunk.samples) for chunk in chunks) <= (80 + silence + 20) * WINDOW


def test_silence_is_never_held_without_bound() -> None:
    detector = VoiceActivityGate(replace(DEFAULT, pause=3.0), Loud())
    detector.feed(AudioChunk(sound([True] * 40 + [False] * 1000), 0))
    assert len(detector._held) <= ceil(3.0 / SECONDS)


@given(patterns, chunk_sizes, chunk_sizes)
def test_chunking_changes_neither_sound_nor_pauses(windows: list[bool], one: list[int], other: list[int]) -> None:
    def outline(chunks: list[SpeechChunk]) -> list[tuple[int, int]]:
        """Start and end of each stretch."""
        found, start = [], None
        for chunk in chunks:
            start = chunk.start_sample if start is None else start
            if chunk.pause:
                found.append((start, chunk.start_sample + len(chunk.samples)))
                start = None
        assert start is None, "flush ends what is open"
        return found

    samples = sound(windows)[:-7]
    assert outline(gate(samples, one)) == outline(gate(samples, other))


@given(patterns, chunk_sizes)
def test_chunks_between_pauses_are_contiguous(windows: list[bool], sizes: list[int]) -> None:
    expected: int | None = None
    for chunk in gate(sound(windows), sizes):
        if expected is not None and len(chunk.samples):
            assert chunk.start_sample == expected
        assert chunk.captured_at is None or chunk.captured_at == pytest.approx(chunk.end)
        expected = None if chunk.pause else chunk.start_sample + len(chunk.samples)


def test_a_pause_keeps_pre_roll_and_hang_over_and_drops_the_silence() -> None:
    windows = [False] * 40 + [True] * 30 + [False] * 60 + [True] * 30 + [False] * 60
    chunks = gate(sound(windows), [960])
    pauses = [i for i, chunk in enumerate(chunks) if chunk.pause]
    assert len(pauses) == 2
    roll = ceil(0.3 / SECONDS) * SECONDS
    assert chunks[0].start == pytest.approx(40 * SECONDS - roll)
    assert chunks[pauses[0]].end == pytest.approx(70 * SECONDS + roll)
    assert chunks[pauses[0] + 1].start == pytest.approx(130 * SECONDS - roll)


@pytest.mark.parametrize("windows", [[False] * 200, ([True] * 5 + [False] * 30) * 8])
def test_silence_and_clicks_do_not_open_the_gate(windows: list[bool]) -> None:
    assert gate(sound(windows), [960]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_speech_does_not_open_the_gate(kind: str) -> None:
    detector = VoiceActivityGate(DEFAULT)
    assert [chunk for piece in chunks_of(kind, 0.5) for chunk in detector.feed(piece)] == []


@pytest.mark.parametrize("strictness", range(4))
def test_webrtcvad_passes_speech_and_drops_silence(strictness: int) -> None:
    options = GateSettings("webrtcvad", strictness)
    speech = recording("dialogue")[: 20 * SAMPLE_RATE]
    samples = np.concatenate([np.zeros(5 * SAMPLE_RATE, np.int16), speech, np.zeros(5 * SAMPLE_RATE, np.int16)])
    gate, passed = VoiceActivityGate(options), np.zeros(len(samples) + SAMPLE_RATE, bool)
    for chunk in (*gate.feed(AudioChunk(samples, 0)), *gate.flush()):
        passed[chunk.start_sample : chunk.start_sample + len(chunk.samples)] = True
    loud = np.abs(speech) > 0.5 * np.sqrt((speech.astype(float) ** 2).mean())
    assert passed[5 * SAMPLE_RATE :][: len(speech)][loud].mean() > 0.97
    assert not passed[: 4 * SAMPLE_RATE].any() and not passed[-4 * SAMPLE_RATE :].any()


@pytest.mark.parametrize("gain", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("kind", ["silence", "fan"])
def test_speech_passes_loud_and_quiet_alone_and_in_noise(gain: float, kind: str) -> None:
    speech = recording("dialogue")[: 20 * SAMPLE_RATE].astype(float)
    noise = np.concatenate([chunk.samples for chunk in chunks_of(kind, 20 / 60)]).astype(float)[: len(speech)]
    noise *= 0.2 * np.sqrt((speech**2).mean()) / max(np.sqrt((noise**2).mean()), 1.0)
    samples = ((speech + noise).clip(-32_000, 32_000) * gain).astype(np.int16)
    detector, passed = VoiceActivityGate(DEFAULT), np.zeros(len(samples) + SAMPLE_RATE, bool)
    for chunk in (*detector.feed(AudioChunk(samples, 0)), *detector.flush()):
        passed[chunk.start_sample : chunk.start_sample + len(chunk.samples)] = True
    loud = np.abs(speech) > 0.5 * np.sqrt((speech**2).mean())
    assert passed[: len(loud)][loud].mean() > 0.97


def test_a_hole_in_the_sound_is_a_pause() -> None:
    detector = VoiceActivityGate(DEFAULT, Loud())
    samples = sound([True] * 40)
    detector.feed(AudioChunk(samples, 0))
    chunks = detector.feed(AudioChunk(samples, 100_000))
    assert chunks[0].pause and chunks[0].start_sample == len(samples)
    assert chunks[1].start_sample == 100_000


def test_the_last_samples_of_an_open_gate_are_not_forgotten() -> None:
    samples = np.concatenate([sound([True] * 40), np.full(300, 4000, dtype=np.int16)])
    assert sum(len(chunk.samples) for chunk in gate(samples, [960])) == len(samples)


@given(patterns, chunk_sizes)
def test_a_silence_is_reported_once_before_its_pause_or_the_speech_after_it(
    windows: list[bool], sizes: list[int]
) -> None:
    silent = ceil(DEFAULT.hang_over / SECONDS) * WINDOW
    chunks = gate(sound(windows), sizes)
    for chunk, following in pairwise(chunks):
        if chunk.may_end:
            assert not chunk.pause and following.start_sample == chunk.start_sample + len(chunk.samples)
            assert following.pause or len(following.samples)
    heard = [np.concatenate([c.samples for c in chunks[: i + 1]]) for i, c in enumerate(chunks) if c.may_end]
    assert all(np.abs(so_far[-silent:]).max() < 500 < np.abs(so_far[-silent - WINDOW :]).max() for so_far in heard)
