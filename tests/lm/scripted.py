"""A language model made of a rule: for tests of everything above the port, with the port's real bookkeeping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np

from livetrans.base.clock import ManualClock
from livetrans.base.errors import ContextError
from livetrans.base.sequences import common_prefix_length
from livetrans.lm.llama.double import TailPieces
from livetrans.lm.port import Counts, Evaluation

if TYPE_CHECKING:
    from numpy.typing import NDArray

END, SOURCE, TARGET, BEGIN = 0, 1, 2, 3
_MARKS = {"<|src|>": SOURCE, "<|tgt|>": TARGET, "<s>": BEGIN, "</s>": END}
_FIRST_WORD = 4

Rule = Callable[["ScriptedModel", Sequence[int]], "NDArray[np.float32]"]
"""Logits (vocabulary,) of the token after a context."""


def prompt_of(source: Sequence[int]) -> list[int]:
    """The prompt of a source whose words are tokens already."""
    return [BEGIN, SOURCE, *source, TARGET]


class ScriptedModel:
    """Words are tokens, numbered as they are met; the rule gives the logits; `evaluate` costs what the port would
    count.

    `seconds_per_pass` and `seconds_per_token` make time a function of the counts. With `double` it is a double-token
    model: each id has a tail piece, `vocabulary_size` ids behind it, and both rows of a pair see the whole pair.
    """

    name = "scripted"
    beginning_tokens = (BEGIN,)
    can_move = True

    def __init__(
        self,
        rule: Rule,
        *,
        vocabulary_size: int = 512,
        context_tokens: int = 1024,
        maximum_rows: int = 161,
        seconds_per_pass: float = 0.0,
        seconds_per_token: float = 0.0,
        double: bool = False,
    ) -> None:
        self._rule = rule
        self.tail_pieces = TailPieces(vocabulary_size, tuple(range(vocabulary_size))) if double else None
        self.vocabulary_size = vocabulary_size
        self.context_tokens = context_tokens
        self.maximum_rows = maximum_rows
        self._seconds = (seconds_per_pass, seconds_per_token)
        self.clock = ManualClock()
        self._words: list[str] = [*"_" * _FIRST_WORD]
        self._ids: dict[str, int] = {}
        self._cached: list[int] = []
        self._contexts = [self]

    def metadata(self, key: str) -> str | None:
        return {"general.architecture": "scripted", "general.name": self.name}.get(key)

    def token(self, word: str) -> int:
        """The word's id, new words getting the next free one."""
        if word not in self._ids:
            if len(self._words) >= self.vocabulary_size:
                raise ContextError(f"the scripted vocabulary of {self.vocabulary_size} words is full")
            self._ids[word] = len(self._words)
            self._words.append(word)
        return self._ids[word]

    def word(self, token: int) -> str:
        return self._words[token] if token < len(self._words) else f"w{token}"

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        if special:
            for mark in _MARKS:
                text = text.replace(mark, f" {mark} ")
        return [_MARKS[word] if special and word in _MARKS else self.token(word) for word in text.split()]

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return "".join(f" {self.word(token)}" for token in tokens if token >= _FIRST_WORD).encode()

    def is_end_of_generation(self, token: int) -> bool:
        return token == END

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        context = list(context)
        if len(context) > self.context_tokens or not 0 < last_rows <= min(self.maximum_rows, len(context)):
            raise ContextError(f"{len(context)} tokens and {last_rows} rows do not fit the scripted model")
        kept = min(common_prefix_length(self._cached, context), len(context) - last_rows)
        self._cached = context
        rows = [self._row(context, end) for end in range(len(context) - last_rows + 1, len(context) + 1)]
        per_pass, per_token = self._seconds
        self.clock.advance(per_pass + per_token * (len(context) - kept))
        return Evaluation(kept, len(context) - kept, 1, np.stack(rows))

    def _row(self, context: list[int], end: int) -> NDArray[np.float32]:
        tails = self.tail_pieces
        if tails is None:
            return self._rule(self, context[:end])
        seen = context[: end + 1] if end < len(context) and context[end] >= tails.first else context[:end]
        return np.concatenate((self._rule(self, seen), self._rule(self, [*seen, tails.first])))

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        if not self.can_move or self._cached[: len(held)] != list(held):
            return None
        kept = common_prefix_length(held[: len(held) - count], context)
        self._cached = [*context, *held[len(held) - count :]]
        per_pass, per_token = self._seconds
        evaluated = len(context) - kept
        self.clock.advance((per_pass if evaluated else 0.0) + per_token * evaluated)
        return Counts(kept, evaluated, min(evaluated, 1))

    def another_context(self) -> Self:
        other = copy(self)
        other._cached = []
        self._contexts.append(other)
        return other

    def reload(self) -> None:
        for context in self._contexts:
            context._cached = []

    def close(self) -> None:
        self._cached = []


@cache
def _noise(vocabulary_size: int) -> NDArray[np.float32]:
    """Return normally distributed numbers, (distributions, vocabulary)."""
    return np.random.default_rng(0).normal(size=(4096, vocabulary_size)).astype(np.float32)


def hashed_rule(seed: int = 0, *, end_weight: float = 1.0) -> Rule:
    """Arbitrary but repeatable logits: another distribution after every context, the end more likely as it grows."""

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        noise = _noise(model.vocabulary_size)
        # Python's hash of integers is the same in every process.
        logits = noise[hash((seed, *context)) % len(noise)].copy()
        written = len(context) - 1 - context.index(TARGET) if TARGET in context else len(context)
        logits[END] += np.float32(end_weight * written / 4)
        logits[1:_FIRST_WORD] = -50.0
        return logits

    return rule


def noisy_rule(rule: Rule, noise: float, seed: int = 1000) -> Rule:
    """A draft model's rule: the logits of another rule with noise."""
    other = hashed_rule(seed)

    def noisy(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = rule(model, context) + np.float32(noise) * other(model, context)
        return logits

    return noisy


def word_by_word_rule(
    translate: Callable[[str], str] = str.upper, *, certainty: float = 6.0, unsure_of_last: bool = True
) -> Rule:
    """Translate word by word; while the source has no closing punctuation its last word is guessed, and guessed wrong.

    `certainty` is the logit of the right token above all others: small values let a bias keep wrong drafts.
    """

    def rule(model: ScriptedModel, context: Sequence[int]) -> NDArray[np.float32]:
        if TARGET not in context:  # a part of a prompt
            return np.zeros(model.vocabulary_size, dtype=np.float32)
        source = [model.word(token) for token in context[context.index(SOURCE) + 1 : context.index(TARGET)]]
        written = len(context) - 1 - context.index(TARGET)
        target = [translate(word) for word in source]
        if unsure_of_last and source and source[-1][-1] not in ".!?":
            target[-1] = f"({target[-1]})"
        logits = np.zeros(model.vocabulary_size, dtype=np.float32)
        logits[model.token(target[written]) if written < len(target) else END] = certainty
        return logits

    return rule
