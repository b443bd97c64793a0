"""Double-token bidirectional decoding: a step writes two tokens, one at the head of the output and one at its tail.

Source: *Transformer-based Double-token Bidirectional Autoregressive Decoding in Neural Machine Translation* (Imamura
and Sumita, WAT 2020), equation 6 and Algorithm 1, with a beam of width 1. It needs a model that was trained for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from livetrans.base.errors import ModelError, UsageError
from livetrans.base.sequences import loop_length
from livetrans.config import DecodingSettings
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.decoding.verification import accepted_length
from livetrans.events import Span
from livetrans.lm.rows import Logits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from livetrans.lm.llama.double import TailPieces
    from livetrans.lm.port import Evaluation


def double(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Write pairs until one has an end of generation, which is the paper's EOD (Algorithm 1).

    The prompt's last token begins the head, and its tail piece the tail, as the paper's BOS and EOS do. Both halves of
    the previous output are the draft, verified in one pass, as SSBD verifies a whole one.

    Raises:
        ModelError: the model writes from the head alone.
        UsageError: the prompt is another family's, and ends with a token that has no tail piece.
    """
    tails: TailPieces | None = getattr(decoding.model, "tail_pieces", None)
    if tails is None:
        raise ModelError(f"{decoding.model.name} writes from the head alone; double needs a double-token model")
    last = tails.ids.get(decoding.prompt[-1])
    if last is None:
        raise UsageError(f"{decoding.model.name} has a prompt of its own; drop --prompt")
    decoding.prompt.append(last)
    ends = _Ends(decoding, tails)
    ends.verify(draft.tokens, settings.bias)
    while ends.step():
        pass
    return ends.decoded()


class _Ends:
    """An output that grows from both ends, in pieces; its middle comes last."""

    def __init__(self, decoding: Decoding, tails: TailPieces) -> None:
        self._decoding = decoding
        self._first, self._pieces, self._ids = tails.first, tails.pieces, tails.ids
        self._heads: list[int] = []
        self._tails: list[int] = []
        """From the output's last token inwards."""
        self._next: tuple[int, int] | None = None
        self._accepted = 0, 0

    def verify(self, draft: Sequence[int], bias: float) -> None:
        """Evaluate the draft's pairs with what the cache lacks of the prompt; accept those before the divergence.

        The middle token of an odd number is not drafted, because the tail's end stands beside it. In the pair that
        diverges, the half that did not keeps its draft token.
        """
        decoding = self._decoding
        most = min(len(draft), decoding.maximum_tokens - 1) // 2
        tails = list(takewhile(self._ids.__contains__, draft[::-1][:most]))
        heads = draft[: len(tails)]
        started = decoding.model.clock.now()
        evaluation, *rows = self._evaluate(heads, tails, len(tails) + 1)
        of_heads, of_tails = map(Logits, rows)
        numbers = [self._ids[piece] - self._first for piece in tails]
        kept = accepted_length(of_heads, heads, bias), accepted_length(of_tails, numbers, bias)
        both = min(kept)
        self._heads, self._tails = list(heads[:both]), tails[:both]
        self._accepted = both + (kept[0] > both), both + (kept[1] > both)
        self._next = (
            heads[both] if kept[0] > both else of_heads.choice(both),
            tails[both] if kept[1] > both else self._pieces[of_tails.choice(both)],
        )
        decoding.count_pass(evaluation, (*heads, *tails), started)

    def step(self) -> bool:
        """Append the next pair, evaluated unless it is known. Return whether the output goes on."""
        decoding = self._decoding
        if self._next is None:
            started = decoding.model.clock.now()
            evaluation, of_heads, of_tails = self._evaluate(self._heads, self._tails, 1)
            self._next = int(of_heads[0].argmax()), self._pieces[int(of_tails[0].argmax())]
            seconds = decoding.model.clock.now() - started
            decoding.count(evaluation, decoding_steps=1, decoding_seconds=seconds)
        ended = [decoding.model.is_end_of_generation(piece) for piece in self._next]
        for half, piece, is_end in zip((self._heads, self._tails), self._next, ended, strict=True):
            if not is_end and not self._is_full:
                half.append(piece)
        self._next = None
        return not any(ended) and not self._is_over

    @property
    def _is_full(self) -> bool:
        return len(self._heads) + len(self._tails) >= self._decoding.maximum_tokens

    @property
    def _is_over(self) -> bool:
        """Whether the output has reached the length cap, or one of its halves is a repetition loop."""
        return self._is_full or loop_length(self._heads) > 0 or loop_length(self._tails) > 0

    def decoded(self) -> Decoded:
        """Return both halves in reading order, and what they cost."""
        decoding, (head, tail) = self._decoding, self._accepted
        decoding.output = [*self._heads, *reversed(self._tails)]
        length = len(decoding.output)
        spans = Span(0, head), Span(length - tail, length)
        decoding.accepted = [span for span in spans if span.begin < span.end]
        return decoding.decoded(truncated=self._is_over)

    def _evaluate(
        self, heads: Sequence[int], tails: Sequence[int], rows: int
    ) -> tuple[Evaluation, NDArray[np.float32], NDArray[np.float32]]:
        """Return the evaluation and the logits after the last `rows` pairs: (rows, pieces) and (rows, tail pieces)."""
        pairs = zip(heads, tails, strict=True)
        context = [*self._decoding.prompt, *(token for head, tail in pairs for token in (head, self._ids[tail]))]
        evaluation = self._decoding.model.evaluate(context, 2 * rows)
        return evaluation, evaluation.logits[0::2, : self._first], evaluation.logits[1::2, self._first :]
