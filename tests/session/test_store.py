"""Sessions are found by name, described from their beginning and end, and removed only where that is meant."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime
from io import BufferedReader, FileIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livetrans.cli import run
from livetrans.config import MeetingSettings, Settings
from livetrans.errors import SessionError
from livetrans.events import Event, Origin, Record, RunEnded, RunStarted, SettingChanged, SourceProgress
from livetrans.session import store
from livetrans.session.recorder import SessionRecorder
from livetrans.text import display_width

from .examples import caption, write_session

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


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


def test_a_summary_is_the_same_however_long_the_file_is(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = [SourceProgress(float(second), None, False) for second in range(200)]
    folder = record(sessions, "2026-01-01T10-00-00", STARTED, caption(0, "a"), caption(1, "b"), *progress)
    summaries = []
    for block in (7, 1000, 1_000_000):
        monkeypatch.setattr(store, "_BLOCK", block)
        summaries.append(store.summarise(folder))
    first = summaries[0]
    assert all(summary == first for summary in summaries)
    assert (first.captions, first.seconds, first.state) == (2, 199.0, "unfinished")
    assert (first.source_language, first.target_languages) == ("en", ("de",))


def test_a_summary_reads_the_ends_of_a_long_file_only(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = [caption(number, "Wort " * 200) for number in range(4000)]
    folder = record(sessions, "2026-01-01T10-00-00", STARTED, *long, ENDED)
    read = 0

    class Counting(FileIO):
        def readinto(self, buffer: WriteableBuffer) -> int | None:
            nonlocal read
            count = super().readinto(buffer)
            read += count or 0
            return count

    monkeypatch.setattr(Path, "open", lambda self, mode: BufferedReader(Counting(self, mode)))
    assert store.summarise(folder).captions == 4000
    size = os.path.getsize(folder / "events.jsonl")
    assert size > 4_000_000 and read < size / 8


def test_a_line_cut_by_a_crash_does_not_hide_what_is_before_it(sessions: Path) -> None:
    folder = record(sessions, "2026-01-01T10-00-00", STARTED, caption(0, "Guten Tag."))
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'{"event": "caption", "segment_id": 7, "te')
    summary = store.summarise(folder)
    assert (summary.captions, summary.state) == (1, "unfinished")


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
    assert store.summarise(recorder.folder).state == "whole", "killed while models loaded: nothing to finish"
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
    assert run(["sessions", "rm", "2026-03", "--yes"]) == 0
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


@pytest.mark.parametrize("chosen", [["last"], ["2026-01-01"], ["2026-01", "2026-02"], ["--empty"]])
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
    monkeypatch.setattr(store, "session_folders", lambda: [kept, sessions / "gone"])
    assert store.older_than(1) == []
    assert store.find_session("last") == kept


def began(at: float, of: str | None = None) -> RunStarted:
    return RunStarted({}, origin=Origin(of) if of else None, began_at=at)


def test_last_is_the_newest_session_though_the_clock_was_set_back(sessions: Path) -> None:
    older = record(sessions, "2026-10-25T02-50-00", began(1000.0), caption(0, "Sommer."))
    newer = record(sessions, "2026-10-25T02-20-00", began(2800.0), caption(0, "Winter."))
    assert store.session_folders() == [older, newer]
    assert store.find_session("last") == newer
    before = record(sessions, "2026-10-26T00-00-00", RunStarted({}), caption(0, "Ohne Zeit."))
    os.utime(before / "events.jsonl", (1500, 1500))
    assert store.session_folders() == [older, before, newer], "one that does not say is placed by its file's time"


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
    changes = [SettingChanged("source", "fr"), SettingChanged("mask_k", 5), SettingChanged("source", "en")]
    record(sessions, "2026-01-01T10-00-00", several, caption(0, "a"), *changes, ENDED)
    record(sessions, "2026-01-02T10-00-00", STARTED, caption(0, "a"), ENDED)
    meeting = Settings(meeting=MeetingSettings(spoken="de", target="en"))
    record(sessions, "2026-01-03T10-00-00", RunStarted({}, meeting), caption(0, "a"), ENDED)
    assert run(["sessions"]) == 0
    shown = capsys.readouterr().out.splitlines()[:4]
    assert all(
        text in line for text, line in zip(("en,fr → de,it ", "en → de ", "en → de, de → en "), shown[1:], strict=True)
    )
    assert len({line.rstrip().rindex("  ") for line in shown[1:]}) == 1, "one column below the other"
    assert run(["sessions", "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["source_language"], first["target_languages"]) == ("en", ["de", "it"])


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
        assert run(["sessions", "rename", "--", "monday", name]) == 2, name
        assert capsys.readouterr().err.count("\n") <= 2
    assert sorted(path.name for path in sessions.iterdir()) == ["monday standup", "taken"]
    assert other.is_dir()
