"""However and whenever a run is ended from outside, the speech so far is finished and recorded, and the terminal is
restored."""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
import wave
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import livetrans
from livetrans.cli import run
from tests.audio.sound_server import PATIENCE, wait_until

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Transcripts of one sentence that is still being spoken when the test ends the run, an hour before the next."""
    line = {"segment_id": 0, "revision": 0, "committed": "", "partial": "A dog runs.", "final": False, "end": 0.1}
    later = {**line, "segment_id": 1, "end": 3600.0}
    path = tmp_path / "recorded.jsonl"
    path.write_text(f"{json.dumps(line)}\n{json.dumps(later)}\n")
    return path


def events(session: Path) -> list[dict[str, Any]]:
    """The events that stand there by now, each line whole."""
    path = session / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def heed_signals() -> None:
    """Heed the signals that nohup, or a shell that starts the tests in the background, has ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_heard(session: Path) -> bool:
    return any(event["event"] == "caption" for event in events(session))


def assert_finished(session: Path) -> None:
    kept = events(session)
    assert kept[-1]["event"] == "run_ended"
    assert kept[-1]["reason"] == "stopped"
    assert [event["final"] for event in kept if event["event"] == "caption"][-1]


def started(*words: str | Path) -> subprocess.Popen[bytes]:
    """A Python program with pipes for its streams."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, *words], stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=heed_signals)


class Terminal:
    """A livetrans with the screen on a terminal of its own; `variables` change its environment."""

    def __init__(
        self, *arguments: str | Path, hangup: signal.Handlers = signal.SIG_DFL, script: str = "", **variables: str
    ) -> None:
        def own_terminal() -> None:
            import fcntl
            import termios

            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, hangup)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ignored where a shell runs the tests in the background.

        self.screen = b""
        self._ours, theirs = pty.openpty()
        self._program = subprocess.Popen(
            [sys.executable, *(("-c", script) if script else ("-m", "livetrans")), "replay", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **variables},
            preexec_fn=own_terminal,
        )
        os.close(theirs)

    def send(self, number: int) -> None:
        self._program.send_signal(number)

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def read(self) -> bool:
        """Take what was drawn, without waiting; True, so that a condition can begin with it."""
        while select.select([self._ours], [], [], 0)[0]:
            try:
                drawn = os.read(self._ours, 65536)
            except OSError:  # Linux, once the program has gone
                return True
            if not drawn:
                return True
            self.screen += drawn
        return True

    def close(self) -> None:
        os.close(self._ours)

    def wait(self, *, reading: bool = True) -> int:
        wait_until(lambda: (not reading or self.read()) and self._program.poll() is not None)
        if reading:
            self.read()
        return self._program.wait()


def one_of(first: object, *others: object) -> list[object]:
    """Cases of which the fast tests take the first."""
    return [
        first,
        *(pytest.param(*other if isinstance(other, tuple) else [other], marks=pytest.mark.long) for other in others),
    ]


@pytest.mark.parametrize("number", one_of(signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
def test_a_signal_ends_the_screen_as_q_does(number: int, recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    terminal = Terminal(recorded, "--session", session)
    wait_until(lambda: terminal.read() and is_heard(session))
    terminal.send(number)
    assert terminal.wait() == 0
    terminal.close()
    # The alternate screen was left, and not entered again; what is said then stays on the terminal.
    left = terminal.screen.rfind(b"\x1b[?1049l")
    assert left > terminal.screen.rfind(b"\x1b[?1049h") >= 0
    assert f"1 caption is kept in {session}".encode() in b" ".join(terminal.screen[left:].split())
    assert_finished(session)


@pytest.mark.parametrize("variables", one_of({"TERM": "dumb"}, {"PYTHONIOENCODING": "latin-1"}))
def test_a_terminal_that_cannot_draw_gets_lines(variables: dict[str, str], recorded: Path, tmp_path: Path) -> None:
    terminal = Terminal(recorded, "--session", tmp_path / "session", **variables)
    wait_until(lambda: terminal.read() and is_heard(tmp_path / "session"))
    terminal.send(signal.SIGINT)
    assert terminal.wait() == 0
    terminal.close()
    assert b"\x1b" not in terminal.screen
    said = " ".join(terminal.screen.decode("utf-8", "replace").split())
    assert "1 caption is kept in" in said and "For subtitles: livetrans export" in said


UNDER_NOHUP = ((), signal.SIG_IGN)


@pytest.mark.parametrize(
    ("options", "hangup"), one_of(UNDER_NOHUP, ((), signal.SIG_DFL), (("--plain",), signal.SIG_DFL))
)
def test_a_terminal_that_closes_loses_nothing(
    options: tuple[str, ...], hangup: signal.Handlers, recorded: Path, tmp_path: Path
) -> None:
    session = tmp_path / "session"
    terminal = Terminal(recorded, "--session", session, *options, hangup=hangup)
    wait_until(lambda: terminal.read() and is_heard(session))
    terminal.close()
    assert terminal.wait(reading=False) == 0
    assert_finished(session)


@pytest.mark.parametrize("number", one_of(signal.SIGHUP, signal.SIGTERM, signal.SIGINT))
def test_a_signal_ends_plain_lines_well(number: int, recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = started("-m", "livetrans", "replay", recorded, "--session", session)
    wait_until(lambda: is_heard(session))
    program.send_signal(number)
    lines, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0
    assert lines.count(b"\n") == 1
    assert_finished(session)


SLOW_LOADING = """
import sys, time
from livetrans.cli import main
from livetrans.events import Notice
from livetrans.run import opening

