"""Double-token order: a target written from both ends, a token of its head and one of its tail at a time.

Source: Imamura and Sumita, WAT 2020 (`livetrans/decoding/double.py`), section 3.2: divide the tokens into halves,
reverse the right one, fold the halves alternately, and supply one or two end-of-decoding tokens, so that their number
is even.

Two tokens of one step share a place, so a token of the tail has an id of its own to be known from one of the head: the
*tail pieces*, a second set, numbered behind the vocabulary. It has the pieces that right halves of targets have, not
all: the embeddings are most of a small model's file.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.corpus import Sources

if TYPE_CHECKING:
    import sentencepiece

LEAST_COUNT = 5
"""Pieces that are rarer in right halves are no tail pieces; a target that has one is not learnt."""


class Tails:
    """The tail piece of a piece: `tails[piece]` is its id; `pieces` are the pieces in the order of the ids."""

    def __init__(self, pieces: Iterable[int], vocabulary: int) -> None:
        self.pieces = list(pieces)
        self._ids = {piece: vocabulary + number for number, piece in enumerate(self.pieces)}

    def __getitem__(self, piece: int) -> int:
        return self._ids[piece]

    def __contains__(self, piece: int) -> bool:
        return piece in self._ids

    def __len__(self) -> int:
        return len(self.pieces)


def right_half(target: list[int]) -> list[int]:
    """The tokens that are written from the end; the left half has the middle one of an odd number."""
    return target[(len(target) + 1) // 2 :]


def find_tails(path: Path, sources: Sources, tokenizer: sentencepiece.SentencePieceProcessor) -> Tails:
    """The tail pieces of these sources' targets, kept in a file; first where a tail begins, `<|tgt|>`, and its end."""
    if not path.exists():
        targets = tokenizer.encode([target for _, group in sources for target in group])
        counts = collections.Counter(piece for target in targets for piece in right_half(target))
        pieces = sorted(piece for piece, count in counts.items() if count >= LEAST_COUNT)
        marks = [tokenizer.piece_to_id("<|tgt|>"), tokenizer.eos_id()]
        path.write_text("".join(f"{piece}\n" for piece in [*marks, *pieces]), encoding="utf-8")
    return read_tails(path, tokenizer)


def read_tails(path: Path, tokenizer: sentencepiece.SentencePieceProcessor) -> Tails:
    """The tail pieces that `find_tails` kept."""
    return Tails(map(int, path.read_text(encoding="utf-8").split()), tokenizer.get_piece_size())


def in_pairs(target: list[int], begin: int, end: int, tails: Tails) -> list[int]:
    """`begin` twice, the target from both ends, and one or two `end`s; empty where a tail piece is missing."""
    left, right = target[: (len(target) + 1) // 2], right_half(target)[::-1]
    if not all(piece in tails for piece in right):
        return []
    heads = [begin, *left, *([end] if len(left) == len(right) else [])]
    folded = zip(heads, [begin, *right, end], strict=True)
    return [token for head, tail in folded for token in (head, tails[tail])]
