"""Runs killed with SIGKILL at random moments: what they leave is whole, and `resume` finishes it.

Every second run is at the pace of speech, with threads. Of each run has to hold: the session opens; it holds every
event that was published more than a second before the kill; after `resume` what was shown is unchanged, each final of
the recogniser has a caption, and nothing is left to resume; and nearly every word of an unbroken run over the recording
is there, with which `resume` goes on; and the other commands take the session. Words beside a cut may differ: they are
recognised with other words around them.
"""

from __future__ import annotations

import difflib
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from livetrans.base.errors import LivetransError
from livetrans.session.export import read_captions
from livetrans.session.recorded import read_unfinished
from livetrans.session.store import summarise

RECORDINGS = Path(__file__).parents[2] / "recordings"
LIVETRANS = [sys.executable, "-m", "livetrans"]
KEPT_SECONDS = 1.0
SAME_WORDS = 0.9
"""Share of words that a resumed run has in common with an unbroken one."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What one killed run showed."""

    recording: str
    speed: str
    after: float
    """Seconds from the run's first event to the kill."""
    events: int
    finals: int
    """Finals after `resume`."""
    added: int
    """Finals that `resume` added."""
    broken: list[str]
    """A sentence for each thing that does not hold."""


def kill(number: int, random_: random.Random, folder: Path) -> Kill:
    """One run, killed and resumed; its session lies in `folder`."""
    session = folder / f"killed-{number}"
    recording = random_.choice(sorted(RECORDINGS.glob("*.flac")))
    speed = "real" if number % 2 else "max"
    after = random_.uniform(0.2, 12.0 if speed == "real" else 6.0)
    options = ["--speed", speed, "--keep-audio", "--jsonl=-", "--session", str(session)]
    run = subprocess.Popen(
        [*LIVETRANS, "replay", str(recording), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    published = _follow(run)
    while not published.lines and run.poll() is None:
        time.sleep(0.01)
    time.sleep(after)
    killed_at = time.monotonic()
    run.kill()
    run.wait()
    published.thread.join()
    broken = _lost(session, [line for at, line in published.lines if at < killed_at - KEPT_SECONDS])
    before = _finals(session, broken)
    resumed = subprocess.run([*LIVETRANS, "resume", str(session)], capture_output=True, text=True, check=False)
    has_begun = not session.exists() or summarise(session).state != "loading"
    if resumed.returncode and has_begun:
        broken.append(f"resume failed: {resumed.stderr.strip()}")
    finals = _finals(session, broken)
    if finals[: len(before)] != before:
        broken.append("resume changed finals that were shown")
    if not resumed.returncode:
        broken += _left(session)
        broken += _lost_words(recording, folder / f"whole-{number}", finals)
        broken += _other_commands(session, folder / f"run-{number}.jsonl")
    return Kill(recording.stem, speed, after, len(published.lines), len(finals), len(finals) - len(before), broken)


@dataclass
class _Published:
    lines: list[tuple[float, str]]
    thread: threading.Thread


def _follow(run: subprocess.Popen[str]) -> _Published:
    lines: list[tuple[float, str]] = []

    def read() -> None:
        assert run.stdout
        lines.extend((time.monotonic(), line) for line in run.stdout)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return _Published(lines, thread)


def _lost(session: Path, lines: list[str]) -> list[str]:
    file = session / "events.jsonl"
    kept = set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()
    lost = [line for line in lines if line.rstrip("\n") not in kept]
    return [f"{len(lost)} events are lost, such as {lost[0][:100]}"] if lost else []


def _finals(session: Path, broken: list[str]) -> list[tuple[str, str]]:
    """Recognised text and caption of each final."""
    try:
        captions = [spoken.caption for spoken in read_captions(session).spoken()]
        return [(caption.source, caption.text) for caption in captions if caption.final and caption.source]
    except LivetransError as error:
        broken.append(f"the session cannot be read: {error}")
        return []


def _left(session: Path) -> list[str]:
    unfinished = read_unfinished(session)
    missing = unfinished.transcripts({})
    before = (session / "events.jsonl").read_bytes()
    subprocess.run([*LIVETRANS, "resume", str(session)], capture_output=True, check=True)
    is_same = (session / "events.jsonl").read_bytes() == before
    rest = [] if is_same else ["a second resume still found something"]
    return [f"{len(missing)} finals have no caption", *rest] if missing else rest


def _other_commands(session: Path, run_file: Path) -> list[str]:
    """Export, replay and measure the session."""
    replay, methods, printed, broken = ["replay", str(session)], "rt,window", [], []
    for words in (
        ["export", str(session)],
        [*replay, "--speed", "max", "--no-session"],
        [*replay, "--compare", methods],
        ["bench", "run", "--recorded", str(session), "--methods", methods, "--repeats", "1", "-o", str(run_file)],
    ):
        done = subprocess.run([*LIVETRANS, *words], capture_output=True, text=True, check=False)
        printed.append(done.stdout.count("\n"))
        if done.returncode and "no caption" not in done.stderr and "no transcript" not in done.stderr:
            broken.append(f"{words[0]} failed: {done.stderr.strip()}")
    return broken if printed[0] == printed[1] else [*broken, f"{printed[0]} lines exported, {printed[1]} replayed"]


def _lost_words(recording: Path, whole: Path, finals: list[tuple[str, str]]) -> list[str]:
    options = ["--speed", "max", "--session", str(whole)]
    subprocess.run([*LIVETRANS, "replay", str(recording), *options], capture_output=True, check=True)
    expected, found = (" ".join(source for source, _ in of).lower().split() for of in (_finals(whole, []), finals))
    same = difflib.SequenceMatcher(a=expected, b=found, autojunk=False).ratio()
    if same >= SAME_WORDS:
        return []
    return [f"only {same:.0%} of the words agree: {' '.join(expected)!r} and resumed {' '.join(found)!r}"]
