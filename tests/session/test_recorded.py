"""Recorded transcripts: the same updates again, at once or at the recorded pace."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from livetrans.base.clock import ManualClock
from livetrans.base.errors import SessionError
from livetrans.events import Event, NameCorrected, Notice, RecognitionStats, Record, Repair, RunStarted, Transcript
from livetrans.session.codec import to_line
from livetrans.session.recorded import RecordedTranscripts

HEARD = RecognitionStats(1.0, 0.2)
STREAM = (
    Transcript(0, 0, "", "Good", False, 0.25, 1.0, 1.125, HEARD),
    Transcript(0, 1, "Good", "day", False, 0.25, 2.0, 2.125, HEARD),
    Transcript(0, 2, "Good day.", "", True, 0.25, 2.0, 2.125, HEARD),
    Transcript(1, 0, "", "Bye", False, 5.0, 5.5, 5.625, HEARD),
    Transcript(1, 1, "Bye.", "", True, 5.0, 5.5, 5.625, HEARD),
)
INSTANTS = (1.5, 2.5, 3.0, 6.0, 6.5)


def write(path: Path, *events: Event, instants: tuple[float, ...] = INSTANTS) -> Path:
    lines = (to_line(Record(at, event)) + "\n" for at, event in zip(instants, events, strict=False))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def bare(transcript: Transcript) -> Transcript:
    return replace(transcript, captured_at=None, recognition=None)


def test_at_once_they_come_in_order_without_times_of_the_old_run(tmp_path: Path) -> None:
    clock = ManualClock(100.0)
    path = write(tmp_path / "events.jsonl", *STREAM)
    for place in (path, tmp_path):
        source = RecordedTranscripts(place, clock, real_time=False)
        assert (list(source), source.duration) == ([bare(item) for item in STREAM], 5.5)
    assert clock.now() == 100.0


@pytest.mark.parametrize("loading", [0.0, 9.0])
def test_in_real_time_they_come_at_the_recorded_pace_on_our_clock(tmp_path: Path, loading: float) -> None:
    """The time in which the models of the recorded run were loaded is not waited for."""
    late = [replace(item, captured_at=(item.captured_at or 0.0) + loading) for item in STREAM]
    instants = (loading, *(at + loading for at in INSTANTS))
    clock = ManualClock(100.0)
    path = write(tmp_path / "s.jsonl", RunStarted({}), *late, instants=instants)
    seen = [(clock.now(), item.captured_at) for item in RecordedTranscripts(path, clock, real_time=True)]
    assert [at for at, _ in seen] == pytest.approx([100.0 + at for at in INSTANTS])
    assert [captured for _, captured in seen] == [100.0 + (item.captured_at or 0) for item in STREAM]


def test_a_name_that_was_corrected_is_right_from_the_beginning(tmp_path: Path) -> None:
    """One that was heard so, and one that was repaired to another term."""
    heard = Transcript(0, 0, "Grate river flows", "by Ann", False, 0.0, 1.0)
    final = Transcript(0, 1, "Grate river flows by Ann.", "", True, 0.0, 1.2, repairs=(Repair(21, 24, "an"),))
    names = (NameCorrected("Grate", "Grate", "Great"), NameCorrected("an", "Ann", "Anne"))
    path = write(tmp_path / "s.jsonl", heard, final, *names, instants=(1.0, 1.1, 1.2, 1.3))
    transcripts = list(RecordedTranscripts(path, ManualClock(), real_time=False))
    assert [one.text for one in transcripts] == ["Great river flows by Ann", "Great river flows by Anne."]
    assert [[one.heard for one in each.repairs] for each in transcripts] == [["Grate"], ["Grate", "an"]]


def test_a_recording_faster_than_speech_is_paced_by_its_source_time(tmp_path: Path) -> None:
    clock = ManualClock()
    path = write(tmp_path / "s.jsonl", *map(bare, STREAM), instants=(0.1, 0.2, 0.3, 0.4, 0.5))
    for item in RecordedTranscripts(path, clock, real_time=True):
        assert (clock.now(), item.captured_at) == (pytest.approx(item.end), None)


def test_a_slow_consumer_gets_what_has_come_meanwhile_without_waiting(tmp_path: Path) -> None:
    clock = ManualClock()
    instants = []
    for _ in RecordedTranscripts(write(tmp_path / "s.jsonl", *STREAM), clock, real_time=True):
        instants.append(clock.now())
        clock.advance(2.0)
    assert instants == pytest.approx([1.5, 3.5, 5.5, 7.5, 9.5])


def test_minimal_lines_and_lines_of_other_events_are_read(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    minimal = {"segment_id": 4, "revision": 0, "committed": "", "partial": "Grüße", "final": False}
    final = minimal | {"revision": 1, "committed": "Grüße.", "partial": "", "final": True}
    notice = to_line(Record(0.0, Notice("info", "x")))
    path.write_text("\n".join([json.dumps(minimal), notice, json.dumps(final)]), encoding="utf-8")
    clock = ManualClock()
    source = RecordedTranscripts(path, clock, real_time=True)
    assert list(source) == [
        Transcript(4, 0, "", "Grüße", False, 0.0, 0.0),
        Transcript(4, 1, "Grüße.", "", True, 0.0, 0.0),
    ]
    assert clock.now() == 0.0
    assert source.duration is None


@pytest.mark.parametrize("kept", range(1, len(STREAM) + 1))
def test_every_segment_ends_with_one_final_wherever_the_recording_was_cut(tmp_path: Path, kept: int) -> None:
    path = write(tmp_path / "s.jsonl", *STREAM[:kept])
    path.write_bytes(path.read_bytes() + b'{"event": "transc')
    notices: list[Notice] = []
    given = list(RecordedTranscripts(path, ManualClock(), False, notices.append))
    assert given[:kept] == [bare(item) for item in STREAM[:kept]]
    assert given[-1].final and given[-1].partial == ""
    if not STREAM[kept - 1].final:
        last = STREAM[kept - 1]
        assert (given[-1].text, given[-1].revision) == (last.text, last.revision + 1)
    for segment_id in {item.segment_id for item in given}:
        versions = [item for item in given if item.segment_id == segment_id]
        assert [item.final for item in versions] == [False] * (len(versions) - 1) + [True]
        assert all(earlier.revision < later.revision for earlier, later in pairwise(versions))
    assert len(notices) == 1


def test_of_a_segment_nothing_comes_after_its_final(tmp_path: Path) -> None:
    """As a file has it twice where a recorded final was published once more."""
    path = write(tmp_path / "s.jsonl", *STREAM[:3], STREAM[2], *STREAM[3:], instants=(*INSTANTS[:3], *INSTANTS[2:]))
    for real_time in (False, True):
        given = RecordedTranscripts(path, ManualClock(), real_time)
        assert [(one.segment_id, one.revision) for one in given] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def test_closing_finishes_what_was_given(tmp_path: Path) -> None:
    source = RecordedTranscripts(write(tmp_path / "s.jsonl", *STREAM), ManualClock(), real_time=True)
    given = []
    for item in source:
        given.append(item)
        source.close()
        source.close()
    assert [(item.text, item.final) for item in given] == [("Good", False), ("Good", True)]


def test_a_pause_moves_everything_after_it(tmp_path: Path) -> None:
    source: RecordedTranscripts

    class Listener(ManualClock):
        """Pauses at 1.5 s and goes on about two seconds later."""

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.now() >= 3.5:
                source.pause(False)

    clock = Listener()
    source = RecordedTranscripts(write(tmp_path / "s.jsonl", *STREAM), clock, real_time=True)
    instants, captured = [], []
    for index, item in enumerate(source):
        instants.append(clock.now())
        captured.append(item.captured_at)
        source.pause(index == 0)
    moved = instants[1] - 2.5
    assert moved == pytest.approx(2.0, abs=0.1)
    assert instants == pytest.approx([1.5, *(at + moved for at in INSTANTS[1:])])
    assert captured[1:] == pytest.approx([(item.captured_at or 0) + moved for item in STREAM[1:]])


def test_nothing_that_is_late_already_comes_in_a_pause(tmp_path: Path) -> None:
    source: RecordedTranscripts

    class Listener(ManualClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            source.pause(self.now() < 20.0)

    clock = Listener()
    source = RecordedTranscripts(write(tmp_path / "s.jsonl", *STREAM), clock, real_time=True)
    transcripts = iter(source)
    next(transcripts)
    clock.advance(5.0)
    source.pause(True)
    next(transcripts)
    assert clock.now() >= 20.0


def test_bad_recordings_are_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="There is no session at"):
        RecordedTranscripts(tmp_path / "none.jsonl", ManualClock(), False)
    path = tmp_path / "s.jsonl"
    path.write_text('{"segment_id": 0, "revision": 0}\n')
    with pytest.raises(SessionError, match=r"line 1 of .* is not a transcript \(.*`committed`\)"):
        RecordedTranscripts(path, ManualClock(), False)
    path.write_text(to_line(Record(0.0, Notice("info", "x"))) + "\n")
    with pytest.raises(SessionError, match="holds no transcript"):
        RecordedTranscripts(path, ManualClock(), False)
