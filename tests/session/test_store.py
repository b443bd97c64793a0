"""Sessions are found by name, summarised, and removed only where that is meant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest

from livetrans.base.errors import SessionError
from livetrans.base.text import display_width
from livetrans.cli import run
from livetrans.config import MeetingSettings, PromptSettings, RecogniserSettings, Settings, Term
from livetrans.events import Event, Origin, Record, RunEnded, RunStarted, SettingChanged, SourceProgress
from livetrans.session import store
from livetrans.session.codec import to_line
from livetrans.session.recorder import SessionRecorder

from .examples import caption, transcript, write_session


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's sessions."""
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path / "data")
    return tmp_path / "data" / "sessions"


def record(sessions: Path, name: str, *events: Event) -> Path:
    folder = sessions / name
    folder.mkdir(parents=True)
    write_session(folder / "events.jsonl", *events)
    return folder


STARTED = RunStarted({})
ENDED = RunEnded(83.0, "end of source")


def test_a_name_is_a_path_then_a_session_then_its_unique_beginning(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record(sessions, "2026-03-01T10-00-00", STARTED, caption(0, " "), ENDED)
    with pytest.raises(SessionError, match="no session with captions"):
        store.find_session("last")
    old = record(sessions, "2026-01-01T10-00-00", caption(0, "Guten Tag."))
    new = record(sessions, "2026-01-01T10-00-00-2", caption(0, "Danke."))
    assert store.find_session("2026-01-01T10-00-00") == old
    assert store.find_session("2026-01-01T10-00-00-") == new
    assert store.find_session("last") == new, "the newest has no caption"
    with pytest.raises(SessionError, match="2 sessions begin with 2026-01"):
        store.find_session("2026-01")
    with pytest.raises(SessionError, match="There is no session nosuch"):
        store.find_session("nosuch")
    with pytest.raises(SessionError, match="There is no session"):
        store.find_session("../data/sessions/absent")
    for name in ("", "..", str(tmp_path)):
        with pytest.raises(SessionError, match="There is no session"):
            store.find_session(name)
    (tmp_path / "last").mkdir()
    assert store.find_session("last") == new, "a folder that is no session"
    (tmp_path / "last" / "events.jsonl").touch()
    assert store.find_session("last") == Path("last")


HEARD = [SourceProgress(float(second), None, False) for second in range(200)]


def test_the_summary_of_a_recorder_is_that_of_its_events(sessions: Path) -> None:
    recorder = SessionRecorder(sessions / "talk")
    for at, event in enumerate([began(1e9, "talk.mp4"), caption(0, "a"), *HEARD, caption(1, "b"), caption(1, "c")]):
        recorder.write(Record(float(at), event))
    recorder.close()
    file = recorder.folder / store.SUMMARY_FILE
    written = file.read_bytes()
    summary = store.summarise(recorder.folder)
    assert (summary.captions, summary.heard, summary.state, summary.of) == (2, 199.0, "unfinished", "talk.mp4")
    assert (summary.source_language, summary.target_languages, summary.began_at) == ("en", ("de",), 1e9)
    file.unlink()
    assert store.summarise(recorder.folder) == summary
    assert file.read_bytes() == written, "it is written again"


def test_the_length_of_a_part_is_that_of_the_part(sessions: Path) -> None:
    part = replace(began(1e9, "talk.mp4"), origin=Origin("talk.mp4", start=600.0, end=720.0))
    folder = record(sessions, "part", part, SourceProgress(660.0, 720.0, False))
    assert store.summarise(folder).heard == 60.0
    ended = record(sessions, "ended", part, caption(0, "a"), RunEnded(690.0, "stopped"))
    assert store.summarise(ended).heard == 90.0


def test_captions_that_were_taken_back_do_not_count_and_those_that_lack_leave_a_session_unfinished(
    sessions: Path,
) -> None:
    events = [STARTED, caption(0, "Guten", final=False), transcript(1, 0, "Thanks.", final=True)]
    stopped = store.summarise(record(sessions, "stopped", *events, ENDED))
    assert (stopped.captions, stopped.state) == (1, "unfinished")
    resumed = store.summarise(record(sessions, "resumed", *events, ENDED, caption(0, ""), caption(1, "Danke."), ENDED))
    assert (resumed.captions, resumed.state) == (1, "whole")


def test_a_run_that_failed_or_was_to_finish_another_and_was_stopped_leaves_the_session_unfinished(
    sessions: Path,
) -> None:
    stopped = RunEnded(83.0, "stopped")
    ends = {"whole": [stopped], "unfinished": [stopped, STARTED, stopped]}
    for state, events in ends.items():
        assert store.summarise(record(sessions, state, STARTED, caption(0, "a"), *events)).state == state
    finished = store.summarise(record(sessions, "finished", STARTED, caption(0, "a"), *ends["unfinished"], stopped))
    assert finished.state == "whole", "there was nothing left"
    assert store.summarise(record(sessions, "failed", STARTED, RunEnded(8.0, "failed"))).state == "unfinished"


def test_lists_read_summaries_and_no_events(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(sessions, "talk", STARTED, caption(0, "a"), ENDED)
    assert [summary.captions for _, summary in store.summaries()] == [1]
    monkeypatch.setattr(store, "read_records", pytest.fail)
    assert [summary.captions for _, summary in store.summaries()] == [1]
    assert store.find_session("last") == sessions / "talk"


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"{", b'{"began_at": NaN, "events_bytes": 0}'])
def test_a_damaged_summary_is_made_again_and_so_is_an_old_one(sessions: Path, damage: bytes) -> None:
    folder = record(sessions, "talk", STARTED, caption(0, "a"), ENDED)
    summary = store.summarise(folder)
    (folder / store.SUMMARY_FILE).write_bytes(damage)
    assert store.summarise(folder) == summary
    with (folder / "events.jsonl").open("a") as file:
        file.write(to_line(Record(9.0, caption(1, "b"))) + "\n")
    assert store.summarise(folder).captions == 2


