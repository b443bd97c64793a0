"""Ctrl-C and SIGTERM at any moment of a run, from the first import to the last caption, on the screen and as lines."""

from __future__ import annotations

import random
import signal
import time
from itertools import product
from pathlib import Path

import pytest
from test_endings import PATIENCE, Terminal, events, started, wait_until

import livetrans

pytestmark = pytest.mark.usefixtures("translator_path", "recogniser_path")

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"
SIGNALS = [signal.SIGINT, signal.SIGTERM]
LATEST = 7.0
"""Seconds after which the run is well under way on any machine."""
DIED = {number: -number for number in SIGNALS}
"""Exit code of a process that its signal ended: nothing was open yet."""


def is_in_order(code: int, number: int, session: Path) -> bool:
    kept = events(session)
    assert code in (0, 130, DIED[number])
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


def plain(number: int, after: float, session: Path) -> None:
    program = started("-m", "livetrans", "replay", DEMO, "--plain", "--session", session)
    time.sleep(after)
    program.send_signal(number)
    _, errors = program.communicate(timeout=PATIENCE)
    assert came_before(errors) or is_in_order(program.returncode, number, session)


def screen(number: int, after: float, session: Path) -> None:
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


def moments(count: int) -> list[float]:
    """Most of the moments early: imports and loading are short, and full of edges."""
    chance = random.Random(count)
    return [round(LATEST * chance.random() ** 3, 3) for _ in range(count)]


MOMENTS = [pytest.param(*case, marks=pytest.mark.long) for case in product(SIGNALS, moments(10))]


@pytest.mark.parametrize(("number", "after"), [(signal.SIGINT, 0.03), (signal.SIGTERM, 2.0), *MOMENTS])
def test_a_signal_at_any_moment_ends_the_lines_in_order(number: int, after: float, tmp_path: Path) -> None:
    plain(number, after, tmp_path / "session")


@pytest.mark.parametrize(("number", "after"), [(signal.SIGINT, 2.0), *MOMENTS])
def test_a_signal_at_any_moment_ends_the_screen_in_order(number: int, after: float, tmp_path: Path) -> None:
    screen(number, after, tmp_path / "session")


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


SLOW = """
import sys, time
from livetrans.cli import main
from livetrans.run.translating import Translating

Translating.translate = lambda *_: time.sleep(3600)
main(sys.argv[1:])
"""
