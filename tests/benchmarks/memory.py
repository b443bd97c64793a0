"""Resident memory of a long replay, minute by minute of sound.

    python tests/benchmarks/memory.py [FILE] [--minutes 10]

Repeats a recording into one long file, replays it with the plain loop's threads at full speed, and samples the process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
import psutil

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.events import SAMPLE_RATE

LIVETRANS = str(Path(sys.executable).with_name("livetrans"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path("recordings/demo.flac"))
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    samples = np.concatenate([chunk.samples for chunk in AudioFile(arguments.file, ManualClock(), real_time=False)])
    wanted = int(arguments.minutes * 60 * SAMPLE_RATE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(SAMPLE_RATE)
            file.writeframes(np.resize(samples, wanted).tobytes())
        command = [LIVETRANS, "replay", str(path), "--speed", "max", "--session", f"{folder}/session", "--jsonl=-"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watched = psutil.Process(process.pid)
        assert process.stdout is not None
        minute = 0
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "source_progress" and event["heard"] >= minute * 60:
                print(f"{minute:3} min  {watched.memory_info().rss / 2**20:6.1f} MiB", flush=True)
                minute += 1
        if process.wait() != 0:
            raise SystemExit("the replay failed")


if __name__ == "__main__":
    main()
