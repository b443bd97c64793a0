"""The table of decoders: each takes a prompt and the segment's previous output, and writes the next output.

The paper's own are here, a few lines each over the decoding loop. docs/adding.md shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from livetrans.config import DecodingSettings
from livetrans.decoding.double import double
from livetrans.decoding.drafting import MOST_SMALL_TOKENS, DraftModel, Proposal
from livetrans.decoding.keeping import careful_prefix, kept_prefix
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.decoding.verification import log_probability
from livetrans.decoding.window import careful_final, live_window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from livetrans.lm.llama.model import LlamaModel

Decode = Callable[[Decoding, Draft, DecodingSettings], Decoded]
"""Takes a decoding that has just begun and the draft, empty at a segment's first update."""


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


def speculative(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Speculative decoding from scratch at each update: re-translation with a draft model.

    Greedily it writes what re-translation does, as far as batched and single evaluation round alike; where tokens are
    drawn, they have the target's own distribution.
    """
    return decoding.finish()


def bild(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Fallback and rollback (*Speculative Decoding with Big Little Decoder*, arXiv 2302.07863, Algorithm 1).

    The small model writes, and the large one takes over where the small one is unsure or wrong; the previous output is
    not used.

    *Fallback*: where the small model's highest probability is not above `settings.fallback`, the large model writes the
    token, after a review of what the small one wrote. *Rollback*: there the first token whose distance exceeds
    `settings.rollback` is replaced, and those after it are dropped. The distance is the cross-entropy of the small
    model's token under the large model, -log p_L(token), in nats. Other than Algorithm 1, a small model that ends the
    output is reviewed too, so that nothing is shown that the large model has not seen.
    """

    def review(rows: NDArray[np.float32], proposal: Proposal) -> tuple[int, int]:
        for place, token in enumerate(proposal.judged):
            if -log_probability(rows[place], token) > settings.rollback:
                return place, decoding.choose(rows[place])
        length = len(proposal.tokens)
        return length, decoding.choose(rows[length]) if proposal.end is None else proposal.end

    while not decoding.is_over:
        decoding.propose_and_review(MOST_SMALL_TOKENS, review, confidence=settings.fallback)
        if not decoding.step():
            break
    return decoding.decoded()


_MODEL = "livetrans.lm.llama.model:LlamaModel"
DraftModelUse = Literal["none", "can", "must"]
Asked = Literal["text", "scores", "logits"]


@dataclass(frozen=True, slots=True)
class Decoder:
    """A row of the table."""

    name: str
    summary: str
    """Text of `--help` after the name."""
    decode: Decode
    uses: tuple[str, ...] = ()
    """The fields of `DecodingSettings` that some decoders use and others do not, of which this one takes these."""
    final: Decode | None = None
    """Decodes careful finals; None if they are decoded like updates."""
    draft_model: DraftModelUse = "can"
    """Draft model support: `none`, `can` or `must`."""
    draws: bool = False
    """Whether it can draw tokens, which needs an output that is not drafted from the previous one."""
    model: str = _MODEL
    """The module and the class of the models that it works with."""
    asks: Asked = "logits"
    """What it asks of a model: to write on, also for the probabilities of a draft, or for whole rows of logits."""

    @property
    def biased(self) -> bool:
        return "bias" in self.uses

    @property
    def has_own_model(self) -> bool:
        """Whether it needs a model that no other decoder can use."""
        return self.model != _MODEL

    def model_class(self) -> type[LlamaModel]:
        module, _, name = self.model.partition(":")
        found: type[LlamaModel] = getattr(import_module(module), name)
        return found


# fmt: off
DECODERS: dict[str, Decoder] = {
    row.name: row
    for row in (
        Decoder("rt", "anew at each update", retranslation, draft_model="none", draws=True, asks="text"),
        Decoder("ssbd", "with the previous output as a draft", ssbd, ("bias",), asks="scores"),
        Decoder("window", "with the end of the previous output as a draft", live_window,
                ("bias", "window", "margin", "final_window", "early_stop"), final=careful_final, asks="scores"),
        Decoder("prefix", "after the beginning of the previous output", kept_prefix, ("window", "final_window"),
                final=careful_prefix, draft_model="none", asks="text"),
        Decoder("cd", "by appending only", continuous, asks="text"),
        Decoder("spec", "anew, with a draft model", speculative, draft_model="must", draws=True),
        Decoder("bild", "anew, with a draft model that the translator corrects", bild, ("fallback", "rollback"),
                draft_model="must", draws=True),
        Decoder("double", "from both ends, with a model made for that", double, ("bias",), draft_model="none",
                model="livetrans.lm.llama.double:DoubleModel"),
    )
}
# fmt: on


def of_server(*, is_exact: bool) -> list[str]:
    """Return the decoders that a server can serve, which scores drafts (`is_exact`) or only writes on."""
    return [row.name for row in DECODERS.values() if row.asks == "text" or (is_exact and row.asks == "scores")]


__all__ = ["DECODERS", "Decoded", "Decoder", "Decoding", "Draft", "DraftModel", "of_server"]
