"""The bounded channel between the thread that captures audio and the listening thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from livetrans.errors import SourceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Audio as the device or stream gave it; `start_frame` counts at its own rate."""

    samples: NDArray[np.int16]
    start_frame: int
    captured_at: float


class AudioChannel:
    """Holds at most `maximum_frames`: `put` waits (a pipe can), `offer` drops the oldest (a microphone cannot wait).

    After `end`, `take` returns what is left, then None, or raises the error that ended the channel. `end` takes no lock
    and wakes by a SimpleQueue, so a signal handler may call it in the very thread that is inside `take`.
    """

    def __init__(self, maximum_frames: int) -> None:
        self._maximum = maximum_frames
        self._blocks: list[Block] = []
        self._frames = 0
        self._dropped_frames = 0
        self._ends: list[SourceError | None] = []
        self._lock = threading.Lock()
        self._arrived: SimpleQueue[None] = SimpleQueue()
        self._emptied: SimpleQueue[None] = SimpleQueue()

    def put(self, block: Block) -> bool:
        """Wait for room and add; False once the channel has ended."""
        while not self._ends:
            with self._lock:
                if self._frames < self._maximum:
                    self._add(block)
                    return True
            self._emptied.get()
        return False

    def offer(self, block: Block) -> None:
        """Add at once, at the cost of the oldest audio if there is no room."""
        with self._lock:
            if self._ends:
                return
            self._add(block)
            while self._frames > self._maximum and len(self._blocks) > 1:
                dropped = len(self._blocks.pop(0).samples)
                self._frames -= dropped
                self._dropped_frames += dropped

    def take(self, timeout: float | None = None) -> list[Block] | None:
        """Everything that has arrived, waiting for the first; empty after `timeout` seconds; None at the end."""
        while True:
            ended = bool(self._ends)  # before the blocks: what came before the end is still returned
            with self._lock:
                blocks, self._blocks = self._blocks, []
                was_full, self._frames = self._frames >= self._maximum, 0
            if was_full:
                self._emptied.put(None)
            if blocks:
                return blocks
            if ended:
                if self._ends[0] is not None:
                    raise self._ends[0]
                return None
            try:
                self._arrived.get(timeout=timeout)
            except Empty:
                return []

    def take_dropped_frames(self) -> int:
        """Frames dropped since the last call."""
        with self._lock:
            dropped, self._dropped_frames = self._dropped_frames, 0
            return dropped

    def end(self, error: SourceError | None = None) -> None:
        """Nothing more comes; the first call's reason counts."""
        self._ends.append(error)
        self._arrived.put(None)
        self._emptied.put(None)

    def _add(self, block: Block) -> None:
        self._blocks.append(block)
        self._frames += len(block.samples)
        if self._arrived.empty():  # one wake-up is enough, and a listener that is behind reads none
            self._arrived.put(None)
