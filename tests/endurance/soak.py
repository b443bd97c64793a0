"""Hours of sound through the real recogniser and translator, in threads, as fast as the machine allows.

The recordings of the tree come in random order, pauses between them, all of them once before one comes again. The next
sound comes when what came before is nearly done, so that the run is never overloaded for long, however slow the machine
is. What has to hold: the memory after minute 10 within 5 %, queues bounded, no trend in lag, every
final shown.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock, SystemClock
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings, TranscriberSettings
from livetrans.events import (
    SAMPLE_RATE,
    AudioChunk,
    BackPressure,
    Caption,
    Gap,
    Notice,
    Origin,
    Record,
    SourceProgress,
    Transcript,
)
from livetrans.models.chosen import choose_models
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import from_live, open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.postponed import Postponed
from livetrans.run.publisher import Publish
from livetrans.session.export import read_captions
from livetrans.session.recorder import SessionRecorder

RECORDINGS = Path(__file__).parents[2] / "recordings"
CHUNK = SAMPLE_RATE // 10
AHEAD_SECONDS = 2.0
FINALS_IN_WORK = 2
WARM_UP = 600.0
"""Seconds of sound before memory is compared: libraries grow their buffers to what they need."""


@dataclass
class Watched:
    """A sink that counts what is compared at the end; `minutes` holds sound heard, resident bytes and queue lengths."""

    heard: float = 0.0
    finals_heard: int = 0
    finals_shown: int = 0
    lags: list[tuple[float, float]] = field(default_factory=list)
    minutes: list[tuple[float, int]] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)
    most_waiting: int = 0

    def write(self, record: Record) -> None:
        match record.event:
            case Transcript(final=True):
                self.finals_heard += 1
                self.most_waiting = max(self.most_waiting, self.finals_heard - self.finals_shown)
            case Caption(final=True) as caption:
                self.finals_shown += 1
                if caption.captured_at is not None:
                    self.lags.append((caption.end, record.at - caption.captured_at))
            case BackPressure(level=step):
                self.steps[step] = self.steps.get(step, 0) + 1
            case SourceProgress(heard=heard):
                self.heard = heard
                if heard >= 60 * len(self.minutes):
                    self.minutes.append((heard, psutil.Process().memory_info().rss))
                    if len(self.minutes) % 10 == 1:
                        print(self.told(), flush=True)

    def close(self) -> None: ...

    def told(self) -> str:
        """Return the figures, for whoever waits for hours."""
        memory, lags = [size / 2**20 for _, size in self.minutes], [lag for _, lag in self.lags]
        return (
            f"{self.heard / 60:.0f} min of sound, {self.finals_shown} of {self.finals_heard} finals shown, at most "
            f"{self.most_waiting} waited; memory {memory[-1]:.1f} MiB, after minute 10 {memory[10:11]}; lag median "
            f"{np.median(lags or [0.0]):.2f} s, p95 {np.quantile(lags or [0.0], 0.95):.2f} s; steps {self.steps}"
        )


class Joined:
    """The recordings in random order, for `seconds`; a chunk comes once little of what came before is left."""

    skipped = 0.0

    def __init__(self, seconds: float, seed: int, watched: Watched, clock: SystemClock) -> None:
        self.duration = seconds
        self._random = random.Random(seed)
        self._watched = watched
        self._clock = clock
        self._closed = False
        self._recordings = [
            np.concatenate([chunk.samples for chunk in AudioFile(path, ManualClock(), real_time=False)])
            for path in sorted(RECORDINGS.glob("*.flac"))
        ]

    def __iter__(self) -> Iterator[AudioChunk]:
        start, left = 0, list[NDArray[np.int16]]()
        while start < self.duration * SAMPLE_RATE:
            left = left or self._random.sample(self._recordings, len(self._recordings))
            pause = np.zeros(round(self._random.uniform(0.2, 3.0) * SAMPLE_RATE), np.int16)
            sound = np.concatenate([left.pop(), pause])
            for begin in range(0, len(sound), CHUNK):
                samples = sound[begin : begin + CHUNK]
                self._wait((start + len(samples)) / SAMPLE_RATE)
                if self._closed or start >= self.duration * SAMPLE_RATE:
                    return
                yield AudioChunk(samples, start, self._clock.now())
                start += len(samples)

    def _wait(self, end: float) -> None:
        watched = self._watched
        while not self._closed and (
            end - watched.heard > AHEAD_SECONDS or watched.finals_heard - watched.finals_shown > FINALS_IN_WORK
        ):
            self._clock.sleep(0.005)

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None:
        self._closed = True


def soak(seconds: float, seed: int, step: float, session: Path) -> tuple[Watched, list[str]]:
    """Run; gives what was counted, and a sentence for each thing that does not hold."""
    clock, watched = SystemClock(), Watched()
    settings = choose_models(
        Settings(
            RecogniserSettings(threads=1), LanguageModelSettings(threads=1), transcriber=TranscriberSettings(step=step)
        )
    )
    joined = Joined(seconds, seed, watched, clock)

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        return from_live([(joined, Postponed[Notice | Gap]())], Origin("a day"), settings, clock)(publish, on_audio)

    recorder = SessionRecorder(session)
    translating = partial(open_translating, settings, clock)
    pipeline = Pipeline(settings, open_listening, translating, clock, [watched], [recorder])
    pipeline.start()
    while not pipeline.join(1.0):
        pass
    return watched, list(_broken(watched, seconds, session))


def _broken(watched: Watched, seconds: float, session: Path) -> Iterator[str]:
    if watched.heard < seconds - 1:
        yield f"only {watched.heard:.0f} s of {seconds:.0f} s were heard"
    if watched.finals_heard != watched.finals_shown:
        yield f"{watched.finals_heard} finals were heard and {watched.finals_shown} shown"
    kept = sum(spoken.caption.final for spoken in read_captions(session).spoken())
    if kept != watched.finals_shown:
        yield f"the session holds {kept} of {watched.finals_shown} finals"
    if watched.most_waiting > 10 * FINALS_IN_WORK:
        yield f"{watched.most_waiting} finals waited at once"
    warm = [memory for heard, memory in watched.minutes if heard >= WARM_UP]
    if warm and max(warm) > 1.05 * warm[0]:
        yield f"memory grew from {warm[0] / 2**20:.1f} to {max(warm) / 2**20:.1f} MiB"
    if warm and _trend(watched) > 0.5:
        yield f"lag grows by {_trend(watched):.2f} s an hour"


def _trend(watched: Watched) -> float:
    """Seconds of lag an hour of sound, by least squares over finals; the slowest twentieth is left out (other load)."""
    limit = float(np.quantile([lag for _, lag in watched.lags], 0.95))
    at, lags = zip(*((end / 3600, lag) for end, lag in watched.lags if lag <= limit), strict=True)
    return float(np.polyfit(at, lags, 1)[0])
