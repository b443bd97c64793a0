"""A session of two tracks: every line, cue and file says whose it is, and two people may speak at the same time."""

from __future__ import annotations

import io
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from livetrans.config import MeetingSettings, OutputSettings, Settings
from livetrans.events import AudioChunk, Caption, Event, Gap, Record, RunStarted
from livetrans.session.export import LastCaptions, export, read_captions
from livetrans.session.recorder import SessionRecorder
from livetrans.session.sinks import CaptionFile, PlainOutput
from livetrans.session.store import summarise

from .examples import caption, write_session

SETTINGS = Settings(meeting=MeetingSettings(names=("Ana", "them")))


def of(track: str, shown: Caption, language: str = "de") -> Caption:
    return replace(shown, transcript=replace(shown.transcript, track=track), language=language)


MEETING: tuple[Event, ...] = (
    RunStarted({}, SETTINGS),
    of("them", caption(0, "Guten", final=False, start=1.0, end=2.0)),
    of("Ana", caption(1, "Yes", final=False, start=2.0, end=2.5), "en"),
    of("them", caption(0, "Guten Morgen", revision=1, final=False, start=1.0, end=3.0)),
    of("Ana", caption(1, "Yes.", revision=1, start=2.0, end=3.0), "en"),
    Gap(3.0, 5.0, "microphone", "Ana"),
    of("them", caption(0, "Guten Morgen, alle.", revision=2, start=1.0, end=4.0)),
)


def lines(**options: bool) -> list[str]:
    stream = io.StringIO()
    output = PlainOutput(stream, replace(SETTINGS, output=OutputSettings(**options)), notices=io.StringIO())
    for event in MEETING:
        output.write(Record(0.0, event))
    output.close()
    return stream.getvalue().splitlines()


def test_each_line_begins_with_the_name_of_its_track() -> None:
    assert lines() == ["Ana: Yes.", "Ana: [2 s without sound]", "them: Guten Morgen, alle."]
    assert lines(show_source=True)[:2] == ["Ana: Yes.", "> Ana: said"]


def test_a_growing_line_holds_one_track_and_a_final_of_the_other_does_not_wait() -> None:
    shown = lines(partials=True)
    assert shown == ["them: Guten Morgen", "Ana: Yes.", "Ana: [2 s without sound]", "them: Guten Morgen, alle."]


def test_the_caption_file_has_a_line_for_each_track_also_where_both_are_in_one_language(tmp_path: Path) -> None:
    path = tmp_path / "now.txt"
    sink = CaptionFile(path)
    for event in MEETING:
        sink.write(Record(0.0, replace(event, language="de") if isinstance(event, Caption) else event))
    assert path.read_text(encoding="utf-8") == "them: Guten Morgen, alle.\nAna: Yes.\n"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("srt", ["1", "00:00:01,000 --> 00:00:04,000", "them: Guten Morgen, alle.", ""]),
        ("vtt", ["WEBVTT", "", "00:00:01.000 --> 00:00:04.000", "<v them>Guten Morgen, alle."]),
        ("txt", ["them: Guten Morgen, alle.", "Ana: Yes.", "Ana: [2 s without sound]"]),
    ],
)
def test_exports_name_the_track_in_the_order_of_speech(form: str, expected: list[str], tmp_path: Path) -> None:
    written = "".join(export(read_captions(write_session(tmp_path / "s.jsonl", *MEETING)), form)).splitlines()  # type: ignore[arg-type]
    assert written[: len(expected)] == expected
    cues = [line for line in written if "-->" in line]
    assert not cues or cues[1].startswith("00:00:02")  # While the other one still speaks.


def test_a_strangers_name_of_a_track_breaks_no_cue(tmp_path: Path) -> None:
    shown = of("x\n\n00:00:00.000 --> 00:00:01.000\n<b>", caption(0, "Guten Tag."))
    path = write_session(tmp_path / "s.jsonl", shown)
    for form in ("srt", "vtt"):
        written = "".join(export(read_captions(path), form))  # type: ignore[arg-type]
        assert (written.count("-->"), written.count("\n\n"), written.count("<b")) == (1, 1 + (form == "vtt"), 0)


def test_the_key_that_saves_writes_both_tracks_with_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finals = LastCaptions(SETTINGS)
    for event in MEETING:
        finals.write(Record(0.0, event))
    [saved] = finals.save()
    assert saved.read_text().startswith("them: said\nGuten Morgen, alle.\n\nAna: said\nYes.\n\n")
    assert "Ana: Yes." in saved.with_suffix(".srt").read_text()


def test_each_track_has_a_file_of_sound_and_each_segment_counts_once(tmp_path: Path) -> None:
    recorder = SessionRecorder(tmp_path, keep_audio=True)
    for event in MEETING:
        recorder.write(Record(0.0, event))
    recorder.write_audio(AudioChunk(np.full(100, 7, np.int16), 0, track="them"))
    recorder.write_audio(AudioChunk(np.full(50, 9, np.int16), 50, track="Ana"))
    recorder.close()
    for name, expected in {"audio.wav": [7] * 100, "microphone.wav": [0] * 50 + [9] * 50}.items():
        with wave.open(str(tmp_path / name)) as sound:
            assert np.frombuffer(sound.readframes(sound.getnframes()), dtype="<i2").tolist() == expected
    assert recorder.summary.captions == summarise(tmp_path).captions == 2
