"""A signal handler may close a source in the very thread that waits inside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"

PROGRAM = """
import signal, sys
from pathlib import Path
from livetrans.audio.file import AudioFile
from livetrans.base.clock import SystemClock

FILES = ("threading.py", "queue.py", "file.py", "source.py")
kind, lines, by_timer = sys.argv[1], 0, False

class Fast(SystemClock):
    def now(self):
        return 10 * super().now()

    def sleep(self, seconds):
        super().sleep(seconds / 10)

def replay():
    source = AudioFile(Path(sys.argv[2]), Fast(), real_time=True)
    if kind == "paused":
        source.pause(True)
    return source

def interrupted_at(number):
    # The signal comes at the given line of Python of the iteration, and by a timer if the thread waits before it.
    global lines, by_timer
    lines, by_timer = 0, False
    source = replay()

    def handle(kind, frame):
        global by_timer
        by_timer = by_timer or kind == signal.SIGALRM
        signal.setitimer(signal.ITIMER_REAL, 0)
        source.close()

    def trace(frame, event, argument):
        global lines
        if frame.f_code.co_filename.endswith(FILES):
            if event == "line":
                lines += 1
                if lines == number:
                    signal.raise_signal(signal.SIGUSR1)
            return trace

    signal.signal(signal.SIGUSR1, handle)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.25)
    sys.settrace(trace)
    for chunk in source:
        pass
    sys.settrace(None)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return by_timer

# Three in a row that the timer ended: the thread waits before that line. One may be a machine that stood still.
number, waited = 0, 0
while waited < 3 and number < 60:
    number += 1
    waited = waited + 1 if interrupted_at(number) else 0
print(number)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of Unix")
@pytest.mark.parametrize("kind", ["real time", "paused"])
def test_a_signal_at_any_line_of_a_wait_ends_the_iteration(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind, str(DEMO)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10, "no line of the wait was interrupted"
