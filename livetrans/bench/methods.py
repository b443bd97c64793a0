"""The methods of a run, parsed from what the user writes, and the clock that times them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from livetrans.bench.runfile import MethodRecord
from livetrans.clock import Clock, ProcessorClock, SystemClock
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError

BASELINE = "rt"
"""Every speedup is against it, so every run has it."""

PAPER_DECODER = "ssbd"
"""What the paper's tables set against the baseline, at one bias."""

PAPER_METHODS = (
    "rt", "ssbd@0", "ssbd@0.1", "ssbd@0.2", "ssbd@0.3", "ssbd@0.4", "ssbd@0.5", "ssbd@1", "cd",
    "ssbd@0.2+mask3", "ssbd@0.2+mask5",
)  # fmt: skip
"""What Tables 2, 3, 4 and 6 need; the display-only mask is computed from `ssbd@0.2`'s own lines."""

TIMES = ("wall", "cpu")
"""Time as it passes, or the processor's time of the measuring thread."""

_WRITTEN = re.compile(r"(?P<decoder>[a-z]+)(?:@(?P<bias>[^+]*))?(?:\+(?P<mask>mask|display)(?P<k>\d{1,3}))?")


def parse_methods(text: str, bias: float | None = None) -> tuple[MethodRecord, ...]:
    """Methods from `rt,ssbd@0.2,ssbd@0.2+mask3`, in that order, without doubles; `rt` is added where it is missing.

    A display-only mask (`+display3`) changes nothing but what is shown: its method is run plain, and tables mask it.
    `bias` is of those that are written without one.

    Raises:
        UsageError: a method, bias or mask that does not exist.
    """
    methods = [parse_method(part.strip(), bias) for part in text.split(",") if part.strip()]
    if not methods:
        raise UsageError("no method is named; write for example rt,ssbd@0.2,cd")
    if BASELINE not in {method.label for method in methods}:
        methods.insert(0, parse_method(BASELINE))
    return tuple({method.label: method for method in methods}.values())


def parse_method(text: str, bias: float | None = None) -> MethodRecord:
    """One method, in its usual spelling: `ssbd` is `ssbd@0.2`, `ssbd@0.20+display3` is run as `ssbd@0.2`."""
    written = _WRITTEN.fullmatch(text)
    if written is None or written["decoder"] not in DECODERS:
        known = ", ".join(f"{row.name}@BIAS" if row.biased else row.name for row in DECODERS.values())
        raise UsageError(
            f"there is no method {text!r}; choose from {known}, with +maskK for an output mask "
            "(for example ssbd@0.2+mask3)"
        )
    decoder, k = DECODERS[written["decoder"]], int(written["k"] or 0)
    if not decoder.biased and written["bias"] is not None:
        raise UsageError(f"{decoder.name} has no bias, so {text!r} is not a method; write {decoder.name}")
    own_bias = None
    if decoder.biased:
        usual = DecodingSettings().bias if bias is None else bias
        own_bias = usual if written["bias"] is None else _bias(text, written["bias"])
    if written["mask"] and k == 0:
        raise UsageError(f"the mask in {text!r} hides nothing; give it 1 token or more")
    return method_record(decoder.name, own_bias, k if written["mask"] == "mask" else 0)


def method_record(decoder: str, bias: float | None, output_mask_k: int = 0) -> MethodRecord:
    """The method with its usual label."""
    label = decoder if bias is None else f"{decoder}@{bias:g}"
    return MethodRecord(f"{label}+mask{output_mask_k}" if output_mask_k else label, decoder, bias, output_mask_k)


def _bias(text: str, written: str) -> float:
    try:
        bias = float(written)
    except ValueError:
        bias = -1.0
    if not 0.0 <= bias <= 1.0:
        raise UsageError(f"the bias in {text!r} is not a number from 0 to 1")
    # As many decimals as the label and the run file keep; no minus zero.
    return abs(round(bias, 6))


def settings_of(
    method: MethodRecord, maximum_output_tokens: int, final_bias: float | None = None
) -> tuple[DecodingSettings, MaskSettings]:
    """How a translator runs the method; as in the paper, a segment's final is decoded like its partials.

    `final_bias` decodes finals with a bias of their own, as a live run does.
    """
    decoding = DecodingSettings(
        method=method.decoder,
        bias=method.bias or 0.0,
        final_bias=final_bias,
        maximum_output_tokens=maximum_output_tokens,
    )
    mask = MaskSettings("output", method.output_mask_k) if method.output_mask_k else MaskSettings("none", 0)
    return decoding, mask


def masks_of(methods: Iterable[MethodRecord]) -> tuple[int, ...]:
    """The k of the output masks, rising."""
    return tuple(sorted({method.output_mask_k for method in methods} - {0}))


def clock_for(measured: str, threads: int) -> Clock:
    """The clock of a measurement, by its name in `TIMES`.

    Raises:
        UsageError: processor time with several threads, whose times would be added up.
    """
    if measured == "wall":
        return SystemClock()
    if threads != 1:
        raise UsageError(f"--time cpu would add up the times of {threads} threads; measure with --threads 1")
    return ProcessorClock()
