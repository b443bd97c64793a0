"""The audio-source port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from livetrans.events import AudioChunk


class AudioSource(Protocol):
    """Sound, in order, without gaps in `start_sample` unless sound was lost (then a Notice says so).

    Iterating blocks until sound is there, and may hand out all that has come meanwhile as one larger chunk: a listener
    that was busy catches up in one step. The iterator ends when the source does or after `close`.
    """

    @property
    def duration(self) -> float | None:
        """Length in seconds where it is known."""

    @property
    def skipped(self) -> float:
        """Seconds of sound lost so far because the listener could not keep up; pauses do not count."""

    def __iter__(self) -> Iterator[AudioChunk]: ...

    def pause(self, paused: bool) -> None:
        """Stop or resume listening; called from another thread."""

    def close(self) -> None:
        """End the iteration soon, from any thread, any number of times."""