@pytest.mark.parametrize("heard", ["Infinity", "1e400", "NaN", "-5"])
def test_a_damaged_number_of_a_session_leaves_the_list_of_the_others(
    heard: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = record(sessions, "bad", STARTED, caption(0, "a"), SourceProgress(7.25, None, False))
    record(sessions, "good", STARTED, caption(0, "a"), ENDED)
    file = damaged / "events.jsonl"
    file.write_text(file.read_text().replace('"heard": 7.25', f'"heard": {heard}'))
    for _ in range(2):
        assert run(["sessions"]) == 0
        shown = capsys.readouterr().out
        assert "good" in shown and "bad" in shown and " -1:" not in shown
    assert run(["sessions", "rm", "bad", "--yes"]) == 0
    assert not damaged.exists()


def test_a_killed_session_with_a_large_glossary_is_unfinished(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms = tuple(Term(f"term number {number}", f"Begriff Nummer {number}") for number in range(10_000))
    recogniser = RecogniserSettings(hot_words=tuple(term.text for term in terms))
    settings = Settings(recogniser=recogniser, prompt=PromptSettings(glossary=terms))
    record(sessions, "killed", RunStarted({}, settings, Origin("demo.flac")), caption(0, "Guten Tag."))
    assert run(["sessions"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert "en → de" in row and row.endswith("(unfinished) demo.flac")
    assert run(["export", "killed"]) == 0
    assert "was cut off" in (said := capsys.readouterr().err) and "livetrans resume killed" in said


def test_a_session_that_is_being_recorded_is_not_removed(sessions: Path) -> None:
    recorder = SessionRecorder(sessions / "2026-01-01T10-00-00")
    recorder.write(Record(0.0, STARTED))
    assert store.summarise(recorder.folder).state == "recording"
    with pytest.raises(SessionError, match="being recorded"):
        store.remove(recorder.folder)
    assert store.older_than(-1) == []
    recorder.close()
    assert store.summarise(recorder.folder).state == "unfinished"
    (recorder.folder / "events.jsonl").write_bytes(b"")
    assert store.summarise(recorder.folder).state == "loading", "killed while models loaded: nothing to finish"
    store.remove(recorder.folder)
    assert not recorder.folder.exists()


def test_the_list_and_removing_by_the_command(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = record(sessions, "2026-01-01T10-00-00", STARTED, caption(0, "Guten Tag."), ENDED)
    empty = record(sessions, "2026-02-01T10-00-00", STARTED, ENDED)
    crashed = record(sessions, "2026-03-01T10-00-00", STARTED, caption(0, "Danke."))
    assert run(["sessions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines[:4])
    assert "en → de" in lines[1] and "1:23" in lines[1] and "whole" not in lines[1]
    assert lines[2].endswith("(empty)") and lines[3].endswith("(unfinished)")
    assert "livetrans resume NAME" in lines[-1]
    assert run(["sessions", "list", "--json"]) == 0
    assert capsys.readouterr().out.count('"state": ') == 3
    assert run(["sessions", "rm", "--empty", "--yes"]) == 0
    assert not empty.exists() and old.exists() and crashed.exists()
    weeks = time.time() - 21 * 86_400
    os.utime(old / "events.jsonl", (weeks, weeks))
    assert run(["sessions", "rm", "--older-than", "20", "--yes"]) == 0
    assert not old.exists() and crashed.exists()
    assert run(["sessions", "rm", "2026-03", "--yes"]) == 1
    assert "give a whole name" in capsys.readouterr().err and crashed.exists()
    assert run(["sessions", "rm", crashed.name, "--yes"]) == 0
    assert not crashed.exists()
    assert run(["sessions", "rm"]) == 2


def test_at_a_terminal_one_session_is_removed_only_after_a_yes(
    sessions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = record(sessions, "2026-01-01T10-00-00", STARTED, caption(0, "Guten Tag."), ENDED)
    terminal = StringIO("n\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert run(["sessions", "rm", "last"]) == 130
    assert "Remove 2026-01-01T10-00-00 (1:23, 1 caption)?" in capsys.readouterr().err
    assert kept.exists()
    assert run(["sessions", "rm", "last", "--yes"]) == 0
    assert not kept.exists()


@pytest.mark.parametrize("chosen", [["last"], ["2026-01-01T10-00-00"], ["--empty"]])
def test_without_a_terminal_nothing_is_removed_without_yes(
    chosen: list[str], sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(sessions, "2026-01-01T10-00-00", STARTED, caption(0, "Guten Tag."), ENDED)
    record(sessions, "2026-02-01T10-00-00", STARTED, ENDED)
    assert run(["sessions", "rm", *chosen]) == 2
    assert "--yes" in capsys.readouterr().err
    assert len(list(sessions.iterdir())) == 2


def test_a_path_elsewhere_is_never_removed(sessions: Path, tmp_path: Path) -> None:
    elsewhere = record(tmp_path, "mine", STARTED, caption(0, "Guten Tag."))
    assert run(["sessions", "rm", str(elsewhere)]) == 1
    assert run(["sessions", "rm", "../../mine"]) == 1
    assert elsewhere.exists()


def test_a_session_that_another_run_removes_meanwhile_is_passed_over(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = record(sessions, "kept", caption(0, "Guten Tag."))
    monkeypatch.setattr(store, "session_names", lambda: ["kept", "gone"])
    assert store.older_than(1) == []
    assert store.find_session("last") == kept


def began(at: float, of: str | None = None) -> RunStarted:
    return RunStarted({}, origin=Origin(of) if of else None, began_at=at)


def test_last_is_the_newest_session_though_the_clock_was_set_back(sessions: Path) -> None:
    older = record(sessions, "2026-10-25T02-50-00", began(1000.0), caption(0, "Sommer."))
    newer = record(sessions, "2026-10-25T02-20-00", began(2800.0), caption(0, "Winter."))
    assert [folder for folder, _ in store.summaries()] == [older, newer]
    assert store.find_session("last") == newer
    before = record(sessions, "2026-10-26T00-00-00", RunStarted({}), caption(0, "Ohne Zeit."))
    os.utime(before / "events.jsonl", (1500, 1500))
    assert [folder for folder, _ in store.summaries()] == [older, before, newer], (
        "one that does not say is placed by its file's time"
    )


def test_the_list_says_what_each_session_is_of_as_far_as_the_terminal_is_wide(
    sessions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "Ein langer Vortrag über Wörter 日本語.mp4"
    record(sessions, "2026-01-01T10-00-00", began(1.0, name), caption(0, "a"), ENDED)
    record(sessions, "2026-01-02T10-00-00", began(2.0, name), caption(0, "a"))
    monkeypatch.delenv("COLUMNS", raising=False)
    assert run(["sessions"]) == 0
    whole, cut_off = capsys.readouterr().out.splitlines()[1:3]
    assert whole.endswith(f"  {name}") and cut_off.endswith(f"  (unfinished) {name}")
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["sessions"]) == 0
    for line in capsys.readouterr().out.splitlines()[1:3]:
        assert display_width(line) <= 80 and line.endswith("…")
    assert run(["sessions", "--json"]) == 0
    assert [json.loads(line)["of"] for line in capsys.readouterr().out.splitlines()] == [name, name]


def test_the_list_has_all_languages_that_were_spoken_and_shown(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = RunStarted({}, Settings(sources=("en", "fr", "es"), targets=("de", "it")))
    changes = [SettingChanged("from", "fr"), SettingChanged("mask-k", 5), SettingChanged("from", "en")]
    record(sessions, "2026-01-01T10-00-00", several, caption(0, "a"), *changes, ENDED)
    record(sessions, "2026-01-02T10-00-00", STARTED, caption(0, "a"), ENDED)
    meeting = Settings(meeting=MeetingSettings(spoken="de", target="en"))
    record(sessions, "週次ミーティング", RunStarted({}, meeting), caption(0, "a"), ENDED)
    assert run(["sessions"]) == 0
    shown = capsys.readouterr().out.splitlines()[:4]
    assert all(
        text in line for text, line in zip(("en,fr → de,it ", "en → de ", "en → de, de → en "), shown[1:], strict=True)
    )
    assert len({display_width(line.partition(" → ")[0]) for line in shown[2:]}) == 1, "one column below the other"
    assert run(["sessions", "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["source_language"], first["target_languages"]) == ("en", ["de", "it"])


def test_the_list_is_shown_by_a_terminal_that_is_not_utf_8(sessions: Path) -> None:
    record(sessions, "週次", STARTED, caption(0, "a"), ENDED)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "XDG_DATA_HOME": str(sessions.parent.parent)}
    (sessions.parent.parent / "livetrans").symlink_to(sessions.parent)
    command = [sys.executable, "-m", "livetrans", "sessions"]
    listed = subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode("latin-1")
    assert "en ? de" in listed.splitlines()[1]


def test_a_file_is_the_same_until_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(b"1")
    first = store.origin_of(file)
    assert (first.name, first.path, first.size_bytes) == ("a.wav", str(file), 1)
    assert store.origin_of(file) == first
    file.write_bytes(b"12")
    assert store.origin_of(file) != first
    assert store.origin_of(tmp_path / "absent").size_bytes is None


def test_a_session_is_shown_without_being_translated_again(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(sessions, "monday", began(1e9, "talk.mp4"), caption(0, "Guten Tag.", source="Good day.", start=63.0), ENDED)
    assert run(["sessions", "show", "monday", "--text", "both"]) == 0
    began_at = f"{datetime.fromtimestamp(1e9):%Y-%m-%d %H:%M}"
    assert capsys.readouterr().out == (
        f"monday: talk.mp4, {began_at}, 1:23, 1 caption, en → de\n{sessions}/monday\n\n"
        "   1:03  Good day.\n         Guten Tag.\n"
    )


def test_a_session_gets_another_name(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = record(sessions, "2026-01-01T10-00-00", STARTED, caption(0, "Guten Tag."), ENDED)
    other = record(sessions, "taken", STARTED, ENDED)
    assert run(["sessions", "rename", "last", "monday standup"]) == 0
    assert store.find_session("monday") == sessions / "monday standup" and not old.exists()
    assert store.shell_name(sessions / "monday standup") == "'monday standup'"
    for name in ("taken", "last", "", "..", "a/b", "-x", ".x", "a\nb", "\x1b[2Jx", "\u202ex", "x" * 101, "\udcff"):
        assert run(["sessions", "rename", "--", "monday standup", name]) == 2, name
        assert capsys.readouterr().err.count("\n") <= 2
    assert sorted(path.name for path in sessions.iterdir()) == ["monday standup", "taken"]
    assert other.is_dir()