def load(settings, clock, publish):
    publish(Notice("info", "loading"))
    time.sleep(3600)

opening.open_model = load
main(sys.argv[1:])
"""


@pytest.mark.parametrize("speed", one_of("real", "max"))
def test_a_signal_while_models_load_ends_the_run_without_them(speed: str, recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = started("-c", SLOW_LOADING, "replay", recorded, "--speed", speed, "--session", session)
    wait_until(lambda: any(event["event"] == "notice" for event in events(session)))
    program.send_signal(signal.SIGINT)
    lines, errors = program.communicate(timeout=PATIENCE)
    assert lines == b"" and (speed == "max") == errors.startswith(b"Stopped at 0:00")
    assert program.returncode == (130 if speed == "max" else 0)
    assert events(session)[-1]["event"] == "run_ended"
    assert events(session)[-1]["reason"] == "stopped"


@pytest.mark.parametrize("speed", one_of("max", "real"))
def test_a_pipe_that_stays_silent_does_not_hold_the_program(speed: str, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = started("-m", "livetrans", "replay", "-", "--speed", speed, "--session", session)
    wait_until(lambda: any(event["event"] == "run_started" for event in events(session)))
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    wait_until(lambda: program.poll() is not None)
    _, errors = program.communicate()
    stopped = (130, [b"Stopped at 0:00."]) if speed == "max" else (0, [])
    assert (program.returncode, errors.splitlines()) == (stopped[0], [b"No speech was heard.", *stopped[1]])


def test_captions_go_on_where_their_record_cannot(recorded: Path, tmp_path: Path) -> None:
    recorded.write_text(recorded.read_text().replace('"final": false', '"final": true'))
    # A file size limit stands for a full disk; Python ignores its signal and sees an error.
    program = started(
        "-c",
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500));"
        "from livetrans.cli import main; main(sys.argv[1:])",
        *("replay", recorded, "--speed", "max", "--no-session", "--jsonl", tmp_path / "full.jsonl"),
        *("-o", tmp_path / "whole.txt"),
    )
    lines, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 1
    assert lines.count(b"\n") == 2 and (tmp_path / "whole.txt").read_bytes() == lines
    assert b"captions continue" in errors
    assert b"incomplete" in errors.splitlines()[-1]
    assert b"Traceback" not in errors


@pytest.fixture
def fresh_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def test_a_run_that_heard_nothing_leaves_no_session(fresh_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with wave.open(str(fresh_home / "silence.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(64_000))
    assert run(["replay", str(fresh_home / "silence.wav"), "--speed", "max", "--jsonl=-"]) == 0
    printed = capfd.readouterr()
    assert printed.err == "No speech was heard.\n"
    assert all(line.startswith("{") for line in printed.out.splitlines())
    assert list(fresh_home.rglob("events.jsonl")) == []


def test_old_sessions_are_removed_only_where_that_was_asked_for(
    fresh_home: Path, recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def errors(*options: str) -> str:
        assert run(["replay", str(recorded), "--speed", "max", *options]) == 0
        return capfd.readouterr().err

    kept = Path(errors().splitlines()[0].removeprefix("2 captions are kept in "))
    os.utime(kept / "events.jsonl", (0, 0))
    errors()
    assert kept.exists()
    assert run(["replay", kept.name, "--speed", "max", "--keep-sessions", "30"]) == 0, "what is replayed is kept"
    assert kept.exists()
    capfd.readouterr()
    assert f"{kept.name} was removed" in errors("--keep-sessions", "30")
    assert not kept.exists() and len(list(kept.parent.iterdir())) == 3


DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"
SIGNALS = [signal.SIGINT, signal.SIGTERM]
LATEST = 7.0
"""Seconds after which the run is well under way on any machine."""
DIED = {number: -number for number in SIGNALS}
"""Exit code of a process that its signal ended: nothing was open yet."""


def is_in_order(code: int, number: int, session: Path) -> bool:
    kept = events(session)
    assert code in (0, 128 + number, DIED[number])
    if any(event["event"] == "run_started" for event in kept):
        assert code == 0
        assert kept[-1]["event"] == "run_ended"
        assert kept[-1]["reason"] in ("stopped", "end of source")
    finals = {event["segment_id"] for event in kept if event["event"] == "transcript" and event["final"]}
    return finals == {event["segment_id"] for event in kept if event["event"] == "caption" and event["final"]}


def came_before(output: bytes) -> bool:
    """Whether the signal came before Python began with livetrans: then Python itself answers it, by a traceback."""
    assert b"Traceback" not in output or str(Path(livetrans.__file__).parent).encode() not in output
    return b"Traceback" in output


def moments(count: int) -> list[float]:
    """Most of the moments early: imports and loading are short, and full of edges."""
    chance = random.Random(count)
    return [round(LATEST * chance.random() ** 3, 3) for _ in range(count)]


MOMENTS = [pytest.param(*case, marks=pytest.mark.long) for case in product(SIGNALS, moments(10))]


@pytest.mark.parametrize(("number", "after"), [(signal.SIGINT, 0.03), *MOMENTS])
def test_a_signal_at_any_moment_ends_the_lines_in_order(number: int, after: float, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = started("-m", "livetrans", "replay", DEMO, "--plain", "--session", session)
    time.sleep(after)
    program.send_signal(number)
    _, errors = program.communicate(timeout=PATIENCE)
    assert came_before(errors) or is_in_order(program.returncode, number, session)


@pytest.mark.parametrize(("number", "after"), [(signal.SIGINT, 1.0), *MOMENTS])
def test_a_signal_at_any_moment_ends_the_screen_in_order(number: int, after: float, tmp_path: Path) -> None:
    session = tmp_path / "session"
    terminal = Terminal(DEMO, "--session", session)
    end = time.monotonic() + after
    while time.monotonic() < end:
        terminal.read()
        time.sleep(0.02)
    terminal.send(number)
    code = terminal.wait()
    terminal.close()
    # Whatever was drawn, the terminal is the user's again.
    assert terminal.screen.count(b"\x1b[?1049h") == terminal.screen.count(b"\x1b[?1049l")
    assert came_before(terminal.screen) or is_in_order(code, number, session)


def test_what_is_written_of_a_stopped_replay_is_called_a_part(recorded: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    program = started("-m", "livetrans", "replay", DEMO, recorded, "--offline", "-o", place)
    assert program.stdout and program.stdout.readline()
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=PATIENCE)
    said = errors.decode().splitlines()[-1]
    assert re.fullmatch(r"Stopped at 0:\d\d of 0:44; demo\.srt holds only that; recorded\.jsonl was not heard\.", said)
    assert program.returncode == 130
    assert [path.name for path in place.iterdir()] == ["demo.srt"]


@pytest.mark.parametrize("kind", ["lines", pytest.param("screen", marks=pytest.mark.long)])
def test_a_replay_that_is_left_writes_no_half_sentence_as_finished(kind: str, tmp_path: Path) -> None:
    """The translator hangs in the final of the second sentence, of which a growing caption was shown."""
    stream, place, session = tmp_path / "recorded.jsonl", tmp_path / "out.srt", tmp_path / "session"
    texts = [("A dog runs.", True), ("My brother lives in", False), ("It rains.", True)]
    lines = [
        {"segment_id": number, "revision": 0, "committed": "", "partial": text, "final": final, "end": 0.1 + number}
        for number, (text, final) in enumerate(texts)
    ]
    lines[2]["end"] = 3600.0
    stream.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    arguments = (stream, "-o", place, "--session", session)
    if kind == "lines":
        program = started("-c", HANGING, "replay", *arguments, "--plain")
        wait_until(lambda: sum(event["event"] == "caption" for event in events(session)) == 2)
        program.send_signal(signal.SIGINT)
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        said = program.communicate(timeout=PATIENCE)[1].decode()
        code = program.returncode
    else:
        terminal = Terminal(*arguments, script=HANGING)
        wait_until(lambda: terminal.read() and sum(event["event"] == "caption" for event in events(session)) == 2)
        terminal.type(b"q")
        wait_until(lambda: terminal.read() and b"finishing" in terminal.screen)
        terminal.type(b"q")
        code = terminal.wait()
        terminal.close()
        said = terminal.screen.decode().replace("\r\n", "\n")
    assert code == 130
    # At a terminal, lines break between words.
    assert "; not all of that is translated; out.srt holds only what is. " in f"{' '.join(said.split())} "
    assert place.read_text().splitlines()[2:] == ["Ein Hund läuft.", ""]


def test_a_replay_that_is_stopped_after_the_end_of_its_source_is_whole(tmp_path: Path) -> None:
    """Ctrl-C comes while its last sentence is translated."""
    for second, code in ((), 0), ((DEMO.with_name("talk.flac"),), 130):
        program = started(
            "-c",
            INTERRUPTED,
            "replay",
            DEMO,
            *second,
            "--end",
            "0:02.5",
            "--offline",
            "-o",
            tmp_path / "{name}.srt",
            "--force",
        )
        said = program.communicate(timeout=PATIENCE)[1].decode()
        assert program.returncode == code
        assert "Stopped" not in said and ("demo.srt holds all of it; talk.flac was not heard." in said) == bool(second)
        assert "Written: " in said and (tmp_path / "demo.srt").read_text()


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("compare", signal.SIGTERM),
        ("bench", signal.SIGHUP),
        pytest.param("compare", signal.SIGHUP, marks=pytest.mark.long),
        pytest.param("bench", signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_other_commands_end_on_any_signal_as_on_ctrl_c(
    kind: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison leaves no transcript behind, and a bench says that it continues."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    stream, run_file = DEMO.with_name("talk.jsonl"), folder / "run.jsonl"
    comparing = ["replay", DEMO, "--compare", "rt,window"]
    words = comparing if kind == "compare" else ["bench", "run", "--recorded", stream, "-o", run_file]
    program = started("-m", "livetrans", *words)
    written = DEMO.name if kind == "compare" else run_file.name
    wait_until(lambda: program.poll() is not None or any(path.stat().st_size for path in folder.rglob(written)))
    program.send_signal(number)
    _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 128 + number
    assert b"Traceback" not in errors
    if kind == "compare":
        assert not list(folder.iterdir())
    else:
        assert errors.endswith(b"stopped; the same command continues from here\n")


def test_a_second_interrupt_leaves_at_once(tmp_path: Path) -> None:
    """The first one would wait for an hour: the translator is slow."""
    session = tmp_path / "session"
    program = started("-c", SLOW, "replay", DEMO, "--plain", "--session", session)
    wait_until(lambda: any(event["event"] == "transcript" for event in events(session)))
    program.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert program.poll() is None
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 130
    assert b"Traceback" not in errors
    assert f"livetrans resume {session}".encode() in errors


@pytest.mark.long
def test_a_signal_ends_a_run_whose_terminal_takes_nothing(tmp_path: Path) -> None:
    """As over a connection that is frozen: the screen waits in its write."""
    session = tmp_path / "session"
    terminal = Terminal(DEMO.with_name("talk.jsonl"), "--session", session)
    wait_until(lambda: terminal.read() and is_heard(session))
    heard = len(events(session))
    wait_until(lambda: len(events(session)) > heard + 40)  # What was drawn meanwhile fills the terminal.
    terminal.send(signal.SIGTERM)
    assert terminal.wait(reading=False) == 1
    terminal.close()
    assert_finished(session)


@pytest.mark.long
def test_a_second_q_leaves_at_once_and_says_how_to_translate_the_rest(tmp_path: Path) -> None:
    session = tmp_path / "session"
    terminal = Terminal(DEMO, "--session", session, script=SLOW)
    wait_until(lambda: terminal.read() and any(event["event"] == "transcript" for event in events(session)))
    terminal.type(b"q")
    wait_until(lambda: terminal.read() and b"finishing" in terminal.screen)
    terminal.type(b"q")
    assert terminal.wait() == 130
    terminal.close()
    assert f"livetrans resume {session}".encode() in terminal.screen.replace(b"\r\n", b"")


SLOW = """
import sys, time
from livetrans.cli import main
from livetrans.run.translating import Translating

Translating.translate = lambda *_, **__: time.sleep(3600)
main(sys.argv[1:])
"""
HANGING = """
import sys, time
from livetrans.cli import main
from livetrans.run.translating import Translating

translate = Translating.translate
def hang(self, transcript, *rest, **more):
    if transcript.final and transcript.segment_id == 1:
        time.sleep(3600)
    translate(self, transcript, *rest, **more)
Translating.translate = hang
main(sys.argv[1:])
"""
INTERRUPTED = """
import os, signal, sys, time
from livetrans.cli import main
from livetrans.run.translating import Translating

translate = Translating.translate
def interrupt(self, *rest, **more):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
    translate(self, *rest, **more)
Translating.translate = interrupt
main(sys.argv[1:])
"""
