"""The language-model port: token ids in, logits out, and nothing about caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from livetrans.clock import Clock


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Result of one `evaluate`: the logits, and what it took.

    `logits` has shape (last_rows, vocabulary) float32: row i predicts the token after position `len(context) -
    last_rows + i`. It is a view that is valid until the next `evaluate`.
    """

    logits: NDArray[np.float32]
    reused_tokens: int
    """Leading tokens of the context that the cache already held."""
    evaluated_tokens: int
    """The others: tokens that went through the model."""
    forward_passes: int


@dataclass(frozen=True)
class TailPieces:
    """The second set of pieces of a double-token model, with which it writes an output from its end.

    Ours: the two tokens of a pair share a position, so that an id of its own has to tell the tail's from the head's.
    """

    first: int
    """Its token ids are first, first + 1, ...; those below are the pieces themselves."""
    pieces: tuple[int, ...]
    """Which piece each of them stands for."""

    @cached_property
    def ids(self) -> dict[int, int]:
        """The tail piece of each piece that has one."""
        return {piece: self.first + number for number, piece in enumerate(self.pieces)}


class LanguageModel(Protocol):
    """A causal language model with one context, owned by one thread."""

    @property
    def name(self) -> str: ...

    @property
    def clock(self) -> Clock:
        """What measures the model's time; the decoding loop reads it around evaluation and arithmetic together."""

    @property
    def context_tokens(self) -> int:
        """Longest context that `evaluate` takes."""

    @property
    def maximum_rows(self) -> int:
        """Most rows of logits one `evaluate` can give."""

    @property
    def beginning_tokens(self) -> tuple[int, ...]:
        """What every prompt starts with: the begin-of-sequence token where the model was trained with one."""

    @property
    def tail_pieces(self) -> TailPieces | None:
        """None for all but double-token models."""

    def metadata(self, key: str) -> str | None:
        """A scalar of the model file's metadata as text, None where it has no such key."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of the text; `special` makes control tokens written in it count as such (templates only, never
        speech).
        """

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """The tokens' text as bytes, control tokens left out; may end inside a UTF-8 character."""

    def is_end_of_generation(self, token: int) -> bool: ...

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        """Logits after each of the last `last_rows` tokens of the context.

        Keeps the longest common token prefix with the context of the call before and evaluates the rest. A tail piece
        shares the position of the token before it: the two are a pair, and each attends to the other.

        Raises:
            ContextError: the context is longer than `context_tokens`, or `last_rows` than `maximum_rows`.
        """

    @property
    def can_move(self) -> bool:
        """Whether `move` works: not where positions cannot be shifted, nor with a sliding window."""

    def move(self, context: Sequence[int], begin: int, end: int) -> Evaluation:
        """Put tokens begin..end of the last context behind `context`, without evaluating them again.

        What `context` shares with the last one is kept, its rest is evaluated without logits. The moved cells get the
        positions behind it and are *stale*: their keys and values saw the tokens that stood before them earlier.

        Raises:
            ContextError: there are no such tokens in the last context, or `can_move` is False.
        """

    def close(self) -> None:
        """Free the model; it is not used afterwards."""


Wrapped = TypeVar("Wrapped", bound=LanguageModel)


class ModelWrapper(Generic[Wrapped]):
    """A language model that passes every call on to another; a subclass overrides what it does otherwise."""

    _wrapped: Wrapped

    @property
    def name(self) -> str:
        return self._wrapped.name

    @property
    def clock(self) -> Clock:
        return self._wrapped.clock

    @property
    def context_tokens(self) -> int:
        return self._wrapped.context_tokens

    @property
    def maximum_rows(self) -> int:
        return self._wrapped.maximum_rows

    @property
    def beginning_tokens(self) -> tuple[int, ...]:
        return self._wrapped.beginning_tokens

    @property
    def can_move(self) -> bool:
        return self._wrapped.can_move

    @property
    def tail_pieces(self) -> TailPieces | None:
        return self._wrapped.tail_pieces

    def metadata(self, key: str) -> str | None:
        return self._wrapped.metadata(key)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        return self._wrapped.tokenize(text, special=special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return self._wrapped.detokenize(tokens)

    def is_end_of_generation(self, token: int) -> bool:
        return self._wrapped.is_end_of_generation(token)

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        return self._wrapped.evaluate(context, last_rows)

    def move(self, context: Sequence[int], begin: int, end: int) -> Evaluation:
        return self._wrapped.move(context, begin, end)

    def close(self) -> None:
        self._wrapped.close()
