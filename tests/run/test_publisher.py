"""One order of records for every sink, whatever a sink does while it is written to, and however slow it is."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.base.errors import SessionError
from livetrans.events import SAMPLE_RATE, AudioChunk, Notice, Record, Transcript
from livetrans.run import publisher
from livetrans.run.publisher import Publisher, SinkTooSlow
from livetrans.session.codec import read_lines
from livetrans.session.recorder import SessionRecorder, sound_seconds
from livetrans.session.sinks import Sink

from .scripted_run import Collected, Stalled


class Talkative(Collected):
    """Publishes a notice of its own for each info notice."""

    publish: Publisher

    def write(self, record: Record) -> None:
        super().write(record)
        if isinstance(record.event, Notice) and record.event.level == "info":
            self.publish(Notice("warning", f"after {record.event.text}"))


class Broken(Collected):
    """Fails at the first record, unless there is no error, and at being closed."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__()
        self.tried = 0
        self._error = error

    def write(self, record: Record) -> None:
        self.tried += 1
        if self._error:
            raise self._error

    def close(self) -> None:
        super().close()
        raise OSError("still broken")


def make(*sinks: Sink, clock: ManualClock | None = None) -> tuple[Publisher, list[BaseException]]:
    failures: list[BaseException] = []
    publish = Publisher(clock or ManualClock(), lambda sink, error: failures.append(error))
    for sink in sinks:
        publish.add(sink)
    return publish, failures


def texts(sink: Collected) -> list[str]:
    return [record.event.text for record in sink.records if isinstance(record.event, Notice)]


def update(revision: int, *, final: bool = False) -> Transcript:
    return Transcript(0, revision, "some words" if final else "some", "" if final else "words", final, 0.0, 1.0)


def test_every_sink_gets_the_same_order_also_of_what_a_sink_publishes() -> None:
    clock, talkative, other = ManualClock(), Talkative(), Collected()
    publish, failures = make(talkative, other, clock=clock)
    talkative.publish = publish
    for text in ("one", "two"):
        clock.advance(1.0)
        publish(Notice("info", text))
    publish.close()
    assert talkative.records == other.records
    assert {"one", "two"} <= set(texts(other))
    instants = [record.at for record in other.records]
    assert instants == sorted(instants)
    assert failures == []


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), SystemExit(1)])
def test_a_sink_that_fails_is_reported_once_and_disturbs_no_other(error: BaseException) -> None:
    broken, open_for_ever, other = Broken(error), Broken(None), Collected()
    publish, failures = make(broken, open_for_ever, other)
    for text in ("one", "two", "three"):
        publish(Notice("info", text))
    publish.close()
    publish(Notice("info", "too late"))
    assert texts(other) == ["one", "two", "three"]
    assert [failures[0], str(failures[1])] == [error, "still broken"] and len(failures) == 2
    assert (broken.tried, open_for_ever.tried) == (1, 3)
    assert (broken.closed, open_for_ever.closed, other.closed) == (1, 1, 1)


@given(st.integers(0, 20), st.integers(1, 8))
def test_a_sink_that_is_too_slow_is_reported_once_and_gets_everything(count: int, many: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publisher, "MANY_RECORDS", many)
        stalled = Stalled()
        publish, failures = make(stalled)
        events = [Notice("info", str(number)) for number in range(count + 1)]
        publish(events[0])
        assert stalled.stalls.wait(20)
        for event in events[1:]:
            publish(event)
        stalled.released.set()
        publish.close()
    assert [record.event for record in stalled.records] == events
    assert [type(error) for error in failures] == [SinkTooSlow] * (count > many)


def test_sound_that_a_stalled_disk_does_not_take_is_bounded_and_its_loss_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "MOST_SOUND_SECONDS", 1.0)
    stalls, released = threading.Event(), threading.Event()
    write = SessionRecorder.write

    def stall(recorder: SessionRecorder, record: Record) -> None:
        stalls.set()
        assert released.wait(20)
        write(recorder, record)

    monkeypatch.setattr(SessionRecorder, "write", stall)
    publish, failures = make(SessionRecorder(tmp_path, keep_audio=True))
    publish(Notice("info", "stalled here"))
    assert stalls.wait(20)
    for number in range(6):
        publish.record_sound(AudioChunk(np.ones(SAMPLE_RATE // 2, np.int16), number * SAMPLE_RATE // 2))
    publish(Notice("info", "still recorded"))
    released.set()
    publish.close()
    assert sound_seconds(tmp_path / "audio.wav") == 1.5
    assert len(list(read_lines(tmp_path))) == 2
    [failure] = failures
    assert isinstance(failure, SinkTooSlow) and failure.loses


def test_a_sink_that_takes_nothing_keeps_no_other_open_and_is_given_up_when_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publisher, "STALLED_SECONDS", 0.05)
    stalled, other, ends = Stalled(), Collected(), threading.Event()
    publish, failures = make(stalled, other)
    publish(Notice("info", "one"))
    publish.flush()
    publish(Notice("info", "two"))
    closing = threading.Thread(target=publish.close, args=(ends.is_set,))
    closing.start()
    while not other.closed:
        assert closing.is_alive()
    closing.join(0.2)
    assert closing.is_alive(), "it waits for its reader"
    ends.set()
    closing.join(20)
    assert texts(other) == ["one", "two"] and not stalled.closed
    assert [str(error)[:25] for error in failures] == ["An output has taken nothi"]
    stalled.released.set()


def test_sound_goes_to_a_recorder_that_wants_it_and_to_nothing_else(tmp_path: Path) -> None:
    other = Collected()
    with_sound, without = SessionRecorder(tmp_path / "with", keep_audio=True), SessionRecorder(tmp_path / "without")
    publish, failures = make(with_sound, without, other)
    publish.record_sound(AudioChunk(np.ones(100, np.int16), 0))
    publish.close()
    assert (tmp_path / "with" / "audio.wav").stat().st_size == 44 + 200
    assert not (tmp_path / "without" / "audio.wav").exists()
    assert (other.records, failures) == ([], [])


def test_sound_that_cannot_be_recorded_does_not_end_the_record_of_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(recorder: SessionRecorder, chunk: AudioChunk) -> None:
        raise SessionError("The disk is full.")

    monkeypatch.setattr(SessionRecorder, "write_audio", fail)
    publish, failures = make(SessionRecorder(tmp_path, keep_audio=True))
    publish.record_sound(AudioChunk(np.ones(100, np.int16), 0))
    publish(Notice("info", "still recorded"))
    publish.close()
    assert [values["text"] for _, values in read_lines(tmp_path)] == ["still recorded"]
    assert [str(error) for error in failures] == ["The disk is full."]


def test_a_record_is_on_the_disk_without_closing_and_without_a_later_one(tmp_path: Path) -> None:
    """An idle queue is an empty one: what a crash can lose is what was published while the disk was busy."""
    publish, _ = make(SessionRecorder(tmp_path))
    publish(Notice("info", "at once"))
    end = time.monotonic() + 20
    while not (tmp_path / "events.jsonl").read_text().endswith("\n"):
        assert time.monotonic() < end, "the record is still not on the disk"
    assert [values["text"] for _, values in read_lines(tmp_path)] == ["at once"]
    publish.close()
