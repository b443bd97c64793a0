"""The audio-source port, and parts of its implementations: pause, a replay's clock and pace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

from livetrans.base.clock import STANDSTILL_SECONDS, Clock
from livetrans.events import AudioChunk


class AudioSource(Protocol):
    """Audio, in order, without gaps in `start_sample` unless audio was lost (then a Gap reports it) or paused.

    Iterating blocks until audio is available, and may return everything that has arrived meanwhile as one larger chunk:
    a listener that was busy catches up in one step. The iterator ends when the source does or after `close`.
    """

    @property
    def duration(self) -> float | None:
        """Length in seconds where it is known."""

    @property
    def skipped(self) -> float:
        """Seconds of audio lost so far because the listener could not keep up; pauses do not count."""

    def __iter__(self) -> Iterator[AudioChunk]: ...

    def pause(self, paused: bool) -> None:
        """Stop or resume listening; called from another thread."""

    def close(self) -> None:
        """End the iteration soon; from any thread, from a signal handler, any number of times."""


class WrappedSource:
    """A source that passes calls on to another one. A subclass gives the audio."""

    def __init__(self, source: AudioSource) -> None:
        self._source = source

    @property
    def duration(self) -> float | None:
        return self._source.duration

    @property
    def skipped(self) -> float:
        return self._source.skipped

    def pause(self, paused: bool) -> None:
        self._source.pause(paused)

    def close(self) -> None:
        self._source.close()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a recording, in seconds from its beginning; source time is the recording's."""

    start: float = 0.0
    end: float | None = None


WHOLE = Part()


class Pause:
    """The pause of a source, in which its iterating thread waits until it is resumed or closed.

    The wake-up is a SimpleQueue, whose `put` is reentrant: an Event's lock is not, and a signal handler that runs in
    the thread that waits would wait for itself.
    """

    def __init__(self) -> None:
        self.closed = False
        self._paused = False
        self._changed: SimpleQueue[None] = SimpleQueue()

    def set(self, paused: bool) -> None:
        self._paused = paused
        self._changed.put(None)

    def close(self) -> None:
        self.closed = True
        self._changed.put(None)

    def wait(self) -> bool:
        """Wait while paused; return False if the source was closed."""
        while self._paused and not self.closed:
            self._changed.get()
        return not self.closed


class ReplayClock:
    """A clock that stands still while the program is suspended (Ctrl+Z), so that a recording waits meanwhile.

    It can tell that only in a run, in which a thread looks at it all the time (`Pipeline._watch`).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looked_at = clock.now()
        self._suspended = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        with self._lock:
            before, self._looked_at = self._looked_at, self._clock.now()
            if self._looked_at - before > STANDSTILL_SECONDS:
                self._suspended += self._looked_at - before
            return self._looked_at - self._suspended

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
