"""However a run is ended from outside, the speech so far is finished and recorded, and the terminal is restored."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

pytestmark = pytest.mark.usefixtures("translator_path")

PATIENCE = 60.0
"""Seconds until a run that should have ended is called hung."""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Transcripts of one sentence that is still being spoken when the test ends the run, an hour before the next."""
    line = {"segment_id": 0, "revision": 0, "committed": "", "partial": "A dog runs.", "final": False, "end": 0.1}
    later = {**line, "segment_id": 1, "end": 3600.0}
    path = tmp_path / "recorded.jsonl"
    path.write_text(f"{json.dumps(line)}\n{json.dumps(later)}\n")
    return path


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "livetrans", "replay", *map(str, arguments)]


def events(session: Path) -> list[dict[str, Any]]:
    """The events that stand there by now, each line whole."""
    path = session / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def heed_hangups() -> None:
    """Whoever runs the tests under nohup must not decide what the program is told."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def is_heard(session: Path) -> bool:
    return any(event["event"] == "caption" for event in events(session))


def assert_finished(session: Path) -> None:
    kept = events(session)
    assert kept[-1]["event"] == "run_ended"
    assert kept[-1]["reason"] == "stopped"
    assert [event["final"] for event in kept if event["event"] == "caption"][-1]


class Terminal:
    """A livetrans with the screen on a terminal of its own; `variables` change its environment."""

    def __init__(self, *arguments: str | Path, hangup: signal.Handlers = signal.SIG_DFL, **variables: str) -> None:
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
            command(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **variables},
            preexec_fn=own_terminal,
        )
        os.close(theirs)

    def send(self, number: int) -> None:
        self._program.send_signal(number)

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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
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
    assert f"1 caption is kept in {session}".encode() in terminal.screen[left:]
    assert_finished(session)


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"PYTHONIOENCODING": "latin-1"}])
def test_a_terminal_that_cannot_draw_gets_lines(variables: dict[str, str], recorded: Path, tmp_path: Path) -> None:
    terminal = Terminal(recorded, "--session", tmp_path / "session", **variables)
    wait_until(lambda: terminal.read() and is_heard(tmp_path / "session"))
    terminal.send(signal.SIGINT)
    assert terminal.wait() == 0
    terminal.close()
    assert b"\x1b" not in terminal.screen
    assert terminal.screen.count(b"\n") == 3, "the caption, where it is kept, and how to get subtitles"


@pytest.mark.parametrize("plain", [False, True])
def test_a_terminal_that_closes_loses_nothing(plain: bool, recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    terminal = Terminal(recorded, "--session", session, *(["--plain"] if plain else []))
    wait_until(lambda: terminal.read() and is_heard(session))
    terminal.close()
    assert terminal.wait(reading=False) == 0
    assert_finished(session)


def test_a_screen_started_under_nohup_ends_with_its_terminal(recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    terminal = Terminal(recorded, "--session", session, hangup=signal.SIG_IGN)
    wait_until(lambda: terminal.read() and is_heard(session))
    terminal.close()
    assert terminal.wait(reading=False) == 0
    assert_finished(session)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_plain_lines_well(number: int, recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = subprocess.Popen(
        command(recorded, "--session", session), stdout=subprocess.PIPE, text=True, preexec_fn=heed_hangups
    )
    wait_until(lambda: is_heard(session))
    program.send_signal(number)
    said, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0
    assert said.count("\n") == 1
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


@pytest.mark.parametrize("speed", ["real", "max"])
def test_a_signal_while_models_load_ends_the_run_without_them(speed: str, recorded: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW_LOADING, "replay", str(recorded), "--speed", speed, "--session", str(session)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: any(event["event"] == "notice" for event in events(session)))
    program.send_signal(signal.SIGINT)
    assert program.communicate(timeout=PATIENCE) == (b"", b"")
    assert program.returncode == 0
    assert events(session)[-1]["event"] == "run_ended"
    assert events(session)[-1]["reason"] == "stopped"


@pytest.mark.usefixtures("recogniser_path")
@pytest.mark.parametrize("speed", ["real", "max"])
def test_a_pipe_that_stays_silent_does_not_hold_the_program(speed: str, tmp_path: Path) -> None:
    session = tmp_path / "session"
    program = subprocess.Popen(
        command("-", "--speed", speed, "--session", session),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: any(event["event"] == "run_started" for event in events(session)))
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    wait_until(lambda: program.poll() is not None)
    assert program.stdin and program.stdout and program.stderr
    assert (program.returncode, program.stderr.read().splitlines()) == (0, [b"No speech was heard."])
    for stream in (program.stdin, program.stdout, program.stderr):
        stream.close()


def test_captions_go_on_where_their_record_cannot(recorded: Path, tmp_path: Path) -> None:
    lines = recorded.read_text().replace('"final": false', '"final": true')
    recorded.write_text(lines)
    full = tmp_path / "full.jsonl"
    # A file size limit stands for a full disk; Python ignores its signal and sees an error.
    program = [
        sys.executable,
        "-c",
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500));"
        "from livetrans.cli import main; main(sys.argv[1:])",
        *("replay", str(recorded), "--speed", "max", "--no-session", "--jsonl", str(full)),
    ]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stdout.count("\n") == 2
    assert "captions go on" in done.stderr
    assert "incomplete" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_run_that_heard_nothing_leaves_no_session(tmp_path: Path) -> None:
    silence = tmp_path / "silence.wav"
    with wave.open(str(silence), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(64_000))
    variables = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    lines = command(silence, "--speed", "max", "--jsonl=-")
    done = subprocess.run(lines, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "No speech was heard.\n")
    assert all(line.startswith("{") for line in done.stdout.splitlines())
    assert list(tmp_path.rglob("events.jsonl")) == []


def test_old_sessions_are_removed_only_where_that_was_asked_for(recorded: Path, tmp_path: Path) -> None:
    variables = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}

    def run(*options: str) -> str:
        program = command(recorded, "--speed", "max", *options)
        return subprocess.run(program, env=variables, capture_output=True, text=True, timeout=PATIENCE).stderr

    kept = Path(run().splitlines()[0].removeprefix("2 captions are kept in "))
    os.utime(kept / "events.jsonl", (0, 0))
    run()
    assert kept.exists()
    assert f"{kept.name} was removed" in run("--keep-sessions", "30")
    assert not kept.exists() and len(list(kept.parent.iterdir())) == 2
