"""The language-model port: token ids in, logits out, and nothing about caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from livetrans.lm.rows import Logits, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from livetrans.base.clock import Clock


@dataclass(frozen=True, slots=True)
class Counts:
    """The cost of one call of the model."""

    reused_tokens: int
    """Leading tokens of the context that the cache already held."""
    evaluated_tokens: int
    """The others: tokens that went through the model."""
    forward_passes: int


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Counts):
    """Result of one `evaluate`: the logits and their cost.

    `logits` has shape (last_rows, vocabulary) float32: row i predicts the token after position `len(context) -
    last_rows + i`. It is a view that is valid until the next `evaluate`.
    """

    logits: NDArray[np.float32]

    @property
    def rows(self) -> Rows:
        """What decoders ask of the logits."""
        return Logits(self.logits)


class LanguageModel(Protocol):
    """A causal language model with one context, owned by one thread."""

    @property
    def name(self) -> str: ...

    @property
    def clock(self) -> Clock:
        """Clock of the model's times; the decoding loop reads it before evaluation and after the arithmetic."""

    @property
    def context_tokens(self) -> int:
        """Longest context that `evaluate` takes."""

    @property
    def maximum_rows(self) -> int:
        """Most rows of logits one `evaluate` can give."""

    @property
    def beginning_tokens(self) -> tuple[int, ...]:
        """First tokens of every prompt: the begin-of-sequence token if the model was trained with one."""

    def metadata(self, key: str) -> str | None:
        """Return a scalar of the model file's metadata as text; None if it has no such key."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the token ids of the text.

        With `special`, control tokens written in the text become such tokens: for templates only, never for speech.
        """

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the tokens' text as bytes, control tokens left out; may end inside a UTF-8 character."""

    def is_end_of_generation(self, token: int) -> bool: ...

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        """Return the logits after each of the last `last_rows` tokens of the context.

        Keeps the longest common token prefix with the context of the call before and evaluates the rest.

        Raises:
            ContextError: the context is longer than `context_tokens`, or `last_rows` than `maximum_rows`.
            ModelError: the model failed, or its logits are not numbers.
        """

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        """Put the cells of the last `count` tokens of `held` after `context`, without evaluating these tokens again.

        Return None, and change nothing, unless the cache begins with the tokens of `held`; also if the model cannot
        shift positions or has a sliding window.

        The tokens that `context` shares with `held` are kept, its rest is evaluated without logits. Moved cells get the
        positions after it and are *stale*: their keys and values were computed after the earlier tokens.

        Raises:
            ContextError: the context and the moved tokens are longer than `context_tokens`.
        """

    def another_context(self) -> Self:
        """Return a second, empty context over the same weights; it is closed with this one, if not before."""

    def reload(self) -> None:
        """Load the weights again, and open all contexts over them anew, empty: for a model that failed.

        Raises:
            ModelError: the model cannot be loaded any more.
        """

    def close(self) -> None:
        """Free the model; it is not used afterwards."""


def unit_tokens(model: LanguageModel) -> float:
    """Return how many tokens one of the model's ids stands for: one, but for a server of text, whose ids are words."""
    return float(getattr(model, "unit_tokens", 1.0))


class ModelWrapper:
    """A language model that passes every call on to another, but for those that a subclass overrides."""

    _wrapped: LanguageModel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)
