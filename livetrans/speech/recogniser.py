"""The recogniser port: sound in, words with their times out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from livetrans.events import Word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The words of one pass over the whole buffer; times in seconds from the buffer's start."""

    words: tuple[Word, ...]
    segment_ends: tuple[float, ...] = ()
    """Ends of the recogniser's own segments, where the buffer may be trimmed."""
    language: str | None = None
    """Code of the spoken language, where it is detected or the user can change it; None without words."""
    likelihood: Callable[[str], float] | None = field(default=None, compare=False, repr=False)
    """Returns the log-probability of another text for the same sound; None if the engine does not tell."""
    log_probability: float = -math.inf
    """Mean of a token's, in nats: of the same sound in two languages, the likelier text has the higher one."""
    languages: Mapping[str, float] = field(default_factory=dict)
    """Probabilities of the spoken language, by code; empty unless the pass was given its language."""


class Recogniser(Protocol):
    """A model that recognises a buffer of speech from scratch; owned by one thread."""

    @property
    def maximum_length(self) -> float:
        """Seconds of sound that one pass recognises well: the limit of the buffer."""

    @property
    def trim_after(self) -> float:
        """Seconds of sound after which the buffer is shortened to what is not committed."""

    @property
    def left_context(self) -> float:
        """Seconds of committed sound that stay before it."""

    @property
    def sure(self) -> float:
        """Probability that uncommitted words are right at which they are shown, 0..1: the product of their own."""

    @property
    def hot_words(self) -> tuple[str, ...]:
        """The words that it is told to expect in the next pass; none if its model takes none."""

    def expect_words(self, words: tuple[str, ...]) -> None:
        """Expect these terms from the next pass on, as hot words as far as they fit; from any thread."""

    def expect_language(self, language: str | None) -> None:
        """Expect a language, by its code, from the next pass on; None detects it. From any thread.

        A model that does not know it goes on as before.
        """

    def in_language(self, language: str | None) -> Recogniser:
        """Return the same loaded model with a spoken language of its own, by its code; None detects it.

        Raises:
            UsageError: the model does not know it.
        """

    def reload(self) -> None:
        """Load the model again, also for the recognisers that share it: for a model that failed.

        Raises:
            ModelError: the model cannot be loaded any more.
        """

    def recognise(
        self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False, language: str | None = None
    ) -> Hypothesis:
        """Recognise the whole buffer.

        `samples`: mono 16 kHz in -1..1, shape (n,); `prompt`: text spoken before it; `final`: a segment's last pass;
        `language`: code of the language to recognise it in, instead of the recogniser's own.

        Raises:
            UsageError: the model does not know that language.
        """
