"""The last captions of a session come in the order of speech, whatever the order of its lines, and take no memory."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.clock import ManualClock
from livetrans.errors import SessionError
from livetrans.events import Caption, Event, Gap, RunStarted, Transcript
from livetrans.session.codec import read_records
from livetrans.session.cues import Spoken, heard_shares
from livetrans.session.export import export
from livetrans.session.last import LastCaptions
from livetrans.speech.recorded import RecordedTranscripts

from .examples import caption, write_session

TIMES = st.sampled_from([0.0, 0.5, 1.0, 2.25, 3.0])
TEXTS = st.sampled_from(["Eins", "Eins zwei", "Eins zwei drei.", "\ud800 <b>", ""])
CAPTIONS = st.builds(
    lambda segment, text, source, start, length, final: caption(
        segment, text, source=source, start=start, end=start + length, final=final
    ),
    st.integers(-1, 3),
    TEXTS,
    TEXTS,
    TIMES,
    TIMES,
    st.booleans(),
)
GAPS = st.builds(lambda start, length: Gap(start, start + length, "sleep"), TIMES, TIMES)
EVENTS = st.lists(st.one_of(CAPTIONS, GAPS), max_size=20)


def in_a_list(events: list[Event]) -> list[Spoken]:
    """The same, of events that are in memory."""
    last: dict[int, Spoken] = {}
    gaps: list[Spoken] = []
    hypotheses: dict[int, list[tuple[str, float]]] = {}
    for event in events:
        if isinstance(event, Caption):
            heard = hypotheses.setdefault(event.segment_id, [])
            last[event.segment_id] = Spoken(event, heard_shares(event, heard))
            heard.append((event.source, event.end))
            if event.final:
                del hypotheses[event.segment_id]
        elif isinstance(event, Gap):
            gaps.append(Spoken(event.caption()))
    return sorted([*last.values(), *gaps], key=lambda item: (item.caption.start, item.caption.segment_id))


@given(EVENTS)
def test_they_are_those_of_a_list_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event]
) -> None:
    path = write_session(tmp_path_factory.mktemp("session") / "s.jsonl", *events)
    captions = LastCaptions(path)
    for _ in range(2):
        assert list(captions) == in_a_list([record.event for record in read_records(path)])


def long_session(path: Path, segments: int) -> Path:
    def events() -> Iterator[Event]:
        yield RunStarted({})
        for segment in range(segments):
            for final in (False, True):
                update = Transcript(segment, int(final), "Good morning", "", final, 3.0 * segment, 3.0 * segment + 2.0)
                yield update
                yield Caption(update, "Guten Morgen und willkommen", tuple(range(20)))

    return write_session(path, *events())


@pytest.mark.parametrize("use", ["srt", "jsonl", "replay"])
def test_memory_does_not_grow_with_the_session(tmp_path: Path, use: str) -> None:
    def most(path: Path) -> int:
        """Bytes of Python's objects, when most of them were there."""
        tracemalloc.start()
        if use == "replay":
            pieces = sum(1 for _ in RecordedTranscripts(path, ManualClock(), real_time=False))
        else:
            pieces = sum(1 for _ in export(path, use))  # type: ignore[arg-type]
        assert pieces >= 100
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    short, long = (long_session(tmp_path / f"{count}.jsonl", count) for count in (100, 1000))
    for path in (short, long):
        most(path)  # What is allocated once, for any session.
    assert most(long) < most(short) + 300 * 900, "bytes for each further segment"


def test_a_session_that_grows_is_replayed_up_to_where_it_was(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", 2)
    source = RecordedTranscripts(path, ManualClock(), real_time=False)
    taken = iter(source)
    first = list(islice(taken, 1))
    more = long_session(tmp_path / "more.jsonl", 4).read_text()
    path.write_text(more)
    assert [item.segment_id for item in [*first, *taken]] == [0, 0, 1, 1]


def test_a_number_that_no_segment_has_is_refused(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", caption(1 << 64, "a"))
    with pytest.raises(SessionError, match="64 bits"):
        LastCaptions(path)


def test_a_temporary_folder_that_is_full_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_session(tmp_path / "s.jsonl", caption(0, "a"))
    database = sqlite3.connect("")
    database.execute("PRAGMA max_page_count = 1")
    monkeypatch.setattr(sqlite3, "connect", lambda name: database)
    with pytest.raises(SessionError, match=r"full.*TMPDIR"):
        LastCaptions(path)
