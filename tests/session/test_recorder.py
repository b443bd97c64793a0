"""The session folder: nothing lost in a crash, nothing overwritten, faults in one sentence."""

from __future__ import annotations

import os
import shutil
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from io import FileIO
from pathlib import Path

import numpy as np
import pytest

from livetrans.base.errors import SessionError, UsageError
from livetrans.events import SAMPLE_RATE, AudioChunk, Record
from livetrans.session.codec import read_records, to_dict
from livetrans.session.recorder import SessionRecorder, make_session_folder

from .examples import EVENTS

NOW = datetime(2026, 11, 21, 0, 40, 0)
STEM = "2026-11-21T00-40-00"
RECORDS = [Record(float(index), event) for index, event in enumerate(EVENTS)]


def chunk(start_sample: int, samples: int, value: int = 1) -> AudioChunk:
    return AudioChunk(np.full(samples, value, dtype=np.int16), start_sample)


def test_every_record_is_in_the_file_before_the_next_comes(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path / "new" / "session")
    for count, record in enumerate(RECORDS, start=1):
        recorder.write(record)
        assert [to_dict(one) for one in read_records(recorder.folder)] == [to_dict(one) for one in RECORDS[:count]]
    recorder.close()
    assert sorted(os.listdir(recorder.folder)) == ["events.jsonl", "session.json"]


@pytest.mark.parametrize(("name", "reason"), [("events.jsonl", "a session already"), ("talk.flac", "other files")])
def test_a_folder_that_holds_something_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(UsageError, match=f"holds {reason}"):
        SessionRecorder(tmp_path)
    assert (os.listdir(tmp_path), (tmp_path / name).read_text()) == ([name], "x")


def test_a_folder_that_cannot_be_is_reported_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for folder in (file, file / "below"):
        with pytest.raises(SessionError, match="choose a folder with --session, or record none with --no-session"):
            SessionRecorder(folder)
    with pytest.raises(SessionError, match="choose a folder with --session"):
        make_session_folder(file, NOW)
    assert file.read_text() == "x"


def test_a_session_that_nothing_can_be_added_to_is_not_told_to_be_another(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").mkdir()
    with pytest.raises(SessionError, match=r"Nothing can be added .* check its permissions"):
        SessionRecorder(tmp_path, append=True)


def test_a_full_disk_raises_once_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = SessionRecorder(tmp_path)
    recorder.write(RECORDS[0])
    room = [7]

    class FullDisk(FileIO):
        def write(self, data: memoryview) -> int:  # type: ignore[override]
            if not room[0]:
                raise OSError(28, "No space left on device")
            written = super().write(data[: room[0]])
            room[0] -= written
            return written

    recorder._events.close()
    recorder._events = FullDisk(tmp_path / "events.jsonl", "ab")
    with pytest.raises(SessionError, match="No space left on device"):
        recorder.write(RECORDS[1])
    recorder.write(RECORDS[2])
    recorder.close()
    assert list(read_records(tmp_path, pytest.fail)) == RECORDS[:1]


def test_lost_sound_is_silence_in_the_recorded_sound(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path, keep_audio=True)
    recorder.write_audio(chunk(0, 100, 7))
    recorder.write_audio(chunk(300, 100, 9))
    recorder.close()
    with wave.open(str(tmp_path / "audio.wav")) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, SAMPLE_RATE)
        samples = np.frombuffer(sound.readframes(sound.getnframes()), dtype="<i2")
    assert samples.tolist() == [7] * 100 + [0] * 200 + [9] * 100


def test_after_a_crash_the_header_is_right_to_a_second(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path, keep_audio=True)
    for index in range(35):
        recorder.write_audio(chunk(index * 1600, 1600))
        crashed = shutil.copy(tmp_path / "audio.wav", tmp_path / "crashed.wav")
        with wave.open(str(crashed)) as sound:
            heard = (index + 1) * 1600
            assert heard - SAMPLE_RATE < sound.getnframes() <= heard
    recorder.close()


def test_sound_is_recorded_only_with_keep_audio(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path)
    recorder.write_audio(chunk(0, 100))
    recorder.close()
    assert not (tmp_path / "audio.wav").exists()


def test_runs_that_begin_in_the_same_second_all_get_a_folder_named_by_the_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        folders = set(threads.map(lambda _: make_session_folder(tmp_path / "sessions", NOW), range(24)))
    assert {path.name for path in folders} == {STEM, *(f"{STEM}-{number}" for number in range(2, 25))}
    for folder in folders:
        SessionRecorder(folder).close()


@pytest.fixture
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The permissions of a folder and of everything in it."""
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


@pytest.mark.usefixtures("loose_umask")
def test_what_was_said_is_its_owners_alone(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    folder = make_session_folder(sessions, NOW)
    SessionRecorder(folder, keep_audio=True).close()
    SessionRecorder(tmp_path / "named", keep_audio=True).close()
    private = {".": 0o700, "events.jsonl": 0o600, "audio.wav": 0o600, "session.json": 0o600}
    assert modes(folder) == modes(tmp_path / "named") == private
    assert sessions.stat().st_mode & 0o777 == 0o700
    for path in (sessions, folder, folder / "events.jsonl", folder / "audio.wav"):
        path.chmod(0o777)
    make_session_folder(sessions, NOW)
    SessionRecorder(folder, append=True).close()
    assert modes(folder) == private, "those from before become private"
    assert sessions.stat().st_mode & 0o777 == 0o700
