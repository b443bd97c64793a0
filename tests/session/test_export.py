"""Subtitles and text from a session: in the order of speech, harmless for a player, in little memory."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.clock import ManualClock
from livetrans.base.errors import SessionError
from livetrans.config import Settings
from livetrans.events import Caption, Event, Gap, RunStarted, Transcript
from livetrans.session.codec import read_records
from livetrans.session.export import Format, export, read_captions
from livetrans.session.recorded import RecordedTranscripts
from livetrans.session.subtitles import Which, spoken_shares

from .examples import EVENTS, caption, write_session

TEXTS = st.text(st.sampled_from("ab é日本。->&<>{}\\1\u0301 "), max_size=300)


def exported(path: Path, format: str, which: str = "target") -> str:
    return "".join(export(read_captions(path), format, which))  # type: ignore[arg-type]


def test_srt(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        caption(0, "Guten", final=False, start=0.5, end=1.0),
        caption(0, "Guten Tag.", revision=1, start=0.5, end=2.25),
        caption(1, "Danke.", start=3661.0, end=3661.2),
    )
    assert exported(path, "srt") == (
        "1\n00:00:00,500 --> 00:00:02,250\nGuten Tag.\n\n2\n01:01:01,000 --> 01:01:02,000\nDanke.\n\n"
    )


def test_vtt_escapes_and_both_texts(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", caption(0, "Müller & <i>Sohn</i> --> los", source="Go", end=2.0))
    assert exported(path, "vtt", "both") == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nGo\nMüller &amp; &lt;i&gt;Sohn&lt;/i&gt; --&gt; los\n\n"
    )


def test_a_language_is_exported_without_the_others_and_with_every_gap(tmp_path: Path) -> None:
    """Also where the run was cut off between the finals of a segment."""
    first, second = caption(0, "Guten Tag."), caption(1, "Danke.", start=2.0, end=3.0)
    path = write_session(
        tmp_path / "s.jsonl",
        RunStarted({}, Settings(targets=("de", "fr"))),
        replace(first, language="de"),
        replace(first, text="Bonjour.", language="fr"),
        Gap(1.0, 2.0, "sleep"),
        replace(second, language="de"),
        RunStarted({}, Settings(targets=("fr", "de"))),  # It was resumed, and French was shown last.
    )
    assert read_captions(path).languages == ("de", "fr")
    written = [
        "".join(export(read_captions(path), "txt", language=language)).split("\n") for language in ("de", "fr", None)
    ]
    gap = "[1 s without sound]"
    assert written == [["Guten Tag.", gap, "Danke.", ""], ["Bonjour.", gap, ""], ["Guten Tag.", gap, "Danke.", ""]]


@given(text=TEXTS, which=st.sampled_from(get_args(Which)))
def test_text_cannot_break_a_cue(tmp_path_factory: pytest.TempPathFactory, text: str, which: str) -> None:
    events = [caption(0, f"x {text}\n\n1\n00:00:00,000 --> 00:00:01,000\ny", source=f"s <b>{text}", end=9.0)]
    path = write_session(tmp_path_factory.mktemp("session") / "s.jsonl", *events)
    for format in ("srt", "vtt"):
        written = exported(path, format, which)
        blocks = written.removeprefix("WEBVTT\n\n").removesuffix("\n\n").split("\n\n")
        assert written.count("-->") == len(blocks)
        for block in blocks:
            assert re.match(r"(\d+\n)?\d\d:\d\d:\d\d[.,]\d{3} --> \d\d:\d\d:\d\d[.,]\d{3}\n.", block)
        assert not re.search(r"<[/A-Za-z]|\{" if format == "srt" else "<", written)


def test_text_and_json_lines(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        caption(0, "Guten Tag.", source="Good day."),
        caption(1, "Danke.", source="Thanks.", start=2.0, end=3.0),
    )
    assert exported(path, "txt") == "Guten Tag.\nDanke.\n"
    assert exported(path, "txt", "source") == "Good day.\nThanks.\n"
    assert exported(path, "txt", "both") == "Good day.\nGuten Tag.\n\nThanks.\nDanke.\n\n"
    lines = [json.loads(line) for line in exported(path, "jsonl", "both").splitlines()]
    assert lines[1] == {
        "segment_id": 1,
        "track": None,
        "language": None,
        "start": 2.0,
        "end": 3.0,
        "final": True,
        "source": "Thanks.",
        "target": "Danke.",
    }


def test_json_lines_of_what_was_not_translated_have_both_texts(tmp_path: Path) -> None:
    heard = replace(caption(0, "Guten Tag.", source="Guten Tag."), untranslated=True)
    path = write_session(tmp_path / "s.jsonl", heard)
    [line] = map(json.loads, exported(path, "jsonl", "both").splitlines())
    assert line["source"] == line["target"] == "Guten Tag."


@pytest.mark.parametrize("format", get_args(Format))
def test_an_empty_session_is_reported_before_anything_is_written(tmp_path: Path, format: Format) -> None:
    path = write_session(tmp_path / "s.jsonl", EVENTS[0], EVENTS[1], EVENTS[-1], caption(0, " "))
    with pytest.raises(SessionError, match="no caption to export"):
        export(read_captions(path), format)


@pytest.mark.parametrize("which", get_args(Which))
def test_a_gap_is_marked_with_its_length_in_every_format(tmp_path: Path, which: Which) -> None:
    gap = Gap(1.0, 13.2, "microphone")
    path = write_session(tmp_path / "s.jsonl", caption(0, "Vor"), gap, caption(1, "Nach", start=13.2, end=14.0))
    mark = "[12 s without sound]"
    first, second = ("said", "said") if which == "source" else ("Vor", "Nach")
    for format in get_args(Format):
        text = exported(path, format, which)
        assert text.index(first) < text.index(mark) < text.rindex(second)
        assert text.count(mark) == 1
    assert "00:00:01,084 --> 00:00:08,084\n[12 s without sound]\n" in exported(path, "srt", which)


def test_right_to_left_lines_keep_their_order_in_players(tmp_path: Path) -> None:
    text = "WHO قالت إن كل شيء بخير في 15:30."
    session = write_session(tmp_path / "s.jsonl", caption(0, text, source="The WHO said that all is well at 15:30."))
    for format in ("srt", "vtt", "txt"):
        assert f"\u2067{text}\u2069\n" in exported(session, format)
        assert "The WHO said that all is well at 15:30.\n" in exported(session, format, "source")
    assert f'"{text}"' in exported(session, "jsonl")


TIMES = st.sampled_from([0.0, 0.5, 1.0, 2.25, 3.0])
WORDS = st.sampled_from(["Eins", "Eins zwei", "Eins zwei drei.", "\ud800 <b>", ""])
CAPTIONS = st.builds(
    lambda segment, text, source, start, length, final: caption(
        segment, text, source=source, start=start, end=start + length, final=final
    ),
    st.integers(0, 3),
    WORDS,
    WORDS,
    TIMES,
    TIMES,
    st.booleans(),
)
GAPS = st.builds(lambda start, length: Gap(start, start + length, "sleep"), TIMES, TIMES)
CAPTIONS_AND_GAPS = st.lists(st.one_of(CAPTIONS, GAPS), max_size=20)


@given(CAPTIONS_AND_GAPS)
def test_each_segment_is_there_once_as_it_was_last_shown_in_the_order_of_speech(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event]
) -> None:
    path = write_session(tmp_path_factory.mktemp("session") / "s.jsonl", *events)
    shown = [record.event for record in read_records(path)]
    captions: dict[int, Caption] = {}
    for event in shown:
        if isinstance(event, Caption) and not (event.segment_id in captions and captions[event.segment_id].final):
            captions[event.segment_id] = event
    gaps = [gap.mark(-number) for number, gap in enumerate((one for one in shown if isinstance(one, Gap)), 1)]
    last = [spoken.caption for spoken in read_captions(path).spoken()]
    assert sorted(map(repr, last)) == sorted(map(repr, [*captions.values(), *gaps]))
    assert [caption.start for caption in last] == sorted(caption.start for caption in last)


@pytest.mark.parametrize("finished", [True, False])
def test_the_words_have_the_times_of_the_updates_that_heard_them(tmp_path: Path, finished: bool) -> None:
    texts = ["One", "One two", "One two three", "One two three four"]
    updates = [
        caption(0, "x", source=text, revision=number, end=number + 1.0, final=finished and text == texts[-1])
        for number, text in enumerate(texts)
    ]
    [spoken] = read_captions(write_session(tmp_path / "s.jsonl", *updates)).spoken()
    assert spoken.shares == spoken_shares(spoken.caption, [(text, end) for end, text in enumerate(texts[:-1], start=1)])
    assert len(spoken.shares) == 3


def long_session(path: Path, segments: int) -> Path:
    def events() -> Iterator[Event]:
        yield RunStarted({})
        for segment in range(segments):
            for final in (False, True):
                update = Transcript(segment, int(final), "Good morning", "", final, 3.0 * segment, 3.0 * segment + 2.0)
                yield update
                yield Caption(update, "Guten Morgen und willkommen", tuple(range(20)))

    return write_session(path, *events())


@pytest.mark.parametrize(("use", "bytes_a_segment"), [("srt", 2500), ("jsonl", 2500), ("replay", 1000)])
def test_a_days_session_takes_little_memory(tmp_path: Path, use: str, bytes_a_segment: int) -> None:
    def most(path: Path) -> int:
        """Bytes of Python's objects, when most of them were there."""
        tracemalloc.start()
        if use == "replay":
            pieces = sum(1 for _ in RecordedTranscripts(path, ManualClock(), real_time=False))
        else:
            pieces = sum(1 for _ in export(read_captions(path), use))  # type: ignore[arg-type]
        assert pieces >= 50
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    short, long = (long_session(tmp_path / f"{count}.jsonl", count) for count in (50, 300))
    most(short)  # What is allocated once, for any session.
    assert most(long) < most(short) + bytes_a_segment * 250
