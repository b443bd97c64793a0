"""The methods of a run: each a row of a small table, parsed from what the user writes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from livetrans.bench.records import MethodRecord
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.errors import UsageError

BASELINE = "rt"
"""Every speedup is against it, so every run has it."""

PAPER_METHODS = (
    "rt", "ssbd@0", "ssbd@0.1", "ssbd@0.2", "ssbd@0.3", "ssbd@0.4", "ssbd@0.5", "ssbd@1", "cd",
    "ssbd@0.2+mask3", "ssbd@0.2+mask5",
)  # fmt: skip
"""What Tables 2, 3, 4 and 6 need; the display-only mask is computed from `ssbd@0.2`'s own lines."""

_KINDS = {"rt": False, "ssbd": True, "cd": False}
"""Decoders that a run may use, and whether they have a bias."""

_WRITTEN = re.compile(r"(?P<decoder>[a-z]+)(?:@(?P<bias>[^+]*))?(?:\+(?P<mask>mask|display)(?P<k>\d{1,3}))?")


def parse_methods(text: str) -> tuple[MethodRecord, ...]:
    """Methods from `rt,ssbd@0.2,ssbd@0.2+mask3`, in that order, without doubles; `rt` is added where it is missing.

    A display-only mask (`+display3`) changes nothing but what is shown: its method is run plain, and tables mask it.

    Raises:
        UsageError: a method, bias or mask that does not exist.
    """
    methods = [parse_method(part.strip()) for part in text.split(",") if part.strip()]
    if not methods:
        raise UsageError("no method is named; write for example --methods rt,ssbd@0.2,cd")
    if BASELINE not in {method.label for method in methods}:
        methods.insert(0, parse_method(BASELINE))
    return tuple({method.label: method for method in methods}.values())


def parse_method(text: str) -> MethodRecord:
    """One method, in its usual spelling: `ssbd` is `ssbd@0.2`, `ssbd@0.20+display3` is run as `ssbd@0.2`."""
    written = _WRITTEN.fullmatch(text)
    if written is None or written["decoder"] not in _KINDS:
        raise UsageError(
            f"there is no method {text!r}; choose rt, ssbd@BIAS or cd, with +maskK for an output mask "
            "(for example ssbd@0.2+mask3)"
        )
    decoder, k = written["decoder"], int(written["k"] or 0)
    bias = _bias(text, written["bias"]) if _KINDS[decoder] else None
    if not _KINDS[decoder] and written["bias"] is not None:
        raise UsageError(f"{decoder} has no bias, as {text!r} wants; only ssbd has one")
    if written["mask"] and k == 0:
        raise UsageError(f"the mask in {text!r} hides nothing; give it 1 token or more")
    label = decoder if bias is None else f"{decoder}@{bias:g}"
    if written["mask"] == "mask":
        return MethodRecord(f"{label}+mask{k}", decoder, bias, k)
    return MethodRecord(label, decoder, bias)


def _bias(text: str, written: str | None) -> float:
    if written is None:
        return DecodingSettings().bias
    try:
        bias = float(written)
    except ValueError:
        bias = -1.0
    if not 0.0 <= bias <= 1.0:
        raise UsageError(f"the bias in {text!r} is not a number from 0 to 1")
    # As many decimals as the label and the run file keep; no minus zero.
    return abs(round(bias, 6))


def settings_of(method: MethodRecord, maximum_output_tokens: int) -> tuple[DecodingSettings, MaskSettings]:
    """How a translator runs the method; as in the paper, a sentence's last update is decoded like every other."""
    decoding = DecodingSettings(
        method=method.decoder,
        bias=method.bias or 0.0,
        final="partial",
        maximum_output_tokens=maximum_output_tokens,
    )
    mask = MaskSettings("output", method.output_mask_k) if method.output_mask_k else MaskSettings("none", 0)
    return decoding, mask


def masks_of(methods: Iterable[MethodRecord]) -> tuple[int, ...]:
    """The k of the output masks, rising."""
    return tuple(sorted({method.output_mask_k for method in methods} - {0}))
