"""A PulseAudio server of a test's own, whose null sinks are the outputs, and the first one's monitor the microphone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livetrans.events import SAMPLE_RATE, AudioChunk

PROGRAMS = ("pulseaudio", "pactl", "paplay", "parec")
PATIENCE = 60.0
"""Seconds until something that does not happen is called a failure."""


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def joined(chunks: list[AudioChunk]) -> np.ndarray:
    """Return the sound of chunks that follow each other without a gap."""
    position = 0
    for chunk in chunks:
        assert chunk.start_sample == position
        position += len(chunk.samples)
    return np.concatenate([chunk.samples for chunk in chunks])


def write_wav(path: Path, samples: np.ndarray, rate: int = SAMPLE_RATE) -> Path:
    """Write int16 samples, of shape (n,) or (n, channels), as a file that every player takes."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1] if samples.ndim == 2 else 1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return path


def plain(text: str) -> str:
    """Return a text in small letters without punctuation."""
    return "".join(letter for letter in text.lower() if letter.isalpha() or letter in " '\n")


class SoundServer:
    """Skips the test where PulseAudio or its tools are not installed."""

    def __init__(self, folder: Path, rate: int = 16_000) -> None:
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            pytest.skip(f"needs a sound server: apt install pulseaudio pulseaudio-utils (no {missing[0]})")
        home = folder / "sound"
        for part in (home / "pulse", home / ".config/pulse"):
            part.mkdir(parents=True, mode=0o700)
        (home / ".config/pulse/client.conf").write_text("autospawn = no\n", encoding="utf-8")
        names = {"XDG_RUNTIME_DIR": home, "PULSE_RUNTIME_PATH": home / "pulse", "HOME": home}
        self.environment = os.environ | {name: str(path) for name, path in names.items()}
        self._rate = rate
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        sinks = [f"module-null-sink sink_name={name} rate={self._rate} channels=1" for name in ("speaker", "headset")]
        modules = [option for module in ("module-native-protocol-unix", *sinks) for option in ("-L", module)]
        self._process = subprocess.Popen(
            ["pulseaudio", "-n", "--exit-idle-time=-1", *modules],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: self.control("set-default-source", "speaker.monitor"))
        self.control("set-default-sink", "speaker")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def threads(self) -> list[int]:
        """Return the ids of the server's threads, on Linux."""
        assert self._process is not None
        return [int(path.name) for path in Path(f"/proc/{self._process.pid}/task").iterdir()]

    def control(self, *arguments: str) -> bool:
        done = subprocess.run(["pactl", *arguments], env=self.environment, capture_output=True, check=False)
        return done.returncode == 0

    def play(self, path: Path, sink: str = "speaker") -> None:
        subprocess.run(["paplay", "--device", sink, str(path)], env=self.environment, check=True, timeout=PATIENCE)

    def start_playing(self, path: Path, program: str, sink: str = "speaker") -> subprocess.Popen[bytes]:
        """Start a program of this name that plays the file, and return when the server knows it."""
        command = ["paplay", "--client-name", program, "--device", sink, str(path)]
        before = self.streams()
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.streams() - before != set())
        return process

    def streams(self) -> set[str]:
        """Return the numbers of the streams that play."""
        command = ["pactl", "list", "short", "sink-inputs"]
        listed = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return {line.split()[0] for line in listed.stdout.splitlines()}


class Listener:
    """`livetrans mic --plain`, or another command, with a session, listening."""

    def __init__(self, server: SoundServer, folder: Path, *options: str, command: str = "mic") -> None:
        if command == "mic":
            try:
                import sounddevice  # noqa: F401
            except OSError:
                pytest.skip("needs PortAudio: apt install libportaudio2")
        self.session = folder / "session"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "livetrans", command, "--plain", "--session", str(self.session), *options],
            env=server.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # as a shell has it: in the tests' own group the system may discard SIGTSTP
        )
        wait_until(lambda: bool(self.events("run_started")) or self._process.poll() is not None)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The whole lines that stand in the session by now."""
        path = self.session / "events.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def wait_for(self, kind: str) -> None:
        wait_until(lambda: bool(self.events(kind)))

    def heard(self) -> str:
        """The source of every final, in small letters without punctuation."""
        return plain(" ".join(event["source"] for event in self.events("caption") if event["final"]))

    def lag(self) -> float:
        """Median seconds from hearing the end of a caption's last word to its caption."""
        lags = [
            event["at"] - event["captured_at"] for event in self.events("caption") if event["captured_at"] is not None
        ]
        return statistics.median(lags)

    def wait_for_sound(self) -> None:
        """Until the device gives sound, silence or not."""
        before = len(self.events("source_progress"))
        wait_until(lambda: len(self.events("source_progress")) > before)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stop(self) -> tuple[int, str, str]:
        """Ctrl-C; gives exit code, standard output and standard error."""
        self._process.send_signal(signal.SIGINT)
        output, errors = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, output, errors
