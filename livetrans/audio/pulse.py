"""What the computer plays, by PulseAudio's server or PipeWire's; the only user of pulsectl and of parec.

pulsectl lists outputs and programs and follows their changes; parec captures, a process for each stream, so that a
stream that hangs or dies ends nothing else. A program that plays through several streams is heard through all of them.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from livetrans.base.errors import SourceError, UsageError
from livetrans.events import SAMPLE_RATE

ABSENCES = ("nothing", "no program", "no server")
"""Why there is no sound: the streams give none (a program pauses, an output sleeps), there is no stream, or the server
does not answer."""
NOTHING, NO_PROGRAM, NO_SERVER = ABSENCES
QUIET_SECONDS = 1.0
"""Seconds without sound after which nothing is played."""
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 0.3
"""Seconds between two attempts to connect."""
LOOK_SECONDS = 0.25
"""Longest time between two looks at the streams, beside those at every change that the server reports."""
LATENCY_MILLISECONDS = 40
"""Sound in a block. The server also renders no further ahead than that, and what it has rendered before a stream is
listened to is not heard."""
IDLE_SECONDS = 0.25
"""Seconds without sound after which the mixture does not wait for a stream."""

_HELD = "held"
"""Marks an output that is listened to for its latency alone."""
_NO_SERVER = (
    "No sound server answers, so livetrans cannot hear what this computer plays: start PulseAudio, or PipeWire "
    "with pipewire-pulse, and run livetrans in the session of the user who plays the sound."
)
_MISSING = "{} is missing, which `livetrans listen` needs: use `apt install {}`."


@dataclass(frozen=True, slots=True)
class Output:
    """A device that plays, as the server lists it."""

    number: int
    name: str
    monitor: str
    """The source that records what it plays."""
    default: bool
    is_microphone: bool = False
    """Whether that source is the default one, which stands for the microphone."""


@dataclass(frozen=True, slots=True)
class PlayingStream:
    """A stream of a program to an output."""

    number: int
    program: str
    """The program's name for people."""
    binary: str
    """The name of its file; empty where the server does not know it."""
    output: int
    paused: bool


@contextmanager
def connection() -> Iterator[Any]:
    """Yield a connection to the sound server.

    Raises:
        SourceError: there is none, its library is missing, or the connection ends.
    """
    try:
        import pulsectl
        from pulsectl._pulsectl import LibPulse  # whose errors come through
    except (ImportError, OSError) as error:
        raise SourceError(_MISSING.format("PulseAudio's library", "libpulse0")) from error
    try:
        with pulsectl.Pulse("livetrans", connect=False) as server:
            server.connect()  # its own timeout would always be waited for to the end
            yield server
    except (pulsectl.PulseError, pulsectl.PulseDisconnected, LibPulse.CallError) as error:
        raise SourceError(_NO_SERVER) from error


def list_played() -> tuple[list[Output], list[PlayingStream]]:
    """Return the outputs, and the streams that play on them.

    Raises:
        SourceError: there is no server, or it does not answer.
    """
    answers: list[tuple[list[Output], list[PlayingStream]] | SourceError] = []

    def ask() -> None:
        try:
            with connection() as server:
                answers.append((list_outputs(server), list_streams(server)))
        except SourceError as error:
            answers.append(error)

    thread = threading.Thread(target=ask, name="livetrans-outputs", daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)  # a server that hangs is waited for without end
    answer = answers[0] if answers else SourceError("The sound server does not answer: restart it.")
    if isinstance(answer, SourceError):
        raise answer
    return answer


def list_outputs(server: Any) -> list[Output]:
    server_info = server.server_info()
    return [
        Output(
            sink.index,
            sink.description or sink.name,
            sink.monitor_source_name,
            sink.name == server_info.default_sink_name,
            sink.monitor_source_name == server_info.default_source_name,
        )
        for sink in server.sink_list()
    ]


def list_streams(server: Any) -> list[PlayingStream]:
    """Return the streams of all programs that play now, or pause."""
    streams = []
    for stream in server.sink_input_list():
        binary = stream.proplist.get("application.process.binary", "")
        program = stream.proplist.get("application.name") or binary or stream.name
        streams.append(PlayingStream(stream.index, program, binary, stream.sink, bool(stream.corked)))
    return streams


def choose_program(streams: list[PlayingStream], wanted: str) -> str | None:
    """Return the program with this text in its name or its file's, in any case; None if none plays.

    Raises:
        UsageError: several do.
    """
    text = wanted.strip().casefold()
    named = {stream.program: stream.binary for stream in streams}
    matches = [name for name, binary in named.items() if text in name.casefold() or text in binary.casefold()]
    exact = [name for name in matches if name.casefold() == text]
    if len(exact or matches) > 1:
        listed = ", ".join(f"'{name}'" for name in matches)
        raise UsageError(f"Several programs match '{wanted}': {listed}; give more of the name to --app.")
    return next(iter(exact or matches), None)


