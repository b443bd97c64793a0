"""Hostile text reaches no sink raw: plain lines, the screen, JSON lines, the session, subtitles, text."""

from __future__ import annotations

import io
import json
import re
from contextlib import chdir
from itertools import product
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livetrans.base.text import UNSEEN
from livetrans.config import OutputSettings, Settings
from livetrans.events import Caption, Event, Notice, Record, Transcript
from livetrans.session.export import Format, LastCaptions, Which, export, read_captions
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import JsonLinesOutput, PlainOutput, Sink
from livetrans.tui.board import Source
from livetrans.tui.captions import caption_content, source_content
from tests.hostile_text import ANYTHING, HOSTILE, assert_harmless

TEXT = HOSTILE | ANYTHING


OWN_ISOLATE = re.compile("[\u2066\u2067]([^\u2066-\u2069]*)\u2069$")
"""What livetrans puts around a line that has another direction than its first letter."""


def assert_lines_are_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert_harmless(OWN_ISOLATE.sub(r"\1", line))


def events(source: str, text: str) -> list[Event]:
    growing = Transcript(0, 0, source[: len(source) // 2], source[len(source) // 2 :], False, 0.0, 1.0)
    final = Transcript(0, 1, source, "", True, 0.0, 2.0)
    captions = [Caption(growing, text[: len(text) // 2]), Caption(final, text)]
    return [Notice("warning", text), growing, captions[0], final, captions[1]]


def write(sink: Sink, events: list[Event]) -> None:
    for at, event in enumerate(events):
        sink.write(Record(float(at), event))
    sink.close()


@given(TEXT, TEXT, st.booleans())
def test_plain_lines(source: str, text: str, partials: bool) -> None:
    output, notices = io.StringIO(), io.StringIO()
    shown = Settings(output=OutputSettings(partials=partials, show_source=True))
    write(PlainOutput(output, shown, notices=notices), events(source, text))
    for stream in (output, notices):
        assert_lines_are_harmless(stream.getvalue())


@given(TEXT, TEXT)
def test_json_lines_are_harmless_and_say_what_was_given(
    tmp_path_factory: pytest.TempPathFactory, source: str, text: str
) -> None:
    given = events(source, text)
    output = io.StringIO()
    write(JsonLinesOutput(output), given)
    path = tmp_path_factory.mktemp("session")
    write(SessionRecorder(path), given)
    recorded = (path / "events.jsonl").read_bytes().decode()
    assert recorded == output.getvalue()
    lines = recorded.split("\n")[:-1]
    assert not any(UNSEEN.search(line) for line in lines)
    shown = [json.loads(line)["text"] for line in lines if '"caption"' in line[:20]]
    # JSON cannot tell two lone surrogates from the character that they would be together.
    assert shown == [
        part.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        for part in (text[: len(text) // 2], text)
    ]


@settings(max_examples=25)
@given(TEXT, TEXT)
def test_exports(tmp_path_factory: pytest.TempPathFactory, source: str, text: str) -> None:
    path = tmp_path_factory.mktemp("session")
    write(SessionRecorder(path), events(f"said {source}", f"gesagt {text}"))
    for format, which in product(get_args(Format), get_args(Which)):
        for piece in export(read_captions(path), format, which):
            for text in [piece] if format != "jsonl" else map(str, json.loads(piece).values()):
                assert_lines_are_harmless(text)
            assert format not in ("srt", "vtt") or piece.count("-->") <= 1


@given(TEXT, TEXT)
def test_the_screen(source: str, text: str) -> None:
    final = events(source, text)[-1]
    assert isinstance(final, Caption)
    assert_harmless(caption_content(final, "underline").plain)
    assert_harmless(source_content(Source(source, text, ((0, len(source)),))).plain)


@given(TEXT, TEXT)
def test_the_saved_text(tmp_path_factory: pytest.TempPathFactory, source: str, text: str) -> None:
    finals = LastCaptions(Settings())
    write(finals, events(f"said {source}", f"gesagt {text}"))
    with chdir(tmp_path_factory.mktemp("saved")):
        [path] = finals.save()
        saved = path.read_bytes().decode()
    assert_lines_are_harmless(saved)
    assert saved.count("\n") == 3
