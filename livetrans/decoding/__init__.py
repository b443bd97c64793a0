"""How a translation is decoded: every decoder is a row of one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livetrans.decoding.decoders import continuous, retranslation, ssbd
from livetrans.decoding.loop import Decoded, Decoding


@dataclass(frozen=True, slots=True)
class Decoder:
    """A row of the table: how a prompt and the segment's previous output become the next output."""

    name: str
    summary: str
    """What `--help` says after the name."""
    biased: bool
    """Whether the bias means something to it."""
    decode: Callable[[Decoding, Sequence[int], float], Decoded]
    """Takes a decoding that has just begun, the draft (the previous output, empty at a segment's first update) and the
    bias."""


DECODERS: dict[str, Decoder] = {
    row.name: row
    for row in (
        Decoder("rt", "anew at each update", False, retranslation),
        Decoder("ssbd", "with the previous output as a draft", True, ssbd),
        Decoder("cd", "by appending only", False, continuous),
    )
}

__all__ = ["DECODERS", "Decoded", "Decoder", "Decoding"]
