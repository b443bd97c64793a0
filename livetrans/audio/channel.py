"""The bounded channel between whoever hears sound and the listening thread."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livetrans.errors import SourceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Sound as the device or stream gave it; `start_frame` counts at its own rate."""

    samples: NDArray[np.int16]
    start_frame: int
    captured_at: float


class SoundChannel:
    """Holds at most `maximum_frames`: `put` waits (a pipe can), `offer` drops the oldest (a voice cannot wait).

    Ending is closing: `take` gives what is left, then nothing, then raises the error that ended it, if one did.
    """

    def __init__(self, maximum_frames: int) -> None:
        self._maximum = maximum_frames
        self._blocks: deque[Block] = deque()
        self._frames = 0
        self._dropped_frames = 0
        self._ended = False
        self._error: SourceError | None = None
        self._changed = threading.Condition()

    def put(self, block: Block) -> bool:
        """Wait for room and add; False once the channel has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._frames < self._maximum)
            if not self._ended:
                self._add(block)
            return not self._ended

    def offer(self, block: Block) -> None:
        """Add at once, at the cost of the oldest sound if there is no room."""
        with self._changed:
            if self._ended:
                return
            self._add(block)
            while self._frames > self._maximum and len(self._blocks) > 1:
                dropped = len(self._blocks.popleft().samples)
                self._frames -= dropped
                self._dropped_frames += dropped

    def take(self, timeout: float | None = None) -> list[Block] | None:
        """Everything that has come, waiting for the first; empty after `timeout` seconds; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._blocks, timeout)
            blocks = list(self._blocks)
            self._blocks.clear()
            self._frames = 0
            self._changed.notify_all()
            if blocks or not self._ended:
                return blocks
            if self._error is not None:
                raise self._error
            return None

    def take_dropped_frames(self) -> int:
        """Frames dropped since the last call."""
        with self._changed:
            dropped, self._dropped_frames = self._dropped_frames, 0
            return dropped

    def end(self, error: SourceError | None = None) -> None:
        """Nothing more comes; the first call's reason counts."""
        with self._changed:
            if not self._ended:
                self._ended, self._error = True, error
            self._changed.notify_all()

    def _add(self, block: Block) -> None:
        self._blocks.append(block)
        self._frames += len(block.samples)
        self._changed.notify_all()
