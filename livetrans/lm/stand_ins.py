"""Names that a small translator does not know, as tokens of its vocabulary: a *stand-in* is evaluated in their place.

Our own. A translator that was trained on few texts spoils a name that its vocabulary lacks, and often the sentence
around it. So each name that is found in the source becomes one token there, with an id behind the vocabulary. The model
is evaluated with a name that it has as one token ("Tom"), and in its rows of logits the name takes that one's place. A
name is thus written whole or not at all, in drafts, under masks and where decoding stops, and decoders need no rule for
it. While the output has a name less often than the source, its logits gain `GAIN` nats, and then they lose `LOSS`.

Rows are copied only for a source with names; without them the model's own are passed on. Measurements: docs/design.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby
from typing import Self

import numpy as np
from numpy.typing import NDArray

from livetrans.base.languages import Language
from livetrans.base.text import has_unspaced_script
from livetrans.lm.port import Counts, Evaluation, LanguageModel, ModelWrapper
from livetrans.names.wanted import COPIES_NAMES, Glossary, Wanted

GAIN, LOSS = 2.0, 4.0
LIMIT = 4.0
"""Most nats that a name may cost, with its gain, where a final that lacks it is decoded again."""
_COPIED = ("Tom", "Boston", "Washington", "Lincoln")
_COPIED_TOO = {"de": ("London", "Paris")}
"""Names that most languages change."""
_WRITTEN = {"ja": (("Tom", "トム"), ("Mary", "メアリー"))}
"""Stand-ins for a language that writes them otherwise, each with its spelling there."""


def stand_ins(source: Language, target: Language) -> Sequence[tuple[str, str]]:
    """Return names in a source and a target language, the best known first."""
    if source.code not in COPIES_NAMES:
        return ()
    if target.code not in COPIES_NAMES:
        return _WRITTEN.get(target.code, ())
    return [(name, name) for name in (*_COPIED, *_COPIED_TOO.get(target.code, ()))]


@dataclass(frozen=True, slots=True)
class StandIn:
    """A name that the model has as one token."""

    text: str
    """As the source writes it."""
    said: int
    """Its token in the source."""
    written: dict[int, tuple[str, str]]
    """Tokens of the output that have it, with their text before and after it."""
    hidden: tuple[int, ...]
    """Tokens of the output that a name takes the place of."""
    begins: tuple[bool, ...]
    """Whether each of `written` begins a word; where words have no spaces, all do."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name with a stand-in: the ids of its tokens."""

    stand_in: StandIn
    said: int
    written: range

    @property
    def beginnings(self) -> list[int]:
        """Those in an output that begin a word."""
        return [token for token, begins in zip(self.written, self.stand_in.begins, strict=True) if begins]


class NameTokens:
    """The tokens of names, shared by all contexts of a run; ids never change."""

    def __init__(self, model: LanguageModel, size: int, names: Iterable[tuple[str, str]]) -> None:
        """`size`: number of tokens in the model's vocabulary. `names`: stand-ins, as source and output write them."""
        self._model, self.size, self._pairs = model, size, tuple(names)
        self.names: dict[int, Name] = {}
        """By the id in the source."""
        self._ids: dict[tuple[str, str, str], Name] = {}
        self.tokens: list[int] = []
        """The model's tokens, by the ids behind the vocabulary."""
        self.texts: list[bytes] = []

    @cached_property
    def stand_ins(self) -> tuple[StandIn, ...]:
        """The stand-ins that the vocabulary has. Reads all of it."""
        pieces = [self._model.detokenize((token,)).decode("utf-8", "ignore") for token in range(self.size)]
        others = [written for _, written in self._pairs]
        found = []
        for said, written in self._pairs:
            tokens = self._model.tokenize(f"{said} {said}")
            spaced = not has_unspaced_script(written)
            having = tuple(token for token, piece in enumerate(pieces) if written in piece)
            texts = {token: parts for token in having if (parts := _around(pieces[token], written, others))}
            if len(tokens) == 2 and tokens[0] == tokens[1] and any(parts[1] == "" for parts in texts.values()):
                begins = tuple(not spaced or parts[0] != "" for parts in texts.values())
                found.append(StandIn(said, tokens[0], texts, tuple(texts) if spaced else having, begins))
        return tuple(found)

    def name(self, wanted: Wanted, stand_in: StandIn) -> Name:
        """Return the tokens of a name, new ones where it has none yet."""
        key = wanted.term, wanted.text, stand_in.text
        if key not in self._ids:
            said = self.size + len(self.tokens)
            name = self._ids[key] = Name(stand_in, said, range(said + 1, said + 1 + len(stand_in.written)))
            self.tokens += [stand_in.said, *stand_in.written]
            texts = [f" {wanted.term}", *(wanted.text.join(parts) for parts in stand_in.written.values())]
            self.texts += [text.encode() for text in texts]
            self.names[said] = name
        return self._ids[key]


