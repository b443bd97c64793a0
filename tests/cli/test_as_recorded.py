"""`livetrans replay --as-recorded`: captions of a session, shown again without a model."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

from livetrans.cli import replay, run
from livetrans.config import RECORDED_METHOD, Settings
from livetrans.events import Caption, Record, RunStarted
from livetrans.metrics.monitor import Monitor
from livetrans.run.effect import Way, without_effect
from livetrans.serve.lines import LINES_KEPT, SharedLines
from livetrans.session.codec import from_dict, read_records
from livetrans.session.store import summaries

RECORDINGS = Path(__file__).parents[2] / "recordings"
CONVERSATION = RECORDINGS / "conversation" / "en-de.jsonl"


@pytest.fixture(autouse=True)
def without_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No session, and no model that could be chosen."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def refuse(*_: object) -> None:
        raise AssertionError("a model is chosen")

    monkeypatch.setattr(replay, "choose_for", refuse)


def events_of(capfd: pytest.CaptureFixture[str], file: Path) -> list[Record]:
    assert run(["replay", str(file), "--as-recorded", "--speed", "max", "--jsonl=-"]) == 0
    printed = capfd.readouterr()
    assert printed.err.startswith(f"{file.name}: captions as they were recorded; nothing is translated.\n")
    return [from_dict(json.loads(line)) for line in printed.out.splitlines()]


def captions_in(records: list[Record]) -> list[tuple[object, ...]]:
    events = [record.event for record in records if isinstance(record.event, Caption)]
    return [(one.segment_id, one.revision, one.language, one.text, one.untranslated, one.track) for one in events]


@pytest.mark.parametrize("file", [CONVERSATION, RECORDINGS / "demo.jsonl"], ids=["conversation", "one way"])
def test_the_captions_are_those_of_the_session_and_no_figure_is(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    records = events_of(capfd, file)
    assert captions_in(records) == captions_in(list(read_records(file))) != []
    assert {record.event.captured_at for record in records if isinstance(record.event, Caption)} == {None}
    monitor = Monitor(memory=lambda: None)
    for record in records:
        monitor.write(record)
    shown, nothing = monitor.snapshot(), Monitor(memory=lambda: None).snapshot()
    for name in ("ne_screen", "ne_raw", "lag_median", "delay", "changes_per_minute", "speedup_text", "segments"):
        assert getattr(shown, name) == getattr(nothing, name)
    assert not list(summaries())


def test_readers_of_both_languages_have_every_turn_with_its_name(capfd: pytest.CaptureFixture[str]) -> None:
    lines = SharedLines()
    for record in events_of(capfd, CONVERSATION):
        lines.write(record)
    frames = lines.latest(LINES_KEPT)[2].decode().split("\n\n")
    shown = [json.loads(frame.partition("data: ")[2]) for frame in frames if "event: caption" in frame]
    read = {code: [(one["track"], one["text"]) for one in shown if one["language"] == code] for code in ("en", "de")}
    for turns in read.values():
        assert [speaker for speaker, _ in groupby(turns, itemgetter(0))] == ["Ana", "Ben"] * 5
    assert read["en"][3] == ("Ben", "What are you looking for?")
    assert read["de"][3] == ("Ben", "Was suchst du?")


def test_subtitles_are_written_in_each_language(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--as-recorded", "--offline", "-o", str(tmp_path / "both.txt")]
    assert run(["replay", str(CONVERSATION), *options]) == 0
    printed = capfd.readouterr().out
    english, german = ((tmp_path / f"both.{code}.txt").read_text(encoding="utf-8") for code in ("en", "de"))
    assert "Ben: About two hours.\n" in english and "Ben: Ungefähr zwei Stunden.\n" in german
    assert "Ben: About two hours.\n" in printed and "Ungefähr" not in printed


def test_a_segment_that_was_cut_off_ends_with_its_last_caption(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = CONVERSATION.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"transcript"' in line and '"final": false' in line)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[: last + 3]), encoding="utf-8")
    english = [record.event for record in events_of(capfd, cut) if isinstance(record.event, Caption)]
    *_, before, _, end, _ = english
    assert end.final and not before.final and end.text == before.text != ""


def test_a_name_that_was_corrected_is_in_captions_and_sources(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corrected = {"event": "name_corrected", "at": 50.0, "heard": "Berlin", "shown": "Berlin", "written": "Bernau"}
    file = tmp_path / "named.jsonl"
    file.write_text(CONVERSATION.read_text(encoding="utf-8") + json.dumps(corrected) + "\n", encoding="utf-8")
    shown = [record.event for record in events_of(capfd, file) if isinstance(record.event, Caption)]
    finals = [one for one in shown if one.final]
    assert not [one for one in finals if "Berlin" in one.text + one.source]
    assert len([one for one in finals if "Bernau" in one.text and "Bernau" in one.source]) == 4


def test_a_conversation_that_names_no_languages_has_its_captions_all_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in CONVERSATION.read_text(encoding="utf-8").splitlines()]
    lines[1]["settings"]["between"] |= {"languages": [], "names": []}
    file = tmp_path / "strange.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert captions_in(events_of(capfd, file)) == captions_in(list(read_records(file))) != []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([CONVERSATION, "--compare", "rt,ssbd"], "--compare has no effect on captions as they were recorded"),
        ([CONVERSATION, "--calm", "still"], "--calm still has no effect on captions as they were recorded"),
        ([CONVERSATION, "--between", "en,de"], "--between has no effect on captions as they were recorded"),
        ([CONVERSATION, "--session", "kept"], "--session has no effect on captions as they were recorded"),
        ([RECORDINGS / "demo.flac"], "--as-recorded is for sessions"),
        ([RECORDINGS / "talk.flac", RECORDINGS / "demo.jsonl"], "--as-recorded is for sessions"),
    ],
)
def test_what_has_no_effect_is_refused(
    arguments: list[str | Path], reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", *map(str, arguments), "--as-recorded"]) == 2
    assert reason in capfd.readouterr().err


def test_a_stream_without_captions_and_resuming_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stream = tmp_path / "stream.jsonl"
    stream.write_text('{"segment_id": 0, "revision": 0, "committed": "Hello.", "partial": "", "final": true}')
    assert run(["replay", str(stream), "--as-recorded"]) == 1
    assert "holds no captions: leave out --as-recorded" in capfd.readouterr().err
    assert run(["resume", str(CONVERSATION)]) == 1
    assert "is not a session's folder" in capfd.readouterr().err
    kept = tmp_path / "kept"
    kept.mkdir()
    assert run(["replay", str(CONVERSATION), "--as-recorded", "--speed", "max", "--jsonl", f"{kept}/events.jsonl"]) == 0
    capfd.readouterr()
    assert run(["resume", str(kept)]) == 1
    assert "--method: 'recorded' is not one of" in capfd.readouterr().err


def test_without_a_translator_the_recorded_captions_are_offered(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    assert run(["replay", str(CONVERSATION), "--speed", "max", "--no-session"]) == 1
    assert "or add --as-recorded to see the captions in en-de.jsonl" in capfd.readouterr().err


def test_keys_say_that_they_change_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    [started] = [one.event for one in events_of(capfd, CONVERSATION) if isinstance(one.event, RunStarted)]
    assert started.settings.decoding.method == RECORDED_METHOD != Settings().decoding.method
    for key in ("calm", "bias", "mask-k"):
        assert without_effect(key, Way(started.settings)) is not None
