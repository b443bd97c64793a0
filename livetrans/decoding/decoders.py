"""The paper's decoders, each a few lines over the decoding loop."""

from __future__ import annotations

from livetrans.config import DecodingSettings
from livetrans.decoding.loop import Decoded, Decoding, Draft


def retranslation(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Re-translation (RT): greedy decoding from scratch at each update (arXiv 2509.21740v2, equation 1)."""
    return decoding.finish()


def ssbd(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Self-Speculative Biased Decoding: the previous output is the draft (arXiv 2509.21740v2, Algorithm 1).

    With an empty draft this is re-translation. At bias 0 the output is re-translation's, up to the numerics of batched
    against single evaluation (none for Q8_0 on x86 CPUs).
    """
    decoding.verify(draft.tokens, settings.bias)
    return decoding.finish()


def continuous(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Continuous decoding (CD): the output is append-only, the limit of SSBD at a large bias (Table 3)."""
    decoding.force(draft.tokens)
    return decoding.finish()
