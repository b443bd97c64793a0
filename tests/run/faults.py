"""Stages with faults at chosen calls: slow, raising, hanging, or returning garbage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from livetrans.audio.source import WrappedSource
from livetrans.base.clock import Clock
from livetrans.base.errors import ModelError
from livetrans.events import AudioChunk, Word
from livetrans.lm.port import Evaluation, LanguageModel, ModelWrapper
from livetrans.speech.recogniser import Hypothesis, Recogniser

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from livetrans.audio.source import AudioSource

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Slow:
    """The call takes `factor` times as long, and `seconds` on top, on the schedule's clock."""

    factor: float = 1.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Raise:
    """The call raises."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Hang:
    """The call does not return before the schedule is released; then it returns what it would have."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """The call returns a value of the right type that means nothing."""


Fault = Slow | Raise | Hang | Garbage


@dataclass
class Schedule:
    """Which fault each call of one stage meets, by the call's number from 0; `always` holds for all others.

    `calls` counts the calls so far, also those that failed. A test that lets a stage hang calls `release` at its end,
    so that no thread is left.
    """

    clock: Clock
    faults: Mapping[int, Fault] = field(default_factory=dict)
    always: Fault | None = None
    calls: int = 0
    hanging: threading.Event = field(default_factory=threading.Event)
    """Set once a call hangs."""
    _released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        self._released.set()

    def call(self, function: Callable[[], Result], garbage: Callable[[Result], Result]) -> Result:
        """Return the function's result, changed by the fault that is due."""
        fault = self.faults.get(self.calls, self.always)
        self.calls += 1
        match fault:
            case Raise(error):
                raise error
            case Hang():
                self.hanging.set()
                self._released.wait()
        began = self.clock.now()
        result = function()
        match fault:
            case Slow(factor, seconds):
                self.clock.sleep((factor - 1) * (self.clock.now() - began) + seconds)
            case Garbage():
                return garbage(result)
        return result


class FaultySource(WrappedSource):
    """An audio source with the faults of a schedule, but for garbage: any sound is sound."""

    def __init__(self, source: AudioSource, schedule: Schedule) -> None:
        super().__init__(source)
        self._schedule = schedule

    def __iter__(self) -> Iterator[AudioChunk]:
        chunks = iter(self._source)
        while (chunk := self._schedule.call(lambda: next(chunks, None), lambda chunk: chunk)) is not None:
            yield chunk


class FaultyRecogniser:
    """A recogniser with the faults of a schedule; garbage is control characters at times that are not numbers."""

    def __init__(self, recogniser: Recogniser, schedule: Schedule) -> None:
        self._recogniser = recogniser
        self._schedule = schedule

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recogniser, name)

    def in_language(self, language: str | None) -> FaultyRecogniser:
        return FaultyRecogniser(self._recogniser.in_language(language), self._schedule)

    def recognise(
        self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False, language: str | None = None
    ) -> Hypothesis:
        return self._schedule.call(
            lambda: self._recogniser.recognise(samples, prompt=prompt, final=final, language=language),
            lambda _: Hypothesis((Word("\x1b[2J\x00\u202e", float("nan"), float("inf")),), (float("nan"),)),
        )


class FaultyModel(ModelWrapper):
    """A language model with the faults of a schedule; it refuses garbage, which is logits that are not numbers."""

    def __init__(self, model: LanguageModel, schedule: Schedule) -> None:
        self._wrapped = model
        self._schedule = schedule

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        return self._schedule.call(lambda: self._wrapped.evaluate(context, last_rows), _no_numbers)

    def another_context(self) -> FaultyModel:
        return FaultyModel(self._wrapped.another_context(), self._schedule)


def _no_numbers(evaluation: Evaluation) -> Evaluation:
    raise ModelError("the logits are not numbers")


class ScaledClock:
    """Another clock, `factor` times as fast: a minute of speech in a few seconds of test."""

    def __init__(self, clock: Clock, factor: float) -> None:
        self._clock = clock
        self._factor = factor
        self._ahead = 0.0

    def now(self) -> float:
        return self._clock.now() * self._factor + self._ahead

    def jump(self, seconds: float) -> None:
        """Move the clock by `seconds`, as the system's clock moves after the machine has slept."""
        self._ahead += seconds

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds / self._factor)