class Mixture:
    """The sum of streams that give their sound in pieces of any length."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, NDArray[np.int16]] = {}
        self._fed_at: dict[Hashable, float] = {}

    def feed(self, stream: Hashable, samples: NDArray[np.int16], now: float) -> NDArray[np.int16]:
        """Add sound of a stream; return what all streams have by now but for those that have given none for a while."""
        self._waiting[stream] = np.concatenate([self._waiting.get(stream, samples[:0]), samples])
        self._fed_at[stream] = now
        return self._take(min(len(self._waiting[key]) for key, at in self._fed_at.items() if now - at < IDLE_SECONDS))

    def end(self, stream: Hashable) -> NDArray[np.int16]:
        """Wait for this stream no more; return what is left if it was the last one."""
        self._fed_at.pop(stream, None)
        return self._take(0 if self._fed_at else max(map(len, self._waiting.values()), default=0))

    def _take(self, length: int) -> NDArray[np.int16]:
        total = np.zeros(length, np.int32)
        for stream, samples in list(self._waiting.items()):
            part = samples[:length]
            total[: len(part)] += part
            self._waiting[stream] = samples[length:]
            if stream not in self._fed_at and not len(samples[length:]):
                del self._waiting[stream]
        return total.clip(-32_768, 32_767).astype(np.int16)


class PlayedStream:
    """What the default output plays, whichever that is, or one program of it."""

    number = 0
    rate = SAMPLE_RATE

    def __init__(self, program: str | None, on_sound: Callable[[NDArray[np.int16]], None]) -> None:
        """`program`: a part of a name; one that does not play yet is waited for.

        Raises:
            UsageError: several programs match.
            SourceError: there is no sound server, or its tools are missing.
        """
        for program_needed, package in (("parec", "pulseaudio-utils"), ("setpriv", "util-linux")):
            if shutil.which(program_needed) is None:
                raise SourceError(_MISSING.format(program_needed, package))
        self._on_sound = on_sound
        self._wanted = program
        self._program: str | None = None
        """The whole name of the program that plays, or that played last."""
        self.absence: str = NO_PROGRAM
        """One of `ABSENCES`: why there is no sound, where there is none."""
        self._processes: dict[Hashable, subprocess.Popen[bytes]] = {}
        self._outputs: set[int] = set()
        """Numbers of the outputs on which the program has played."""
        self._mixture = Mixture()
        self._lock = threading.Lock()
        with connection() as server:
            self.name = next((output.name for output in list_outputs(server) if output.default), "no output")
            if program is not None:
                self._program = choose_program(list_streams(server), program)
                self.name = self._program or program

    def start(self) -> None:
        """Capture until the process ends, through all that happens to the server, the outputs and the program.

        Every parec is started by the thread that calls this, and is killed by the system when that ends.
        """
        while True:
            with suppress(SourceError), connection() as server:
                self._follow(server)
            self.absence = NO_SERVER
            for process in list(self._processes.values()):
                process.kill()
            time.sleep(RETRY_SECONDS)

    def _follow(self, server: Any) -> None:
        """Keep a parec for each stream until the connection ends."""
        import pulsectl

        changes: list[object] = []

        def on_change(change: object) -> None:
            changes.append(change)
            raise pulsectl.PulseLoopStop

        server.event_mask_set("sink_input", "server")
        server.event_callback_set(on_change)
        self._outputs.clear()
        while True:
            changes.clear()
            wanted = self._streams(server)
            for stream, process in list(self._processes.items()):
                if stream not in wanted:
                    process.kill()
            for stream, options in wanted.items():
                if stream not in self._processes:
                    self._capture(stream, options)
            if not changes:
                server.event_listen(timeout=LOOK_SECONDS)

    def _streams(self, server: Any) -> dict[Hashable, list[str]]:
        """Return what has to be captured now, with the options of its parec.

        Where a program is wanted, outputs are listened to as well, and what they give is dropped: an output renders as
        far ahead as all who listen allow, up to two seconds for a music player alone.
        """
        outputs = list_outputs(server)
        default = [output.monitor for output in outputs if output.default]
        if self._wanted is None:
            self.absence = NOTHING if default else NO_PROGRAM
            return {monitor: [f"--device={monitor}"] for monitor in default}
        streams = list_streams(server)
        if all(stream.program != self._program for stream in streams):
            with suppress(UsageError):  # Several in the same instant: the one that goes on is taken.
                self._program = choose_program(streams, self._wanted) or self._program
        streams = [stream for stream in streams if stream.program == self._program]
        self.absence = NOTHING if streams else NO_PROGRAM
        self._outputs |= {stream.output for stream in streams}
        held = [output.monitor for output in outputs if output.default or output.number in self._outputs]
        wanted: dict[Hashable, list[str]] = {(_HELD, monitor): [f"--device={monitor}"] for monitor in held}
        # On another output it is another stream: the server has ended its parec.
        return wanted | {(stream.number, stream.output): [f"--monitor-stream={stream.number}"] for stream in streams}

    def _capture(self, stream: Hashable, options: list[str]) -> None:
        spoken = ["--raw", "--format=s16le", f"--rate={SAMPLE_RATE}", "--channels=1", "--client-name=livetrans"]
        command = ["setpriv", "--pdeathsig", "KILL", "parec", *spoken, f"--latency-msec={LATENCY_MILLISECONDS}"]
        process = subprocess.Popen(
            [*command, *options], bufsize=0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._processes[stream] = process
        threading.Thread(target=self._read, args=(stream, process), name="livetrans-parec", daemon=True).start()

    def _read(self, stream: Hashable, process: subprocess.Popen[bytes]) -> None:
        """Pass on the sound of a parec until it ends."""
        assert process.stdout
        is_held = isinstance(stream, tuple) and stream[0] == _HELD
        rest = b""
        while data := process.stdout.read(1 << 16):
            if is_held:
                continue
            data = rest + data
            rest = data[len(data) // 2 * 2 :]
            with self._lock:
                self._pass_on(self._mixture.feed(process, np.frombuffer(data, "<i2", len(data) // 2), time.monotonic()))
        process.wait()
        with self._lock:
            self._pass_on(self._mixture.end(process))
        del self._processes[stream]

    def _pass_on(self, samples: NDArray[np.int16]) -> None:
        if len(samples):
            self._on_sound(samples)