def _around(piece: str, name: str, others: Iterable[str]) -> tuple[str, str] | None:
    """Return what a piece of a vocabulary has before and after a name; None if it is another word, or has two."""
    before, _, after = piece.partition(name)
    is_another = any(map(after.__contains__, others)) if has_unspaced_script(name) else after not in ("", "s")
    return None if is_another or before.strip() else (before, after)


class WithNames(ModelWrapper):
    """A context of a translator with the tokens of names."""

    def __init__(
        self, model: LanguageModel, tokens: NameTokens, shared: int | None = None, glossary: Glossary | None = None
    ) -> None:
        """`shared`: number of leading tokens of the vocabulary that the model has too, if it is another one."""
        self._wrapped, self._names, self._shared = model, tokens, shared
        self.glossary = glossary or Glossary()
        """What the source's names are found by."""

    def over(self, model: LanguageModel) -> Self:
        """Return another context with the names that hold now."""
        return type(self)(model, self._names, self._shared, self.glossary)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        tokens = [] if special else self._with_names(text)
        return tokens or self._wrapped.tokenize(text, special=special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        size = self._names.size
        if not self._names.tokens:
            return self._wrapped.detokenize(tokens)
        parts = groupby(tokens, lambda token: token >= size)
        return b"".join(
            b"".join(self._names.texts[token - size] for token in part)
            if are_names
            else self._wrapped.detokenize(list(part))
            for are_names, part in parts
        )

    def is_end_of_generation(self, token: int) -> bool:
        return token < self._names.size and self._wrapped.is_end_of_generation(token)

    def evaluate(self, context: Sequence[int], last_rows: int = 1) -> Evaluation:
        evaluation = self._wrapped.evaluate(self.plain(context), last_rows)
        has_names = bool(self._names.tokens) and max(context) >= self._names.size  # A draft may have one of before.
        if not has_names and self._shared is None:
            return evaluation
        logits = evaluation.logits[:, : self._shared]
        return replace(evaluation, logits=self._with_columns(logits, context) if has_names else logits)

    def move(self, context: Sequence[int], held: Sequence[int], count: int) -> Counts | None:
        return self._wrapped.move(self.plain(context), self.plain(held), count)

    def missing(self, context: Sequence[int], output: Sequence[int]) -> list[int]:
        """Return the tokens that would begin names which a source has more often than the output."""
        return [
            token
            for name in self._in(context)
            if context.count(name.said) > sum(one in name.written for one in output)
            for token in name.beginnings
        ]

    def _in(self, context: Sequence[int]) -> list[Name]:
        if not self._names.tokens:
            return []
        return [self._names.names[token] for token in dict.fromkeys(context) if token in self._names.names]

    def plain(self, tokens: Sequence[int]) -> Sequence[int]:
        size, names = self._names.size, self._names.tokens
        return [names[token - size] if token >= size else token for token in tokens] if names else tokens

    def _with_columns(self, logits: NDArray[np.float32], context: Sequence[int]) -> NDArray[np.float32]:
        """Return rows (rows, vocabulary and names) in which names take the place of their stand-ins."""
        count, size = len(logits), self._names.size
        least = logits.min(axis=1, keepdims=True)
        rows = np.empty((count, size + len(self._names.tokens)), np.float32)
        rows[:, : logits.shape[1]], rows[:, logits.shape[1] :] = logits, least
        for name in self._in(context):
            rows[:, name.written.start : name.written.stop] = logits[:, list(name.stand_in.written)]
            rows[:, list(name.stand_in.hidden)] = least
            written = [*accumulate(token in name.written for token in context)][-count:]
            due = context.count(name.said) > np.array(written)
            rows[:, name.beginnings] += GAIN * due[:, None]
            rows[:, name.written.start : name.written.stop] -= LOSS * ~due[:, None]
        return rows

    def _with_names(self, text: str) -> list[int]:
        """Return the tokens of a text with the names in it; empty if it has none, or they do not fit into it."""
        found = [place for place in self.glossary.found(text) if place[2].is_name]
        free = [one for one in self._names.stand_ins if one.text not in text] if found else []
        chosen: dict[Wanted, Name] = {}
        written, end = "", 0
        for begin, after, wanted in found:
            if wanted not in chosen and free and not self._knows(wanted):
                chosen[wanted] = self._names.name(wanted, free.pop(0))
            if wanted in chosen:
                written += text[end:begin]
                written += " " * (written != "" and not written[-1].isspace()) + chosen[wanted].stand_in.text
                end = after
        if not chosen:
            return []
        ids = {name.stand_in.said: name.said for name in chosen.values()}
        tokens = [ids.get(token, token) for token in self._wrapped.tokenize(written + text[end:])]
        fits = sum(map(tokens.count, ids.values())) == sum(wanted in chosen for _, _, wanted in found)
        return tokens if fits else []

    def _knows(self, wanted: Wanted) -> bool:
        """Return whether the model has a name that stays as it is as one token."""
        return wanted.term == wanted.text and len(self._wrapped.tokenize(wanted.term)) == 1
