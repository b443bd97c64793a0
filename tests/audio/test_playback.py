"""What the computer plays, from scripted captures: source time goes on while nothing is played, and that is a gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.audio.capture import Captured
from livetrans.audio.live import Playback
from livetrans.audio.pulse import IDLE_SECONDS, NO_PROGRAM, NO_SERVER, NOTHING, Mixture, PlayingStream, choose_program
from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError, UsageError
from livetrans.events import AudioChunk, Event, Gap, Notice
from tests.audio.test_microphone import ScriptedCapture, Step, block, no_waits, spans  # noqa: F401


def absent(why: str) -> Captured:
    return Captured(block(0, 0.0), absence=why)


def hear(program: str | None, *captures: list[Step]) -> tuple[list[AudioChunk], list[Event], list[object]]:
    """What comes out of these captures, opened one after the other, with the events and what was wanted of each."""
    clock, events, wanted = ManualClock(), [], []
    left = [ScriptedCapture(clock, *steps(clock), device="Firefox") for steps in captures]

    def open_capture(name: str | None, number: None, kind: str) -> ScriptedCapture:
        wanted.append(name)
        if not left:
            source.close()
            raise SourceError("the end")
        return left.pop(0)

    source = Playback(program, clock, events.append, open_capture)
    return [chunk for chunk in source if len(chunk.samples)], events, wanted


def test_a_program_that_stops_and_plays_again_leaves_a_gap_and_no_warning() -> None:
    def steps(clock: ManualClock) -> list[Step]:
        return [block(1), lambda: clock.advance(5.0), absent(NO_PROGRAM), lambda: clock.advance(4.0), block(2)]

    chunks, events, _ = hear("fire", steps)
    assert spans(chunks) == [(0.0, 1), (10.0, 2)]
    assert next(event for event in events if isinstance(event, Gap)) == Gap(1.0, 10.0, "output")
    first = next(event for event in events if isinstance(event, Notice))
    assert (first.level, "'Firefox' has stopped playing" in first.text) == ("info", True)


def test_a_program_that_pauses_is_a_gap_without_a_word() -> None:
    def steps(clock: ManualClock) -> list[Step]:
        return [block(1), lambda: clock.advance(3.0), absent(NOTHING), block(2), lambda: clock.advance(0.3), block(3)]

    chunks, events, _ = hear("fire", steps)
    assert [number for _, number in spans(chunks)] == [1, 2, 0, 3], "a short pause is one of zeros"
    assert Gap(1.0, 4.0, "output") in events
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert "cannot be heard" in notice.text, "it is of the end of the script"


def test_a_program_that_does_not_play_yet_is_waited_for_and_the_wait_counts_and_is_no_gap() -> None:
    def steps(clock: ManualClock) -> list[Step]:
        return [lambda: clock.advance(1.0), absent(NO_PROGRAM), lambda: clock.advance(20.0), block(1)]

    chunks, events, _ = hear("fire", steps)
    assert spans(chunks) == [(21.0, 1)], "source time begins with the run"
    waits, plays = [event for event in events if isinstance(event, Notice)][:2]
    assert "plays nothing yet" in waits.text and "is playing now" in plays.text
    assert waits.about == plays.about is not None, "the warning ends when it is not true any more"
    assert not [event for event in events if isinstance(event, Gap) and not event.start]


def test_a_server_that_is_gone_is_said_once_and_so_is_its_return() -> None:
    def steps(clock: ManualClock) -> list[Step]:
        return [
            block(1),
            absent(NO_SERVER),
            absent(NO_PROGRAM),
            absent(NO_SERVER),
            lambda: clock.advance(5.0),
            block(2),
        ]

    _, events, _ = hear(None, steps)
    levels = [event.level for event in events if isinstance(event, Notice)]
    assert levels[:2] == ["warning", "info"]
    assert Gap(1.0, 6.0, "output") in events


def test_a_capture_that_crashes_is_opened_again_for_the_same_program() -> None:
    chunks, _, wanted = hear("fire", lambda clock: [block(1)], lambda clock: [block(2)])
    assert [number for _, number in spans(chunks)] == [1, 2]
    assert wanted[:2] == ["fire", "Firefox"]


STREAMS = [
    PlayingStream(1, "Firefox", "firefox", 0, False),
    PlayingStream(2, "Firefox", "firefox", 0, True),
    PlayingStream(3, "ZOOM VoiceEngine", "zoom", 0, False),
    PlayingStream(4, "Fire Engine", "fire", 0, False),
    PlayingStream(5, "Fire", "", 0, False),
]


def test_programs_are_chosen_by_a_part_of_their_name_or_of_their_files() -> None:
    assert choose_program(STREAMS, "firefox") == "Firefox", "its two streams are one program"
    assert choose_program(STREAMS, " Zoom ") == "ZOOM VoiceEngine"
    assert choose_program(STREAMS, "fire") == "Fire", "the whole name wins"
    assert choose_program(STREAMS, "vlc") is None
    with pytest.raises(UsageError, match=r"'Firefox', 'Fire Engine', 'Fire'.*--app"):
        choose_program(STREAMS, "fir")


PIECES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 50), st.floats(0.0, 0.1)), max_size=40)


@given(PIECES, st.permutations("abc"))
def test_a_mixture_is_the_sum_of_all_that_was_given_in_order(pieces: list[tuple[str, int, float]], ends: str) -> None:
    mixture, now = Mixture(), 0.0
    given_of: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    mixed: list[int] = []
    for stream, length, seconds in pieces:
        now += seconds
        samples = np.arange(1, length + 1, dtype=np.int16)
        given_of[stream] += samples.tolist()
        mixed += mixture.feed(stream, samples, now).tolist()
    for stream in ends:
        mixed += mixture.end(stream).tolist()
    assert sum(mixed) == sum(map(sum, given_of.values())), "nothing is lost, nothing comes twice"
    longest = max(map(len, given_of.values()))
    assert longest <= len(mixed) <= sum(map(len, given_of.values()))


def test_a_stream_that_pauses_holds_nothing_up() -> None:
    mixture, samples = Mixture(), np.full(100, 20_000, np.int16)
    assert len(mixture.feed("call", samples, 0.0)) == 100
    assert len(mixture.feed("music", samples, 0.01)) == 0, "the other one is waited for"
    assert mixture.feed("call", samples, 0.02).max() == 32_767, "a sum that is too loud is cut"
    for number in range(3):
        assert len(mixture.feed("call", samples, 0.02 + IDLE_SECONDS + number)) == 100
