"""The methods of a run, parsed from what the user writes, and the clock that times them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from livetrans.bench.runfile import MethodRecord
from livetrans.clock import Clock, ProcessorClock, SystemClock
from livetrans.config import FINALS, DecodingSettings, MaskSettings
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

CALM_METHODS = (
    "rt", "ssbd@0.2", "ssbd@0.2+exact", "window3@0.2", "window8@0.2", "window3@0.2+worth", "window3@0.2+exact", "cd",
)  # fmt: skip
"""What the calm table sets side by side: the paper's method, each step beyond it alone, and all of them."""

METHOD_SETS = {"paper": PAPER_METHODS, "calm": CALM_METHODS}
"""What `--methods` takes in place of a list."""

REPEATS = 3
"""How often a run does everything, unless told otherwise."""

QUICK_SENTENCES, QUICK_REPEATS = 20, 2
"""Of `--quick`: with the translator of the tree and the paper's methods about a minute."""

TIMES = ("wall", "cpu")
"""Time as it passes, or the processor's time of the measuring thread."""

_WRITTEN = re.compile(
    r"(?P<decoder>[a-z]+)(?P<window>\d{1,3})?(?:@(?P<bias>[^+]*))?"
    rf"(?:\+(?P<final>{'|'.join(FINALS)}))?(?:\+(?P<mask>mask|display)(?P<k>\d{{1,3}}))?"
)


def parse_methods(text: str, usual: DecodingSettings | None = None) -> tuple[MethodRecord, ...]:
    """Methods from `rt,ssbd@0.2,window8@0.2+worth`, in that order, without doubles; `rt` is added where it is missing.

    A display-only mask (`+display3`) changes nothing but what is shown: its method is run plain, and tables mask it.
    Bias, window and finals that are not written are those of `usual`; by default finals are decoded like any update, as
    in the paper. A name in `METHOD_SETS` stands for its methods.

    Raises:
        UsageError: a method, bias or mask that does not exist.
    """
    written = METHOD_SETS.get(text.strip(), text.split(","))
    methods = [parse_method(part.strip(), usual) for part in written if part.strip()]
    if not methods:
        raise UsageError("no method is named; write for example rt,ssbd@0.2,cd")
    if BASELINE not in {method.label for method in methods}:
        methods.insert(0, parse_method(BASELINE))
    return tuple({method.label: method for method in methods}.values())


def parse_method(text: str, usual: DecodingSettings | None = None) -> MethodRecord:
    """One method, in its usual spelling: `ssbd` is `ssbd@0.2`, `ssbd@0.20+display3` is run as `ssbd@0.2`."""
    written = _WRITTEN.fullmatch(text)
    if written is None or written["decoder"] not in DECODERS:
        known = ", ".join(f"{row.name}@BIAS" if row.biased else row.name for row in DECODERS.values())
        raise UsageError(
            f"there is no method {text!r}; choose from {known}, with +{' or +'.join(FINALS)} for finals and +maskK for "
            "an output mask (for example window8@0.2+worth)"
        )
    decoder, k = DECODERS[written["decoder"]], int(written["k"] or 0)
    if not decoder.biased and written["bias"] is not None:
        raise UsageError(f"{decoder.name} has no bias, so {text!r} is not a method; write {decoder.name}")
    if decoder.final is None and (written["window"] or written["final"] == "worth"):
        raise UsageError(f"{decoder.name} has no window, so {text!r} is not a method; write {decoder.name}")
    usual = usual or DecodingSettings(final="partial")
    bias = window = None
    final = "partial"
    if decoder.biased:
        bias = usual.bias if written["bias"] is None else _bias(text, written["bias"])
        final = written["final"] or usual.final
    if decoder.final is None and final == "worth":
        final = "partial"
    if decoder.final:
        window = int(written["window"] or usual.window)
    if written["mask"] and k == 0:
        raise UsageError(f"the mask in {text!r} hides nothing; give it 1 token or more")
    return labelled(MethodRecord("", decoder.name, bias, k if written["mask"] == "mask" else 0, window, final))


def labelled(method: MethodRecord) -> MethodRecord:
    """The method with its usual label."""
    label = method.decoder + ("" if method.window is None else str(method.window))
    label += "" if method.bias is None else f"@{method.bias:g}"
    label += "" if method.final == "partial" else f"+{method.final}"
    return replace(method, label=f"{label}+mask{method.output_mask_k}" if method.output_mask_k else label)


def _bias(text: str, written: str) -> float:
    try:
        bias = float(written)
    except ValueError:
        bias = -1.0
    if not 0.0 <= bias <= 1.0:
        raise UsageError(f"the bias in {text!r} is not a number from 0 to 1")
    # As many decimals as the label and the run file keep; no minus zero.
    return abs(round(bias, 6))


def settings_of(method: MethodRecord, maximum_output_tokens: int) -> tuple[DecodingSettings, MaskSettings]:
    """How a translator runs the method."""
    decoding = DecodingSettings(
        method=method.decoder,
        bias=method.bias or 0.0,
        final=method.final,
        window=DecodingSettings().window if method.window is None else method.window,
        maximum_output_tokens=maximum_output_tokens,
    )
    # A display-only mask leaves the draft whole; finals by worth have to know which tokens were not shown.
    mask = MaskSettings("output", method.output_mask_k) if method.output_mask_k else MaskSettings()
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
