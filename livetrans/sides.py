"""The two sides of a run, ready to go: what is heard, and what is written about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from livetrans.events import Transcript
from livetrans.stages import Presenting, Publish, Translating


class Hearing(Protocol):
    """The listening side, ready to run: a source with its recogniser, or a recorded transcript stream."""

    def transcripts(self, publish: Publish) -> Iterator[Transcript]: ...

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None: ...


class Speaking(Translating, Protocol):
    """A translator whose bias moves while it runs."""

    bias: float

    def set_mask_k(self, k: int) -> None: ...


class Showing(Presenting, Protocol):
    """A presenter whose mask moves while it runs."""

    k: int


@dataclass(frozen=True, slots=True)
class TranslatingSide:
    """The translating side, ready to run."""

    translator: Speaking
    presenter: Showing
    signature: dict[str, str | int | float | bool | None]
    close: Callable[[], None]
