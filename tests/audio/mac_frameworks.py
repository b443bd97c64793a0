"""Apple's frameworks as pyobjc gives them, as far as livetrans calls them, for a Mac whose answers are scripted.

Each look at the displays and programs runs the next step of the script; after the last one `Over` ends the capture.
Answers come from another thread, as the system's do.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

PLANAR, FLOAT = 32, 1


class Over(BaseException):
    """The script has ended."""


@dataclass
class Failure:
    """An NSError."""

    number: int
    text: str = "a reason"

    def code(self) -> int:
        return self.number

    def localizedDescription(self) -> str:
        return self.text


@dataclass
class App:
    name: str | None
    pid: int
    bundle: str | None = None

    def applicationName(self) -> str | None:
        return self.name

    def bundleIdentifier(self) -> str | None:
        return self.bundle

    def processID(self) -> int:
        return self.pid


@dataclass
class Buffer:
    """A CMSampleBuffer: what channels, in which order, and of which samples."""

    data: bytes
    rate: float
    channels: int
    flags: int = FLOAT | PLANAR
    bits: int = 32
    status: int = 0


def sound(*channels: Sequence[float], rate: float = 16_000.0, planar: bool = True) -> Buffer:
    samples = np.array(channels, "<f4")
    data = samples.tobytes() if planar else samples.T.copy().tobytes()
    return Buffer(data, rate, len(channels), FLOAT | (PLANAR if planar else 0))


@dataclass
class Mac:
    """What the scripted Mac answers, and what it was asked."""

    displays: list[int] = field(default_factory=lambda: [1])
    apps: list[App] = field(default_factory=list)
    refusal: Failure | None = None
    start_failure: Failure | None = None
    output_failure: Failure | None = None
    steps: list[Callable[[], object]] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    """All that were started, the newest last."""

    in_pool: bool = False
    """Whether objects that are given now are let go."""

    @contextmanager
    def pool(self) -> Iterator[None]:
        self.in_pool = True
        try:
            yield
        finally:
            self.in_pool = False

    @property
    def running(self) -> list[Stream]:
        return [stream for stream in self.streams if not stream.is_stopped]

    def play(self, *buffers: Buffer) -> Callable[[], None]:
        """Return a step that gives these to the stream that runs."""

        def step() -> None:
            for buffer in buffers:
                for stream in self.running:
                    stream.receiver.stream_didOutputSampleBuffer_ofType_(stream, buffer, 1)

        return step

    def stop_stream(self, failure: Failure) -> Callable[[], None]:
        def step() -> None:
            (stream,) = self.running
            stream.is_stopped = True
            stream.receiver.stream_didStopWithError_(stream, failure)

        return step

    def set(self, **answers: Any) -> Callable[[], None]:
        return lambda: vars(self).update(answers)


class Stream:
    def __init__(self, mac: Mac) -> None:
        self._mac = mac
        self.is_stopped = False

    def initWithFilter_configuration_delegate_(self, sounds: Any, options: Any, receiver: Any) -> Stream:
        self.heard, self.options, self.receiver = sounds.heard, options.chosen, receiver
        return self

    def addStreamOutput_type_sampleHandlerQueue_error_(
        self, receiver: Any, kind: int, queue: None, error: None
    ) -> tuple[bool, Failure | None]:
        assert (receiver, kind) == (self.receiver, 1)
        return self._mac.output_failure is None, self._mac.output_failure

    def startCaptureWithCompletionHandler_(self, done: Callable[[Failure | None], None]) -> None:
        failure = self._mac.start_failure
        if failure is None:
            self._mac.streams.append(self)
        threading.Thread(target=done, args=(failure,)).start()

    def stopCaptureWithCompletionHandler_(self, done: Callable[[Failure | None], None]) -> None:
        self.is_stopped = True
        done(None)


class Filter:
    def initWithDisplay_excludingWindows_(self, display: Any, windows: list[Any]) -> Filter:
        self.heard: object = f"display {display.displayID()}"
        return self

    def initWithDisplay_includingApplications_exceptingWindows_(
        self, display: Any, apps: list[App], windows: list[Any]
    ) -> Filter:
        self.heard = [app.pid for app in apps]
        return self


class Options:
    def __init__(self) -> None:
        self.chosen: dict[str, object] = {}

    def __getattr__(self, name: str) -> Callable[[object], None]:
        assert name.startswith("set") and name.endswith("_")
        return lambda value: self.chosen.update({name[3:-1]: value})


class NSObject:
    @classmethod
    def alloc(cls) -> Any:
        return cls()

    def init(self) -> Any:
        return self


def install(patch: pytest.MonkeyPatch, mac: Mac) -> None:
    """Let the frameworks be found."""
    allocating = lambda make: SimpleNamespace(alloc=make)  # noqa: E731

    def answer(done: Callable[[Any, Failure | None], None]) -> None:
        content = SimpleNamespace(
            displays=lambda: [SimpleNamespace(displayID=lambda number=number: number) for number in mac.displays],
            applications=lambda: mac.apps,
        )
        given = (None, mac.refusal) if mac.refusal else (content, None)
        threading.Thread(target=done, args=given).start()

    steps = iter(mac.steps)
    looks = iter(range(1_000))

    def look(done: Callable[[Any, Failure | None], None]) -> None:
        if next(looks):  # The first one is the opening.
            assert mac.in_pool
            next(steps, _end)()
        answer(done)

    modules: dict[str, dict[str, Any]] = {
        "ScreenCaptureKit": {
            "SCShareableContent": SimpleNamespace(getShareableContentWithCompletionHandler_=look),
            "SCContentFilter": allocating(Filter),
            "SCStreamConfiguration": allocating(lambda: SimpleNamespace(init=Options)),
            "SCStream": allocating(lambda: Stream(mac)),
        },
        "Foundation": {"NSObject": NSObject},
        "objc": {"autorelease_pool": mac.pool},
        "CoreMedia": {
            "CMTimeMake": lambda value, scale: value / scale,
            "CMSampleBufferGetFormatDescription": lambda buffer: buffer,
            "CMAudioFormatDescriptionGetStreamBasicDescription": lambda buffer: (
                (buffer.rate, 0x6C70636D, buffer.flags, 4, 1, 4, buffer.channels, buffer.bits, 0)
            ),
            "CMSampleBufferGetDataBuffer": lambda buffer: buffer,
            "CMBlockBufferGetDataLength": lambda buffer: len(buffer.data),
            "CMBlockBufferCopyDataBytes": lambda buffer, begin, length, where: (
                buffer.status,
                buffer.data[begin : begin + length],
            ),
        },
    }
    for name, values in modules.items():
        module = ModuleType(name)
        vars(module).update(values, __spec__=ModuleSpec(name, None))
        patch.setitem(sys.modules, name, module)


def _end() -> None:
    raise Over
