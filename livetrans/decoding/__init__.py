"""How a translation is decoded: one file a decoder, chosen from this table."""

from __future__ import annotations

from collections.abc import Callable

from livetrans.decoding.continuous import ContinuousDecoding
from livetrans.decoding.decoder import Decoded, Decoder
from livetrans.decoding.retranslation import ReTranslation
from livetrans.decoding.ssbd import SelfSpeculativeBiasedDecoding
from livetrans.lm.port import LanguageModel

DECODERS: dict[str, Callable[[LanguageModel], Decoder]] = {
    ReTranslation.name: ReTranslation,
    SelfSpeculativeBiasedDecoding.name: SelfSpeculativeBiasedDecoding,
    ContinuousDecoding.name: ContinuousDecoding,
}

__all__ = ["DECODERS", "Decoded", "Decoder"]
