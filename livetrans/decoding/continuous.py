"""Continuous decoding (CD): the previous output is forced and only appended to: no erasure, and no second thoughts."""

from __future__ import annotations

from collections.abc import Sequence

from livetrans.decoding.decoder import Decoded, Decoding
from livetrans.lm.port import LanguageModel


class ContinuousDecoding:
    """The limit of SSBD at a large bias (paper Table 3), without asking for the draft's logits."""

    name = "cd"

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def decode(self, prompt: Sequence[int], draft: Sequence[int], *, bias: float, maximum_tokens: int) -> Decoded:
        draft = draft[:maximum_tokens]
        decoding = Decoding(self._model, prompt, maximum_tokens)
        evaluation = decoding.first_pass(draft, 1)
        decoding.accept(draft)
        return decoding.finish(int(evaluation.logits[-1].argmax()))
