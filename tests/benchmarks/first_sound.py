"""How long `livetrans mic` takes, from its start, until the microphone records: on a sound server of its own.

    chrt -r 1 python -m tests.benchmarks.first_sound [--runs 5]

What counts is the beginning of the first block of sound that PortAudio gives, by the clock. `chrt` runs all of it
before other programs, and the sound server before livetrans, as desktops do.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.audio.sound_server import SoundServer, wait_until

SHIM = """
import os, sys, time
folder = os.path.dirname(__file__)
sys.path = [path for path in sys.path if path != folder]
del sys.modules["sounddevice"]
import sounddevice
class InputStream(sounddevice.InputStream):
    def __init__(self, *, callback, **options):
        def first(data, frames, *rest):
            if not os.path.exists(os.environ["FIRST_SOUND"]):
                with open(os.environ["FIRST_SOUND"], "x") as file:
                    file.write(str(time.monotonic() - frames / self.samplerate))
            callback(data, frames, *rest)
        super().__init__(callback=first, **options)
sounddevice.InputStream = InputStream
"""
"""Stands before sounddevice on the import path, and notes when the first block began."""


def seconds_of_a_run(server: SoundServer, folder: Path) -> float:
    """Return the time from the start of the program to its first sound."""
    noted = folder / "noted"
    noted.unlink(missing_ok=True)
    environment = server.environment | {"PYTHONPATH": f"{folder}{os.pathsep}{os.getcwd()}", "FIRST_SOUND": str(noted)}
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "livetrans", "mic", "--plain", "--no-session"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: noted.exists() and bool(noted.read_text()))
    process.terminate()
    process.wait()
    return float(noted.read_text()) - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sounddevice.py").write_text(SHIM, encoding="utf-8")
        server = SoundServer(folder)
        # The monitor of a sink that nothing plays on gives its first sound after two seconds.
        server.control("load-module", "module-null-source", "source_name=quiet", "rate=16000", "channels=1")
        server.control("set-default-source", "quiet")
        if os.sched_getscheduler(0) == os.SCHED_RR:
            for thread in server.threads():
                os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(2))
        try:
            seconds = [seconds_of_a_run(server, folder) for _ in range(runs + 1)][1:]  # The first fills the caches.
        finally:
            server.kill()
    print(f"first sound after {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
