"""How a translation is decoded: every decoder is a row of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from livetrans.config import DecodingSettings
from livetrans.decoding.decoders import continuous, retranslation, ssbd
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.decoding.window import final_by_worth, live_window

Decode = Callable[[Decoding, Draft, DecodingSettings], Decoded]
"""Takes a decoding that has just begun and the draft, empty at a segment's first update."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """A row of the table: how a prompt and the segment's previous output become the next output."""

    name: str
    summary: str
    """What `--help` says after the name."""
    biased: bool
    """Whether the bias means something to it."""
    decode: Decode
    final: Decode | None = None
    """How a final is decoded by worth; None where an update's decoding is the only one."""


DECODERS: dict[str, Decoder] = {
    row.name: row
    for row in (
        Decoder("rt", "anew at each update", False, retranslation),
        Decoder("ssbd", "with the previous output as a draft", True, ssbd),
        Decoder("window", "with the end of the previous output as a draft", True, live_window, final_by_worth),
        Decoder("cd", "by appending only", False, continuous),
    )
}

__all__ = ["DECODERS", "Decoded", "Decoder", "Decoding", "Draft"]
