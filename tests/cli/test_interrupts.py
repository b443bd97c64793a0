"""Ctrl-C and SIGTERM at any moment of a run, from the first import to the last caption, on the screen and as lines."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_endings import PATIENCE, Terminal, events, heed_hangups

import livetrans

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"
SIGNALS = [signal.SIGINT, signal.SIGTERM]
LATEST = 7.0
"""Seconds after which the run is well under way on any machine."""
DIED = {number: -number for number in SIGNALS}
"""Exit code of a process that its signal ended: nothing was open yet."""


def heed_interrupts() -> None:
    """A shell that starts the tests in the background has Ctrl-C ignored."""
    heed_hangups()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_in_order(code: int, number: int, session: Path) -> bool:
    kept = events(session)
    assert code in (0, 130, DIED[number])
    if any(event["event"] == "run_started" for event in kept):
        assert code == 0
        assert kept[-1]["event"] == "run_ended"
        assert kept[-1]["reason"] in ("stopped", "end of source")
    finals = {event["segment_id"] for event in kept if event["event"] == "transcript" and event["final"]}
    return finals == {event["segment_id"] for event in kept if event["event"] == "caption" and event["final"]}


def came_before(said: str) -> bool:
    """Whether the signal came before Python began with livetrans: then Python itself answers it, by a traceback."""
    assert "Traceback" not in said or str(Path(livetrans.__file__).parent) not in said
    return "Traceback" in said


def plain(number: int, after: float, session: Path) -> None:
    command = [sys.executable, "-m", "livetrans", "replay", str(DEMO), "--plain", "--session", str(session)]
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    time.sleep(after)
    program.send_signal(number)
    _, said = program.communicate(timeout=PATIENCE)
    assert came_before(said) or is_in_order(program.returncode, number, session)


def screen(number: int, after: float, session: Path) -> None:
    terminal = Terminal(DEMO, "--session", session)
    end = time.monotonic() + after
    while time.monotonic() < end:
        terminal.read()
        time.sleep(0.02)
    terminal.send(number)
    code = terminal.wait()
    terminal.close()
    said = terminal.screen.decode(errors="replace")
    # Whatever was drawn, the terminal is the user's again.
    assert terminal.screen.count(b"\x1b[?1049h") == terminal.screen.count(b"\x1b[?1049l")
    assert came_before(said) or is_in_order(code, number, session)


def moments(count: int) -> list[float]:
    """Most of the moments early: imports and loading are short, and full of edges."""
    chance = random.Random(count)
    return [round(LATEST * chance.random() ** 3, 3) for _ in range(count)]


@pytest.mark.parametrize("after", [0.03, 2.0])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_some_moments_ends_the_lines_in_order(number: int, after: float, tmp_path: Path) -> None:
    plain(number, after, tmp_path / "session")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_some_moment_ends_the_screen_in_order(number: int, tmp_path: Path) -> None:
    screen(number, 2.0, tmp_path / "session")


@pytest.mark.long
@pytest.mark.parametrize("after", moments(10))
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_any_moment_ends_the_lines_in_order(number: int, after: float, tmp_path: Path) -> None:
    plain(number, after, tmp_path / "session")


@pytest.mark.long
@pytest.mark.parametrize("after", moments(10))
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_any_moment_ends_the_screen_in_order(number: int, after: float, tmp_path: Path) -> None:
    screen(number, after, tmp_path / "session")


def test_a_second_interrupt_leaves_at_once(tmp_path: Path) -> None:
    """The first one would wait for an hour: the translator is slow."""
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW, "replay", str(DEMO), "--plain", "--session", str(tmp_path / "session")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    end = time.monotonic() + PATIENCE
    while not any(event["event"] == "transcript" for event in events(tmp_path / "session")):
        assert time.monotonic() < end
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert program.poll() is None
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=PATIENCE)
    assert program.returncode == 130
    assert "Traceback" not in said
    assert f"livetrans resume {tmp_path / 'session'}" in said


SLOW = """
import sys, time
from livetrans.cli import main
from livetrans.run.translating import Translating

Translating.translate = lambda *_: time.sleep(3600)
main(sys.argv[1:])
"""
