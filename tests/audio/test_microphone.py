"""Sound that is lost is a gap of the right length; all other sound comes out once, in order, at its source time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.audio import live
from livetrans.audio.capture import Captured
from livetrans.audio.live import Microphone
from livetrans.audio.pulse import Output
from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk, Event, Gap, Notice


@pytest.fixture(autouse=True, scope="module")
def no_waits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "RETRY_SECONDS", (0.001,))
        yield


Step = Captured | np.ndarray | Callable[[], object]


class ScriptedCapture:
    """Gives blocks and calls functions in their order, then ends as a device that was unplugged."""

    def __init__(self, clock: ManualClock, *steps: Step, device: str = "USB Headset", rate: int = SAMPLE_RATE) -> None:
        self._clock, self._steps = clock, steps
        self.device, self.number, self.rate = device, 3, rate
        self.suspended = False
        self.closed = False

    def blocks(self) -> Iterator[Captured]:
        for step in self._steps:
            if callable(step):
                step()
                continue
            captured = step if isinstance(step, Captured) else Captured(step)
            self._clock.advance(len(captured.samples) / self.rate)
            yield captured

    def was_suspended(self) -> bool:
        return self.suspended

    def close(self) -> None:
        self.closed = True


class World:
    """A microphone over captures that are opened one after the other; it is closed after the last one."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.events: list[Event] = []
        self.wanted: list[tuple[str | int | None, int | None]] = []
        self.attempts: list[ScriptedCapture | SourceError] = []

    def capture(self, *steps: Step, device: str = "USB Headset", rate: int = SAMPLE_RATE) -> ScriptedCapture:
        self.attempts.append(ScriptedCapture(self.clock, *steps, device=device, rate=rate))
        return self.attempts[-1]

    def refuse(self) -> None:
        self.attempts.append(SourceError("busy"))

    def microphone(self, device: str | int | None = None) -> Microphone:
        attempts = iter(self.attempts)

        def open_capture(wanted: str | int | None, number: int | None) -> ScriptedCapture:
            self.wanted.append((wanted, number))
            attempt = next(attempts, None)
            if not isinstance(attempt, ScriptedCapture):
                self.clock.advance(1.0)
                if attempt is None:
                    source.close()
                raise attempt or SourceError("the end")
            return attempt

        source = Microphone(device, self.clock, self.events.append, open_capture)
        return source

    def hear(self, device: str | int | None = None) -> list[AudioChunk]:
        return [chunk for chunk in self.microphone(device) if len(chunk.samples)]

    @property
    def gaps(self) -> list[Gap]:
        return [event for event in self.events if isinstance(event, Gap)]

    @property
    def notices(self) -> list[Notice]:
        return [event for event in self.events if isinstance(event, Notice)]


def block(value: int, seconds: float = 1.0, rate: int = SAMPLE_RATE) -> np.ndarray:
    return np.full(round(seconds * rate), value, dtype=np.int16)


def spans(chunks: list[AudioChunk]) -> list[tuple[float, int]]:
    """Where each value of sound begins, in seconds."""
    return [
        ((chunk.start_sample + index) / SAMPLE_RATE, int(chunk.samples[index]))
        for chunk in chunks
        for index in np.flatnonzero(np.diff(chunk.samples, prepend=chunk.samples[0] - 1))
    ]


def test_sound_comes_out_in_order_with_its_instant_from_a_device_with_a_name() -> None:
    for device, name in (("USB Headset", "USB Headset"), ("default", "microphone (default)")):
        world = World()
        first = world.capture(block(1), block(2), block(3), device=device)
        source = world.microphone()
        chunks = [chunk for chunk in source if len(chunk.samples)]
        assert spans(chunks) == [(0.0, 1), (1.0, 2), (2.0, 3)]
        assert chunks[-1].captured_at == 3.0
        assert (source.name, first.closed) == (name, True)


def test_a_lost_device_is_opened_again_and_leaves_a_gap_of_the_time_it_was_gone() -> None:
    world = World()
    world.capture(block(1, 2.0))
    world.refuse()
    world.refuse()
    world.capture(lambda: world.clock.advance(3.0), block(2), device="Built-in")
    assert spans(world.hear()) == [(0.0, 1), (7.0, 2)]
    assert world.gaps == [Gap(2.0, 7.0, "microphone"), Gap(8.0, 9.0, "microphone")], "the last one goes to the end"
    sentences = [notice.text for notice in world.notices]
    assert [notice.level for notice in world.notices] == ["warning", "info", "warning"]
    assert "'USB Headset' gives no sound" in sentences[0]
    assert sentences[1] == "The microphone 'Built-in' is back after 5 s."


