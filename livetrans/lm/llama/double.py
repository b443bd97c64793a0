"""Models of double-token decoding (`livetrans.decoding.double`): the two tokens of a pair share a position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llama_cpp
import numpy as np

from livetrans.base.errors import ModelError
from livetrans.config import LanguageModelSettings
from livetrans.lm.llama.cells import LlamaCells
from livetrans.lm.llama.model import LlamaModel

TAIL_MARK = "<|tail|>"
"""Before the text of a piece: its tail piece."""


@dataclass(frozen=True)
class TailPieces:
    """The second set of pieces of a double-token model, with which it writes an output from its end.

    Ours: the two tokens of a pair share a position, so that an id of its own has to tell the tail's from the head's.
    """

    first: int
    """Its token ids are first, first + 1, ...; those below are the pieces themselves."""
    pieces: tuple[int, ...]
    """The piece that each of them stands for."""

    @cached_property
    def ids(self) -> dict[int, int]:
        """The tail piece of each piece that has one."""
        return {piece: self.first + number for number, piece in enumerate(self.pieces)}


class PairedCells(LlamaCells):
    """A context in which tail pieces have the position of the token before them; both attend to each other."""

    def __init__(self, model: Any, settings: LanguageModelSettings, threads: int, rows: int, tails: TailPieces) -> None:
        self._first_tail = tails.first
        super().__init__(model, settings, threads, rows)
        # llama.cpp divides a longer batch wherever it is full, and would part a pair.
        self._pass_tokens: int = llama_cpp.llama_n_ubatch(self._context)
        self.can_move = False

    def _positions(self, tokens: Sequence[int], begin: int, end: int) -> Sequence[int]:
        positions: list[int] = (np.cumsum(np.asarray(tokens[:end]) < self._first_tail) - 1)[begin:].tolist()
        return positions

    def _is_joined(self, tokens: Sequence[int], at: int) -> bool:
        return 0 < at < len(tokens) and tokens[at] >= self._first_tail


class DoubleModel(LlamaModel):
    """A double-token model."""

    tail_pieces: TailPieces

    def _check_kind(self) -> None:
        """Find the tail pieces: the text of each is a mark and the text of its piece."""
        written = self.metadata("livetrans.first_tail")
        if written is None:
            raise ModelError(f"{self._path} is not a double-token model; name one, or choose another method")
        first, mark = int(written) if written.isdecimal() else 0, TAIL_MARK.encode()
        texts = [llama_cpp.llama_vocab_get_text(self.vocabulary, token) for token in range(self.vocabulary_size)]
        pieces = {text: token for token, text in enumerate(texts[:first])}
        tails = [pieces.get(text.removeprefix(mark)) for text in texts[first:]]
        known = tuple(piece for piece in tails if piece is not None)
        if not 0 < len(known) == len(tails):
            raise ModelError(f"{self._path} is a double-token model with damaged tail pieces; export it again")
        self.tail_pieces = TailPieces(first, known)

    def _open_cells(self, rows: int) -> LlamaCells:
        return PairedCells(self._model, self._settings, self.threads, rows, self.tail_pieces)
