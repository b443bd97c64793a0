"""Re-translation (RT): translate the grown source afresh at each update. The baseline of every speedup."""

from __future__ import annotations

from collections.abc import Sequence

from livetrans.decoding.decoder import Decoded, Decoding
from livetrans.lm.port import LanguageModel


class ReTranslation:
    """Greedy decoding from scratch; the draft and the bias are ignored (paper eq. 1)."""

    name = "rt"

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def decode(self, prompt: Sequence[int], draft: Sequence[int], *, bias: float, maximum_tokens: int) -> Decoded:
        decoding = Decoding(self._model, prompt, maximum_tokens)
        evaluation = decoding.first_pass((), 1)
        return decoding.finish(int(evaluation.logits[-1].argmax()))