def test_a_chosen_device_is_opened_again_by_its_name_and_the_default_as_the_default() -> None:
    for device, again in ((3, ("USB Headset", 3)), ("headset", ("USB Headset", 3)), (None, (None, None))):
        world = World()
        world.capture(block(1))
        world.capture(block(2))
        world.hear(device)
        assert world.wanted[:2] == [(device, None), again]


def test_a_device_that_opens_and_gives_no_sound_is_one_gap() -> None:
    world = World()
    world.capture(block(1))
    for _ in range(3):
        world.capture(lambda: world.clock.advance(5.0))
    world.capture(block(2))
    assert spans(world.hear()) == [(0.0, 1), (16.0, 2)]
    assert world.gaps[0] == Gap(1.0, 16.0, "microphone")
    assert len([notice for notice in world.notices if notice.level == "warning"]) == 2


def test_while_the_device_is_gone_source_time_goes_on() -> None:
    world = World()
    world.capture(block(1), lambda: world.clock.advance(4.0))
    for _ in range(4):
        world.refuse()
    world.capture(block(2))
    chunks = list(world.microphone())
    empty = [chunk for chunk in chunks if not len(chunk.samples)]
    assert [chunk.start for chunk in empty[:4]] == [5.0, 6.0, 7.0, 8.0]
    assert all(chunk.captured_at == chunk.start for chunk in chunks if not len(chunk.samples))
    starts = [chunk.start_sample for chunk in chunks]
    assert starts == sorted(starts)


def test_what_the_device_lost_is_a_gap_where_it_is_long() -> None:
    world = World()
    lose = lambda: world.clock.advance(1.0)  # noqa: E731
    world.capture(block(1), lose, block(2), lambda: world.clock.advance(0.2), block(3), block(3))
    source = world.microphone()
    chunks = [chunk for chunk in source if len(chunk.samples)]
    assert spans(chunks) == [(0.0, 1), (2.0, 2), (3.0, 0), (3.2, 3), (4.2, 3)], "a short loss is filled with zeros"
    assert source.skipped == 1.0
    assert world.gaps[0] == Gap(1.0, 2.0, "overflow")
    assert "overflow" not in [gap.reason for gap in world.gaps[1:]]


def test_a_sleep_of_the_machine_is_a_gap() -> None:
    world = World()
    world.capture(block(1), lambda: world.clock.advance(3600.0), block(2))
    assert spans(world.hear()) == [(0.0, 1), (3601.0, 2)]
    assert world.gaps[0] == Gap(1.0, 3601.0, "sleep")


def test_a_suspension_is_a_gap_and_what_came_late_keeps_its_time() -> None:
    """The last block was captured before the program was suspended and read after that."""
    world = World()
    world.capture(block(1), lambda: world.clock.advance(60.0), Captured(block(2), age=60.0)).suspended = True
    world.capture(block(3))
    assert spans(world.hear()) == [(0.0, 1), (1.0, 2), (62.0, 3)]
    assert world.gaps[0] == Gap(2.0, 62.0, "suspended")
    assert [notice.level for notice in world.notices][:1] == ["info"], "the device was never lost"


def test_a_run_that_ends_while_its_device_is_being_opened_has_the_gap_at_once() -> None:
    world = World()
    world.capture(block(1), lambda: world.clock.advance(5.0)).suspended = True
    source = world.microphone()
    gaps: list[Gap] = []

    def open_slowly() -> ScriptedCapture:
        source.close()
        gaps.extend(world.gaps)
        world.clock.advance(5.0)
        raise SourceError("too late")

    source._open = open_slowly
    assert [chunk.start_sample for chunk in source if len(chunk.samples)] == [0]
    assert gaps == world.gaps == [Gap(1.0, 6.0, "suspended")]


def test_a_device_that_comes_back_while_the_user_has_paused_is_reported_then_with_the_time_it_was_gone() -> None:
    world, said = World(), list[str]()

    def resume() -> None:
        said.extend(notice.text for notice in world.notices)
        source.pause(False)

    world.capture(block(1), lambda: source.pause(True), block(2, 3.0))
    for _ in range(3):
        world.refuse()
    world.capture(block(3), block(3), resume, block(4), lambda: source.close())
    source = world.microphone()
    assert spans([chunk for chunk in source if len(chunk.samples)]) == [(0.0, 1), (9.0, 4)]
    assert [text.endswith("is back after 3 s.") for text in said] == [False, True]
    assert world.gaps == [Gap(1.0, 9.0, "paused")]


def test_a_device_that_was_gone_for_a_moment_was_not_gone_for_nothing() -> None:
    world = World()
    world.capture(block(1))
    world.capture(lambda: world.clock.advance(0.4), block(2))
    world.hear()
    assert world.notices[1].text.endswith("is back after 0.4 s.")


