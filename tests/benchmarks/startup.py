"""Start-up: `livetrans --help`, and the screen's first paint in a pseudo-terminal.

    python tests/benchmarks/startup.py [FILE]

The first paint is the time from starting `livetrans replay FILE` until the screen's footer can be read in the terminal.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROUNDS = 7
LIVETRANS = str(Path(sys.executable).with_name("livetrans"))


def help_seconds() -> float:
    started = time.perf_counter()
    subprocess.run([LIVETRANS, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def first_paint_seconds(file: str) -> float:
    """Seconds until the screen's footer has been written to a pseudo-terminal of 100x30."""
    started = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        os.execv(LIVETRANS, [LIVETRANS, "replay", file, "--no-session"])
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        written = b""
        while b"Pause" not in written:
            if time.perf_counter() - started > 20:
                raise RuntimeError("the screen was not painted within 20 s")
            if select.select([terminal], [], [], 0.05)[0]:
                written += os.read(terminal, 65536)
        return time.perf_counter() - started
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else "recordings/demo.flac"
    helps = [help_seconds() for _ in range(ROUNDS)]
    print(f"livetrans --help: median {statistics.median(helps):.2f} s, worst {max(helps):.2f} s of {ROUNDS}")
    paints = [first_paint_seconds(file) for _ in range(ROUNDS)]
    print(f"first paint: median {statistics.median(paints):.2f} s, worst {max(paints):.2f} s of {ROUNDS}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
