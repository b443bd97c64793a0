"""What is given before anybody takes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Postponed(Generic[Item]):
    """What a source gives before its run begins: it is opened, and captures, while models load."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Item] = []
        self._take: Callable[[Item], None] | None = None

    def __call__(self, item: Item) -> None:
        with self._lock:
            take = self._take
            if take is None:
                self._waiting.append(item)
        if take is not None:
            take(item)

    def pass_to(self, take: Callable[[Item], None]) -> None:
        """Pass on what waits, and from then on each item as it comes."""
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, []
                if not waiting:
                    self._take = take
                    return
            for item in waiting:
                take(item)
