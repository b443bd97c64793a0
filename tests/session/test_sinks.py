"""Plain text and JSON lines: append-only, harmless, flushed, and quiet about a closed pipe."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import SessionError, UsageError
from livetrans.config import OutputSettings, Settings
from livetrans.events import BackPressure, Gap, Notice, Record
from livetrans.session.codec import from_dict
from livetrans.session.export import LastCaptions
from livetrans.session.sinks import CaptionFile, JsonLinesOutput, OutputClosed, PlainOutput, open_records

from .examples import caption

PARTIALS = Settings(output=OutputSettings(partials=True))
SHOWN = st.lists(st.text("ab ", max_size=6), min_size=1, max_size=8)


def plain(*events: object, **options: bool) -> str:
    stream, notices = io.StringIO(), io.StringIO()
    output = PlainOutput(stream, Settings(output=OutputSettings(**options)), notices=notices)  # type: ignore[arg-type]
    for event in events:
        output.write(Record(0.0, event))  # type: ignore[arg-type]
    output.close()
    return stream.getvalue()


def test_growth_appends_only_what_is_new() -> None:
    stream = io.StringIO()
    output = PlainOutput(stream, PARTIALS)
    steps = [("Guten", False), ("Guten Tag", False), ("Guten", False), ("Guten Tag", False), ("Guten Tag.", True)]
    printed = []
    for text, final in steps:
        before = len(stream.getvalue())
        output.write(Record(0.0, caption(0, text, final=final)))
        printed.append(stream.getvalue()[before:])
    assert printed == ["Guten", " Tag", "", "", ".\n"]


def test_a_gap_is_a_line_of_its_own() -> None:
    gap = Gap(2.0, 14.0, "sleep")
    events = [caption(0, "Guten", final=False), gap, caption(0, "Guten Tag."), gap]
    assert plain(*events, partials=True) == "Guten\n[12 s without sound]\nGuten Tag.\n[12 s without sound]\n"


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        (["Guten Tag", "Gute Nacht", "Gute Nacht."], "Guten Tag\nGute Nacht.\n"),
        (["Guten Tag auch", "Guten Tag"], "Guten Tag auch\nGuten Tag\n"),
        (["Guten", ""], "Guten\n"),
    ],
)
def test_a_caption_that_takes_words_back_is_printed_anew_on_the_next_line(texts: list[str], printed: str) -> None:
    events = [caption(0, text, final=number == len(texts)) for number, text in enumerate(texts, start=1)]
    assert plain(*events, partials=True) == printed


@given(st.lists(SHOWN, max_size=5))
def test_each_final_is_one_line_and_with_partials_its_segments_last(segments: list[list[str]]) -> None:
    events = [
        caption(segment_id, text, final=index == len(texts) - 1)
        for segment_id, texts in enumerate(segments)
        for index, text in enumerate(texts)
    ]
    finals = [texts[-1].strip() for texts in segments if texts[-1].strip()]
    assert plain(*events) == "".join(f"{text}\n" for text in finals)
    lines = plain(*events, partials=True).split("\n")
    assert lines.pop() == ""
    rest = iter(lines)
    assert all(any(line == final for line in rest) for final in finals)
    assert all(line for line in lines)


def test_the_source_stands_where_the_screen_has_it() -> None:
    final = caption(0, "Guten Tag.", source="Good day.")
    assert plain(final, show_source=True) == "Guten Tag.\n> Good day.\n"
    assert plain(final, show_source=True, source_line="above") == "> Good day.\nGuten Tag.\n"
    assert plain(final, show_source=True, partials=True) == "Guten Tag.\n> Good day.\n"


def test_a_segment_without_a_final_is_printed() -> None:
    assert plain(caption(0, "Guten", final=False)) == "Guten\n"
    assert plain(caption(0, "Guten", final=False), caption(1, "Tag.", final=False)) == "Guten\nTag.\n"
    assert plain(caption(0, "Guten", final=False), partials=True) == "Guten\n"


def test_each_step_of_back_pressure_is_said_once_on_the_other_stream() -> None:
    stream, notices = io.StringIO(), io.StringIO()
    output = PlainOutput(stream, notices=notices)
    for step, behind in (("finals first", 7.4), ("finals first", 8.6), ("sound waits", 22.2), ("normal", 0.8)):
        output.write(Record(0.0, BackPressure(step, behind)))
    output.close()
    assert notices.getvalue().splitlines() == [
        "7 s behind: finals first",
        "22 s behind: sound waits",
        "1 s behind: normal",
    ]
    assert stream.getvalue() == ""


def test_warnings_go_to_the_other_stream() -> None:
    stream, notices = io.StringIO(), io.StringIO()
    output = PlainOutput(stream, PARTIALS, notices=notices)
    output.write(Record(0.0, caption(0, "Guten", final=False)))
    for level in ("info", "warning", "error"):
        output.write(Record(0.0, Notice(level, f"{level}\x1b[2J.")))
    output.close()
    assert stream.getvalue() == "Guten\n"
    assert notices.getvalue() == "warning.\n"


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


class Full(io.StringIO):
    def flush(self) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", [PlainOutput, JsonLinesOutput])
def test_a_closed_pipe_is_a_signal_and_closing_is_silent(kind: type[PlainOutput] | type[JsonLinesOutput]) -> None:
    output = kind(Gone())
    with pytest.raises(OutputClosed):
        output.write(Record(0.0, caption(0, "Guten Tag.")))
    output.close()


@pytest.mark.parametrize("kind", [PlainOutput, JsonLinesOutput])
def test_a_full_disk_is_reported_in_one_sentence(kind: type[PlainOutput] | type[JsonLinesOutput]) -> None:
    with pytest.raises(SessionError, match="No space left on device"):
        kind(Full()).write(Record(0.0, caption(0, "Guten Tag.")))


def test_a_narrow_encoding_loses_letters_in_text_and_nothing_in_json() -> None:
    record = Record(0.0, caption(0, "Grüße 日本"))
    for encoding, expected in (("ascii", b"Gr??e ??\n"), ("latin-1", "Grüße ??\n".encode("latin-1"))):
        stream = io.TextIOWrapper(raw := io.BytesIO(), encoding=encoding, errors="replace")
        PlainOutput(stream).write(record)
        assert raw.getvalue() == expected
    stream = io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii")
    JsonLinesOutput(stream).write(record)
    assert from_dict(json.loads(raw.getvalue())) == record


def test_saving_again_at_once_makes_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finals = LastCaptions(Settings())
    finals.write(Record(0.0, caption(0, "Guten Tag.", final=True)))
    saved = {path for _ in range(3) for path in finals.save()}
    assert len(saved) == 3
    assert set(tmp_path.iterdir()) == saved | {path.with_suffix(".srt") for path in saved}


def test_saved_languages_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finals, spoken = LastCaptions(Settings(targets=("de", "fr"))), caption(0, "Guten Tag.", final=True)
    for event in (replace(spoken, language="de"), replace(spoken, text="Bonjour.", language="fr"), Gap(1, 9, "sleep")):
        finals.write(Record(0.0, event))
    for path, text, other in zip(finals.save(), ("Guten Tag.", "Bonjour."), ("Bonjour.", "Guten Tag."), strict=True):
        for file in (path, path.with_suffix(".srt")):
            saved = file.read_text()
            assert text in saved and "without sound" in saved and other not in saved
    assert [path.suffixes[-2:] for path in finals.save()] == [[".de", ".txt"], [".fr", ".txt"]]


def test_the_caption_file_holds_the_newest_caption_of_each_language_and_nothing_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "now.txt"
    sink = CaptionFile(path)
    assert path.read_text() == ""
    for event, held in (
        (replace(caption(0, "Guten", final=False), language="de"), "Guten\n"),
        (replace(caption(0, "Bonjour"), language="fr"), "Guten\nBonjour\n"),
        (replace(caption(0, "Guten\x1b[2J\nTag."), language="de"), "Guten Tag.\nBonjour\n"),
        (replace(caption(1, ""), language="de"), "Bonjour\n"),
    ):
        sink.write(Record(0.0, event))
        assert path.read_text(encoding="utf-8") == held
    sink.close()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("now.txt", "")]


def test_a_program_never_reads_half_a_caption(tmp_path: Path) -> None:
    """Whatever is open of the file is a whole caption, also while it is replaced."""
    path = tmp_path / "now.txt"
    sink = CaptionFile(path)
    sink.write(Record(0.0, caption(0, "one", final=False)))
    with path.open() as held:
        sink.write(Record(0.0, caption(0, "two, which is longer")))
        assert held.read() == "one\n"
    assert path.read_text() == "two, which is longer\n"


def test_the_caption_file_overwrites_nothing_and_says_where_it_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("words\n")
    for place, kind in ((path, UsageError), (tmp_path, UsageError), (tmp_path / "none" / "now.txt", SessionError)):
        with pytest.raises(kind) as error:
            open_records(OutputSettings(record_session=False, caption_file=place))
        assert "--caption-file" in str(error.value)
    assert path.read_text() == "words\n"


def test_where_one_record_cannot_be_opened_nothing_is_left_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    there, lines = tmp_path / "there.jsonl", tmp_path / "lines.jsonl"
    there.touch()
    with pytest.raises(UsageError, match="exists already"):
        open_records(OutputSettings(jsonl=str(there)))
    assert list(tmp_path.iterdir()) == [there]
    with pytest.raises(UsageError, match="holds other files"):
        open_records(OutputSettings(jsonl=str(lines), session=tmp_path))
    assert list(tmp_path.iterdir()) == [there]