def test_zeros_are_said_once_and_so_is_the_sound_after_them() -> None:
    """Once there was sound, they are waited for: some microphones give zeros between words."""
    world = World()
    world.capture(*[block(0)] * 20, block(1), *[block(0)] * 55, block(1), *[block(0)] * 70)
    world.hear()
    sentences = [notice.text for notice in world.notices if "gives no sound" not in notice.text]
    assert ["zeros" in sentence for sentence in sentences] == [True, False, True]


def test_paused_sound_is_thrown_away_and_marked_as_a_gap() -> None:
    world = World()
    pause, resume, close = (lambda: source.pause(True)), (lambda: source.pause(False)), (lambda: source.close())
    world.capture(block(1), pause, block(2, 3.0), resume, block(3), close)
    source = world.microphone()
    assert spans(list(source)) == [(0.0, 1), (4.0, 3)]
    assert world.events == [Gap(1.0, 4.0, "paused")]


def test_a_device_at_another_rate_is_resampled_also_when_the_rate_changes() -> None:
    world = World()

    def tone(rate: int) -> list[np.ndarray]:
        wave = (8000 * np.sin(2 * np.pi * 300 * np.arange(rate) / rate)).astype(np.int16)
        return [wave[start : start + rate // 100] for start in range(0, rate, rate // 100)]

    world.capture(*tone(44_100), rate=44_100)
    world.refuse()
    world.capture(*tone(48_000), rate=48_000)
    chunks = world.hear()
    expected = 8000 * np.sin(2 * np.pi * 300 * np.arange(SAMPLE_RATE) / SAMPLE_RATE)
    for begin, end in ((0, 1.5), (1.5, 9)):
        heard = np.concatenate([chunk.samples for chunk in chunks if begin <= chunk.start < end])
        assert abs(len(heard) - SAMPLE_RATE) < 50
        assert np.corrcoef(heard[100:-100], expected[100 : len(heard) - 100])[0, 1] > 0.999


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("sound"), st.integers(1, 400)),
        st.tuples(st.just("overflow"), st.integers(1, 400)),
        st.tuples(st.just("sleep"), st.integers(5, 50)),
        st.tuples(st.just("lost"), st.integers(0, 3)),
    ),
    max_size=12,
)


@given(STEPS)
def test_through_any_faults_all_sound_that_was_captured_comes_out_at_its_time(steps: list[tuple[str, int]]) -> None:
    world, script, value = World(), [], 0
    runs: list[list[Step]] = [script]
    for kind, count in steps:
        if kind in ("sound", "overflow"):
            value += 1
            if kind == "overflow":
                script.append(lambda count=count: world.clock.advance(count / 100))
            script.append(block(value, count / 100))
        elif kind == "sleep":
            script.append(lambda count=count: world.clock.advance(count))
        else:
            script = []
            runs += [[] for _ in range(count)] + [script]
    for run in runs:
        world.capture(*run)
    chunks = world.hear()
    assert [number for _, number in spans(chunks) if number] == list(range(1, value + 1))
    ends = [chunk.start_sample + len(chunk.samples) for chunk in chunks]
    assert all(end <= later.start_sample for end, later in zip(ends, chunks[1:], strict=False))
    assert all(gap.end - gap.start >= 0.5 for gap in world.gaps)
    assert all(before.end <= after.start for before, after in zip(world.gaps, world.gaps[1:], strict=False))
    heard = {(chunk.start_sample, chunk.start_sample + len(chunk.samples)) for chunk in chunks}
    for gap in world.gaps:
        begin, end = round(gap.start * SAMPLE_RATE), round(gap.end * SAMPLE_RATE)
        assert not any(begin < last and first < end for first, last in heard), "nothing was heard in a gap"


@pytest.mark.parametrize(
    ("device", "monitors", "hears"),
    [
        ("USB Headset", True, False),
        ("default", True, True),
        ("default", False, False),
        ("Monitor of Speaker", False, True),
        ("BlackHole 2ch", False, False),
        ("Speaker", False, True),
    ],
)
def test_an_output_is_no_microphone(device: str, monitors: bool, hears: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`monitors`: the system's microphone is the default output's monitor."""
    monkeypatch.setattr(live, "ON_A_MAC", False)
    outputs = [Output(0, "Speaker", "speaker.monitor", True, monitors), Output(1, "HDMI", "hdmi", False, not monitors)]
    monkeypatch.setattr(live, "list_played", lambda: (outputs, []))
    world = World()
    world.capture(device=device)
    assert world.microphone().hears_output("Speaker") == hears


def test_a_device_that_cannot_be_opened_at_first_is_an_error() -> None:
    world = World()
    world.refuse()
    with pytest.raises(SourceError, match="busy"):
        world.microphone()
