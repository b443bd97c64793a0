"""`livetrans replay` from end to end: real sound, real models, the lines a user gets."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from livetrans.base.clock import SystemClock
from livetrans.base.errors import ModelError
from livetrans.cli import replay, run
from livetrans.cli.running import OpenSource
from livetrans.events import Caption, Record, Transcript
from livetrans.session.export import LastCaptions
from livetrans.session.store import find_session, summaries
from tests.run.faults import ScaledClock
from tests.session.examples import without_times

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"
SHORT = [str(DEMO), "--end", "9"]
"""The demo's first sentences, with the pause between them."""


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _finals(lines: list[dict[str, Any]], text: str = "text") -> list[str]:
    return [line[text] for line in lines if line["event"] == "caption" and line["final"]]


@dataclass(frozen=True)
class Played:
    """A run at full speed over `SHORT`: its session with the sound, its events and its lines."""

    session: Path
    events: list[dict[str, Any]]
    output: str


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("played")
    session, output = folder / "kept", StringIO()
    with redirect_stdout(output):
        assert run(["replay", *SHORT, "--speed", "max", "--session", str(session), "--keep-audio"]) == 0
    events = _lines((session / "events.jsonl").read_text())
    return Played(session, events, output.getvalue())


@pytest.fixture(autouse=True)
def fresh_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder for sessions."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_offline_takes_fewer_passes_to_the_same_words(played: Played, capfd: pytest.CaptureFixture[str]) -> None:
    def passes(lines: list[dict[str, Any]]) -> int:
        return max(line["passes"] for line in lines if line["event"] == "source_progress")

    def offline(*options: str) -> list[dict[str, Any]]:
        assert run(["replay", *SHORT, "--offline", *options, "--no-session", "--jsonl=-"]) == 0
        return _lines(capfd.readouterr().out)

    lines = offline()
    assert passes(lines) < passes(played.events) / 2
    assert _finals(lines, "source") == _finals(played.events, "source")
    assert passes(offline("--step", "0.8")) == passes(played.events)


