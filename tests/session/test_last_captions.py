"""The last captions of a session come in the order of speech, however its lines lie, and take little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.clock import ManualClock
from livetrans.events import Caption, Event, Gap, RunStarted, Transcript
from livetrans.session.codec import read_records
from livetrans.session.export import export, last_captions
from livetrans.session.recorded import RecordedTranscripts
from livetrans.session.subtitles import heard_shares

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


@given(EVENTS)
def test_each_segment_is_there_once_as_it_was_last_shown_in_the_order_of_speech(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event]
) -> None:
    path = write_session(tmp_path_factory.mktemp("session") / "s.jsonl", *events)
    shown = [record.event for record in read_records(path)]
    captions = {event.segment_id: event for event in shown if isinstance(event, Caption)}
    gaps = [event.caption() for event in shown if isinstance(event, Gap)]
    last = [spoken.caption for spoken in last_captions(path)]
    assert sorted(map(repr, last)) == sorted(map(repr, [*captions.values(), *gaps]))
    assert [caption.start for caption in last] == sorted(caption.start for caption in last)


@pytest.mark.parametrize("finished", [True, False])
def test_the_words_have_the_times_of_the_updates_that_heard_them(tmp_path: Path, finished: bool) -> None:
    texts = ["One", "One two", "One two three", "One two three four"]
    updates = [
        caption(0, "x", source=text, revision=number, end=number + 1.0, final=finished and text == texts[-1])
        for number, text in enumerate(texts)
    ]
    [spoken] = last_captions(write_session(tmp_path / "s.jsonl", *updates))
    assert spoken.heard == heard_shares(spoken.caption, [(text, end) for end, text in enumerate(texts[:-1], start=1)])
    assert len(spoken.heard) == 3


def long_session(path: Path, segments: int) -> Path:
    def events() -> Iterator[Event]:
        yield RunStarted({})
        for segment in range(segments):
            for final in (False, True):
                update = Transcript(segment, int(final), "Good morning", "", final, 3.0 * segment, 3.0 * segment + 2.0)
                yield update
                yield Caption(update, "Guten Morgen und willkommen", tuple(range(20)))

    return write_session(path, *events())


@pytest.mark.parametrize(("use", "bytes_a_segment"), [("srt", 2500), ("jsonl", 2500), ("replay", 300)])
def test_a_days_session_takes_little_memory(tmp_path: Path, use: str, bytes_a_segment: int) -> None:
    def most(path: Path) -> int:
        """Bytes of Python's objects, when most of them were there."""
        tracemalloc.start()
        if use == "replay":
            pieces = sum(1 for _ in RecordedTranscripts(path, ManualClock(), real_time=False))
        else:
            pieces = sum(1 for _ in export(path, use))  # type: ignore[arg-type]
        assert pieces >= 50
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    short, long = (long_session(tmp_path / f"{count}.jsonl", count) for count in (50, 300))
    most(short)  # What is allocated once, for any session.
    assert most(long) < most(short) + bytes_a_segment * 250
