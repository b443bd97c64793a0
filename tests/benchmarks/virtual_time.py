"""`livetrans replay` at the pace of speech in virtual time: waiting takes none, computing takes its processor seconds.

    python -m tests.benchmarks.virtual_time recordings/talk.flac --from en --to de --no-session [--jsonl FILE]

Lags are those of an idle machine with one core, whatever else runs, and 83 s of sound take 10 s. With PROCESSES=PID,PID
the processor seconds of these are added, such as a server's that translates (Linux only).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from livetrans import cli
from livetrans.cli import replay


class VirtualClock:
    """Processor seconds of this process and the named ones, and the seconds that it would have waited."""

    def __init__(self) -> None:
        self._waited = 0.0
        self._others = [Path("/proc", pid, "task") for pid in os.environ.get("PROCESSES", "").split(",") if pid]

    def now(self) -> float:
        threads = (thread for tasks in self._others for thread in tasks.iterdir())
        nanoseconds = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
        return self._waited + time.process_time() + nanoseconds / 1e9

    def sleep(self, seconds: float) -> None:
        self._waited += max(seconds, 0.0)


if __name__ == "__main__":
    replay.SystemClock = VirtualClock  # type: ignore[assignment, misc]
    replay.ReplayClock = lambda clock: clock  # type: ignore[assignment, misc]
    replay.run_live = replay.run_at_once  # type: ignore[assignment]
    sys.argv[1:1] = ["replay"]
    cli.main()