def test_several_languages_are_those_of_single_runs_and_have_a_file_each(
    played: Played, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The spoken language among them, which is shown as it was heard."""
    place = tmp_path / "talk.txt"
    options = ["--speed", "max", "--to", "de,en", "-o", str(place), "--session", str(tmp_path / "two")]
    assert run(["replay", *SHORT, *options]) == 0
    assert capfd.readouterr().out == played.output
    german, english = ((tmp_path / f"talk.{code}.txt").read_text().splitlines() for code in ("de", "en"))
    assert german == _finals(played.events) and english == _finals(played.events, "source")
    assert not place.exists()
    assert run(["replay", *SHORT, *options[:-2], "--no-session"]) == 2
    refused = run(["replay", *SHORT, *options[:-2], "--session", str(tmp_path / "again")])
    assert refused == 2 and "talk.de.txt exists already" in capfd.readouterr().err


def test_a_file_that_was_cut_off_keeps_what_was_heard_and_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.flac"
    cut.write_bytes(DEMO.read_bytes()[:80_000])
    assert run(["replay", str(cut), "--speed", "max"]) == 1
    printed, errors = capfd.readouterr()
    assert printed and "could be read" in errors and "kept in" in errors
    assert errors.startswith("The bundled recogniser")
    assert run(["export", "--format", "txt"]) == 0
    assert capfd.readouterr().out.split() == printed.split()


def test_full_speed_repeats_itself_and_real_time_gives_the_same_finals(
    played: Played, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real time passes twice as fast as on the machine."""
    monkeypatch.setattr(replay, "SystemClock", lambda: ScaledClock(SystemClock(), 2.0))
    runs = []
    for speed in ("max", "real"):
        assert run(["replay", *SHORT, "--speed", speed, "--no-session", "--jsonl=-"]) == 0
        runs.append(_lines(capfd.readouterr().out))
    again, live = runs
    assert list(map(without_times, again)) == list(map(without_times, played.events))
    assert _finals(live) == _finals(again)
    captured = [line["captured_at"] for line in live if line["event"] == "caption"]
    assert captured
    assert all(instant is not None for instant in captured)


def test_the_other_engine_hears_the_same_words_though_its_process_crashes(
    played: Played, cpp_recogniser_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from livetrans.speech.whisper_cpp import _Process

    ask, requests = _Process.ask, count()

    def crashing(process: _Process, *request: Any) -> dict[str, Any]:
        if next(requests) == 1:
            os.kill(process.id, signal.SIGSEGV)
        return ask(process, *request)

    monkeypatch.setattr(_Process, "ask", crashing)
    named = ["--asr", str(cpp_recogniser_path)]
    assert run(["replay", *SHORT, *named, "--offline", "--no-session", "--jsonl=-"]) == 0
    lines = _lines(capfd.readouterr().out)
    assert _finals(lines, "source") == _finals(played.events, "source") != []
    assert [line for line in lines if line["event"] == "notice" and "loaded again" in line["text"]]
    [started] = [line for line in lines if line["event"] == "run_started"]
    assert started["signature"]["pywhispercpp"] and "faster-whisper" not in started["signature"]
    assert run(["replay", *SHORT, *named, "--engine", "faster-whisper", "--no-session"]) == 2
    assert "is a model of whisper.cpp; drop --engine" in capfd.readouterr().err


def test_the_kept_transcripts_and_the_kept_sound_give_the_captions_again(
    played: Played, capfd: pytest.CaptureFixture[str]
) -> None:
    for again in (played.session, played.session / "audio.wav"):
        assert run(["replay", str(again), "--speed", "max", "--no-session"]) == 0
        assert capfd.readouterr().out == played.output
    assert run(["replay", *SHORT, "--session", str(played.session)]) == 2
    assert "already" in capfd.readouterr().err


def test_a_session_that_is_heard_again_to_no_new_words_is_not_called_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session, middle_of_a_word = tmp_path / "killed", "2.5"
    part = ["--end", middle_of_a_word, "--session", str(session), "--keep-audio"]
    assert run(["replay", str(DEMO), "--speed", "max", *part]) == 0
    events = session / "events.jsonl"
    lines = [line for line in events.read_text().splitlines(True) if '"run_ended"' not in line]
    lines.remove([line for line in lines if '"source_progress"' in line][-1])  # Which says that all is in finals.
    events.write_text("".join(lines))
    capfd.readouterr()
    assert run(["resume", str(session)]) == 0
    printed = capfd.readouterr()
    going_on = "The last words of demo.flac were not recognised; continuing with it."
    assert (printed.out, printed.err.splitlines()[:2]) == ("", [going_on, f"1 caption is kept in {session}"])


@pytest.mark.long
def test_every_recording_runs_to_its_end(speech_name: str, shared: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(shared / "speech" / speech_name), "--speed", "max", "--no-session", "--jsonl=-"]) == 0
    captured = capfd.readouterr()
    lines = _lines(captured.out)
    # The recogniser in the tree knows synthetic voices: it may make no word of a person.
    has_words = any(line["event"] == "transcript" for line in lines)
    has_speech = any(line["event"] == "source_progress" and line["speaking"] for line in lines)
    without_words = "Speech was heard, but no words were recognised.\n" if has_speech else "No speech was heard.\n"
    said = captured.err.splitlines(keepends=True)
    assert [line for line in said if not line.startswith("Figures: ")] == ([] if has_words else [without_words])
    assert lines[-1]["event"] == "run_ended"
    assert lines[-1]["reason"] == "end of source"
    ids = [line["segment_id"] for line in lines if line["event"] == "caption" and line["final"]]
    assert ids == list(range(len(ids)))
    assert not ids or speech_name != "none_empty.wav"


def stream(path: Path, text: str) -> Path:
    """A recorded stream of one sentence."""
    line = {"segment_id": 0, "revision": 0, "committed": text, "partial": "", "final": True, "start": 0.0, "end": 2.0}
    path.write_text(json.dumps(line))
    return path


def test_what_a_run_translated_before_it_failed_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(source: OpenSource, captions: LastCaptions, **_: object) -> None:
        transcript = Transcript(0, 0, "A dog runs.", "", True, 0.0, 1.0)
        captions.write(Record(0.0, Caption(transcript, "Ein Hund rennt.", language="de")))
        raise ModelError("The translator failed.")

    monkeypatch.setattr(replay, "run_at_once", fail)
    output = tmp_path / "one.srt"
    assert run(["replay", str(stream(tmp_path / "one.jsonl", "A dog runs.")), "--offline", "-o", str(output)]) == 1
    assert "Ein Hund rennt." in output.read_text()
    said = capfd.readouterr().err.splitlines()
    assert said == [
        f"Written: {output}",
        "That is what was translated before the failure.",
        "livetrans: The translator failed.",
    ]


@pytest.mark.long
def test_what_is_to_be_said_of_the_models_is_said_once_for_several_recordings(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = [str(shutil.copy(DEMO, tmp_path / f"{name}.flac")) for name in ("one", "two")]
    assert run(["replay", *files, "--offline", "--no-session", "--end", "1"]) == 0
    assert capfd.readouterr().err.count("synthetic voices only") == 1


def test_several_recordings_have_a_session_and_a_file_each(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = [stream(tmp_path / f"{name}.jsonl", text) for name, text in (("one", "A dog runs."), ("two", "It rains."))]
    missing = tmp_path / "missing.wav"
    assert run(["replay", *map(str, [files[0], missing, files[1]]), "--offline", "-o", f"{tmp_path / 'out'}/"]) == 1
    printed = capfd.readouterr()
    assert printed.err.count("There is no file") == 1
    assert [summary.of for _, summary in summaries()] == ["one.jsonl", "two.jsonl"]
    assert "For subtitles" not in printed.err
    written = [(tmp_path / "out" / name).read_text() for name in ("one.srt", "two.srt")]
    assert [text.splitlines()[2] for text in written] == printed.out.splitlines()
    assert not (tmp_path / "out" / "missing.srt").exists()
    named = ["-o", str(tmp_path / "{name}.txt"), "--name", "dog"]
    assert run(["replay", str(files[0]), "--speed", "max", *named]) == 0
    assert (tmp_path / "one.txt").read_text() == printed.out.splitlines(True)[0]
    assert "For subtitles" in capfd.readouterr().err
    assert find_session("dog").name == "dog"


@pytest.mark.parametrize(
    "options",
    [
        ["one.jsonl", "-o", "there.srt"],
        ["one.jsonl", "-o", "one"],
        ["one.jsonl", "-o", "absent/one.srt"],
        ["one.jsonl", "-o", "absent/folder/"],
        ["one.jsonl", "-o", "x.srt", "--compare", "ssbd"],
        ["one.jsonl", "--name", "x", "--compare", "ssbd"],
        ["one.jsonl", "--name", "../x"],
        ["one.jsonl", "--name", "x", "--session", "y"],
        ["one.jsonl", "--start", "1:00"],
        ["talk.wav", "--start", "1:00", "--end", "0:30"],
        ["talk.wav", "--start", "-1"],
        ["one.jsonl", "two.jsonl", "-o", "x.srt"],
        ["one.jsonl", "other/one.jsonl", "-o", "out/"],
        ["one.jsonl", "one.jsonl", "-o", "{name}.srt"],
        ["one.jsonl", "--jsonl", "y.jsonl", "--caption-file", "y.jsonl"],
        ["one.jsonl", "--jsonl", "y.jsonl", "-o", "y.jsonl"],
        ["one.jsonl", "--caption-file", "y.srt", "-o", "./y.srt"],
        ["one.jsonl", "--caption-file", "y.de.srt", "-o", "y.srt", "--to", "de,fr"],
        ["one.jsonl", "-o", "one.jsonl", "--force"],
        ["two.jsonl", "one.jsonl", "-o", "{name}.jsonl", "--force"],
        ["one.jsonl", "--glossary", "there.srt", "-o", "there.srt", "--force"],
        ["one.jsonl", "two.jsonl", "--name", "x"],
        ["one.jsonl", "two.jsonl", "--speed", "real"],
        ["one.jsonl", "--offline", "--speed", "real"],
    ],
)
def test_what_cannot_be_written_or_played_is_refused_before_the_run(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        stream(Path(f"{name}.jsonl"), "A dog runs.")
    recorded = Path("one.jsonl").read_text()
    Path("there.srt").write_text("mine")
    speed = [] if "--speed" in options else ["--offline"]
    assert run(["replay", *options, *speed]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "there.srt", "two.jsonl"]
    assert Path("there.srt").read_text() == "mine" and Path("one.jsonl").read_text() == recorded


def test_lines_say_which_of_several_languages_they_have(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded = stream(tmp_path / "stream.jsonl", "A dog runs.")
    assert run(["replay", str(recorded), "--speed", "max", "--no-session", "--from", "en,fr"]) == 0
    assert "hears en only (first of --from en,fr)" in capfd.readouterr().err


def test_a_context_that_the_model_does_not_have_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded = stream(tmp_path / "stream.jsonl", "A dog runs.")
    for tokens, is_cut in ((4096, True), (512, False)):
        assert run(["replay", str(recorded), "--speed", "max", "--no-session", "--context", str(tokens)]) == 0
        assert (f"--context {tokens} is cut" in capfd.readouterr().err) == is_cut


def test_subtitles_need_no_session(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded = str(stream(tmp_path / "one.jsonl", "A dog runs."))
    for name, options in (("kept", ["--name", "kept"]), ("not", ["--no-session"])):
        assert run(["replay", recorded, "--speed", "max", "-o", str(tmp_path / f"{name}.srt"), *options]) == 0
    exported = tmp_path / "exported.srt"
    assert run(["export", "kept", "-o", str(exported)]) == 0
    assert (tmp_path / "kept.srt").read_text() == (tmp_path / "not.srt").read_text() == exported.read_text()


def test_a_key_of_the_file_stops_no_comparison(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded, config = str(stream(tmp_path / "one.jsonl", "A dog runs.")), tmp_path / "config.toml"
    config.write_text("keep-audio = true\n")
    assert run(["replay", recorded, "--compare", "ssbd", "--config", str(config)]) == 0
    config.write_text("no-session = true\n")
    capfd.readouterr()
    assert run(["replay", recorded, "--name", "x", "--config", str(config)]) == 2
    assert "record one with --record-session" in capfd.readouterr().err
    assert run(["replay", recorded, "--name", "x", "--record-session", "--config", str(config)]) == 0


@pytest.mark.parametrize(
    "option",
    ["--asr x", "--engine whisper.cpp", "--vad 3", "--pause 2", "--step 2", "--encode-window full", "--keep-audio"],
)
def test_options_of_sound_are_refused_for_transcripts(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(DEMO.with_suffix(".jsonl")), *option.split()]) == 2
    assert (
        f"{option if '-e' in option else option.split()[0]} is for sound, and this is a recorded transcript"
        in capfd.readouterr().err
    )


def test_a_run_of_the_benchmark_is_called_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.jsonl").write_text('{"line": "header", "format": 1}\n')
    for command in (["replay"], ["export"], ["sessions", "show"]):
        assert run([*command, str(tmp_path / "run.jsonl")]) == 1
        assert "is a run of the benchmark, not a session: `livetrans bench table" in capfd.readouterr().err
