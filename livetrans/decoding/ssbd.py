"""Self-Speculative Biased Decoding (SSBD): the previous output is the draft, verified in one biased pass.

Source: *Self-Speculative Biased Decoding for Faster Re-translation*, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from livetrans.decoding.decoder import Decoded, Decoding
from livetrans.decoding.verification import verify
from livetrans.lm.port import LanguageModel


class SelfSpeculativeBiasedDecoding:
    """Verify the draft in one pass, keep it up to the divergence, go on greedily from there.

    With an empty draft this is re-translation. At bias 0 the output is re-translation's, up to the numerics of batched
    against single evaluation (none for Q8_0 on x86 CPUs).
    """

    name = "ssbd"

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def decode(self, prompt: Sequence[int], draft: Sequence[int], *, bias: float, maximum_tokens: int) -> Decoded:
        draft = draft[:maximum_tokens]
        decoding = Decoding(self._model, prompt, maximum_tokens)
        evaluation = decoding.first_pass(draft, len(draft) + 1)
        verification = verify(evaluation.logits, draft, bias)
        decoding.accept(draft[: verification.accepted_tokens])
        return decoding.finish(verification.next_token)
