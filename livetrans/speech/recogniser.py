"""The recogniser port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from livetrans.events import Word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One pass's whole reading of the buffer; times in seconds from the buffer's start."""

    words: tuple[Word, ...]
    segment_ends: tuple[float, ...] = ()
    """Ends of the recogniser's own segments: where the buffer may be trimmed."""


class Recogniser(Protocol):
    """Recognises a buffer of speech from scratch; owned by one thread."""

    def recognise(self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False) -> Hypothesis:
        """Read the whole buffer.

        `samples`: mono 16 kHz in -1..1, shape (n,); `prompt`: text said before it; `final`: a segment's last pass.
        """
