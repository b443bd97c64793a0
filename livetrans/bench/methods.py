"""The methods of a run, parsed from what the user writes, and the clock that times them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from livetrans.clock import Clock, ProcessorClock, SystemClock
from livetrans.config import FINALS, GAMMA, MOST_GAMMA, PAPER, DecodingSettings, MaskSettings, SamplingSettings
from livetrans.decoding import DECODERS, Decoder
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
    "rt", "ssbd@0.2", "ssbd@0.2+fresh",
    "window3@0", "window7@0+careful", "window7@0+fresh", "window160@0+careful", "cd",
)  # fmt: skip
"""What the calm table sets side by side: the paper's method, and the calm settings between `rt` and `cd`."""

METHOD_SETS = {"paper": PAPER_METHODS, "calm": CALM_METHODS}
"""What `--methods` takes in place of a list."""

REPEATS = 3
"""How often a run does everything, unless told otherwise."""

QUICK_SENTENCES, QUICK_REPEATS = 20, 2
"""Of `--quick`: with the translator of the tree and the paper's methods about a minute."""

TIMES = ("wall", "cpu")
"""Time as it passes, or the processor's time of the measuring thread."""

AUTO = "auto"
"""Written for a gamma that is chosen by measured times; the run file has 0 for it."""

_WRITTEN = re.compile(
    r"(?P<decoder>[a-z]+)(?P<window>\d{1,3})?(?:@(?P<value>[^+]*))?"
    rf"(?:\+(?P<final>{'|'.join(FINALS)}))?(?:\+(?P<draft>draft)(?P<gamma>\d{{1,2}}|{AUTO})?)?"
    r"(?:\+(?P<mask>mask|display)(?P<k>\d{1,3}))?"
)
_BETWEEN = re.compile(r",(?=\s*[a-z]|\s*$)")
"""Between two methods; the comma of `bild@0.6,3` is not one."""
_NO_BIAS = "the bias in {} is not a number from 0 to 1; write for example ssbd@0.2"
_NO_THRESHOLDS = (
    "the thresholds in {} are not a probability from 0 to 1 and a distance from 0 to 1000 nats; write for example "
    "bild@0.6,3"
)


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the method table; what its decoder does not have is None."""

    label: str
    decoder: str
    bias: float | None = None
    output_mask_k: int = 0
    window: int | None = None
    final: str = "partial"
    gamma: int | None = None
    fallback: float | None = None
    rollback: float | None = None

    @property
    def drafted(self) -> bool:
        """Whether it works with a draft model."""
        return self.gamma is not None or self.fallback is not None


def parse_methods(text: str, usual: DecodingSettings | None = None) -> tuple[Method, ...]:
    """Return the methods of `rt,ssbd@0.2,window8@0+careful` in that order, without doubles; `rt` is added.

    A display-only mask (`+display3`) changes nothing but what is shown: its method is run plain, and tables mask it.
    Bias and window that are not written are those of `usual`, and so are finals where neither is written; else finals
    are decoded like any update, as in the paper. A bias of 0 is for the decoder of `usual` alone: another one takes the
    paper's. A name in `METHOD_SETS`, alone, stands for its methods.

    Raises:
        UsageError: a method, bias or mask that does not exist.
    """
    methods = [parse_method(part, usual) for part in split_methods(text)]
    if not methods:
        raise UsageError("no method is named; write for example rt,ssbd@0.2,cd")
    if BASELINE not in {method.label for method in methods}:
        methods.insert(0, parse_method(BASELINE))
    return tuple({method.label: method for method in methods}.values())


def split_methods(text: str) -> list[str]:
    """Return the methods of a list as they are written, or those of a set."""
    parts = METHOD_SETS.get(text.strip(), _BETWEEN.split(text))
    return [part.strip() for part in parts if part.strip()]


def parse_method(text: str, usual: DecodingSettings | None = None) -> Method:
    """Return one method, in its usual spelling: `ssbd` is `ssbd@0.2`, `ssbd@0.20+display3` is run as `ssbd@0.2`."""
    if text in METHOD_SETS:
        raise UsageError(
            f"{text!r} is a set of methods, to be given alone; a single method is for example ssbd@0.2 (the paper's) "
            "or window7@0+careful (the default)"
        )
    written = _WRITTEN.fullmatch(text)
    if written is None or written["decoder"] not in DECODERS:
        examples = [*DECODERS, *PAPER_METHODS, *CALM_METHODS, *METHOD_SETS]
        close = difflib.get_close_matches(text.lower(), examples, n=1)
        known = ", ".join(map(_form, DECODERS.values()))
        advice = f"did you mean {close[0]}?" if close else f"choose from {known} (`livetrans bench run --help`)"
        raise UsageError(f"there is no method {text!r}; {advice}")
    decoder, k, value = DECODERS[written["decoder"]], int(written["k"] or 0), written["value"]
    if "@" not in _form(decoder) and value is not None:
        raise UsageError(f"{decoder.name} has no bias, so {text!r} is not a method; write {decoder.name}")
    if decoder.final is None and (written["window"] or written["final"] == "careful"):
        raise UsageError(f"{decoder.name} has no window, so {text!r} is not a method; write {_form(decoder)}")
    if decoder.draft_model != "can" and written["draft"]:
        raise UsageError(f"{decoder.name} takes no +draft, so {text!r} is not a method; write {_form(decoder)}")
    if written["mask"] and k == 0:
        raise UsageError(f"the mask in {text!r} hides nothing; give it 1 token or more")
    usual = usual or PAPER.decoding
    method = Method("", decoder.name, output_mask_k=k if written["mask"] == "mask" else 0)
    if written["draft"]:
        method = replace(method, gamma=_gamma(text, written["gamma"]))
    if decoder.name == "spec":
        method = replace(method, gamma=_gamma(text, value))
    elif decoder.name == "bild":
        limits = [usual.fallback, usual.rollback] if value is None else _numbers(text, value, (1, 1000), _NO_THRESHOLDS)
        method = replace(method, fallback=limits[0], rollback=limits[1])
    if decoder.biased:
        # With its bias or window written, a method is the one of that label in every run.
        usual_bias = usual.bias if decoder.name == usual.method or usual.bias else PAPER.decoding.bias
        final = written["final"] or ("partial" if value is not None or written["window"] else usual.final)
        final = "partial" if decoder.final is None and final == "careful" else final
        bias = usual_bias if value is None else _numbers(text, value, (1,), _NO_BIAS)[0]
        method = replace(method, bias=bias, final=final)
    if decoder.final:
        method = replace(method, window=int(written["window"] or usual.window))
    return labelled(method)


def _form(decoder: Decoder) -> str:
    """Return how a method of the decoder is written."""
    value = {"spec": "@GAMMA", "bild": "@FALLBACK,ROLLBACK"}.get(decoder.name, "@BIAS" if decoder.biased else "")
    return decoder.name + value


def labelled(method: Method) -> Method:
    """Return the method with its usual label."""
    gamma = AUTO if method.gamma == 0 else method.gamma
    label = method.decoder + ("" if method.window is None else str(method.window))
    if method.fallback is not None:
        label += f"@{method.fallback:g},{method.rollback:g}"
    elif method.bias is not None:
        label += f"@{method.bias:g}"
    elif method.decoder == "spec":
        label += f"@{gamma}"
    label += "" if method.final == "partial" else f"+{method.final}"
    if method.gamma is not None and method.decoder != "spec":
        label += "+draft" if gamma == GAMMA else f"+draft{gamma}"
    return replace(method, label=f"{label}+mask{method.output_mask_k}" if method.output_mask_k else label)


def _numbers(text: str, written: str, most: Sequence[float], complaint: str) -> list[float]:
    """Return the numbers behind a method's @, each from 0 to its `most`; no minus zero, 6 decimals as in labels."""
    try:
        numbers = [float(part) for part in written.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(most) or not all(0.0 <= one <= bound for one, bound in zip(numbers, most, strict=True)):
        raise UsageError(complaint.format(repr(text)))
    return [abs(round(one, 6)) for one in numbers]


def _gamma(text: str, written: str | None) -> int:
    if written in (None, AUTO):
        return 0 if written else GAMMA
    gamma = int(written) if written and written.isdecimal() else 0
    if not 1 <= gamma <= MOST_GAMMA:
        raise UsageError(f"the gamma in {text!r} is not a number from 1 to {MOST_GAMMA}, nor {AUTO}")
    return gamma


def settings_of(
    method: Method, maximum_output_tokens: int, sampling: SamplingSettings | None = None
) -> tuple[DecodingSettings, MaskSettings]:
    """Return how a translator runs the method."""
    usual = DecodingSettings()
    decoding = DecodingSettings(
        method=method.decoder,
        bias=method.bias or 0.0,
        final=method.final,
        window=usual.window if method.window is None else method.window,
        fallback=usual.fallback if method.fallback is None else method.fallback,
        rollback=usual.rollback if method.rollback is None else method.rollback,
        sampling=sampling,
        maximum_output_tokens=maximum_output_tokens,
    )
    # A display-only mask leaves the draft whole; careful finals have to know which tokens were not shown.
    mask = MaskSettings("output", method.output_mask_k) if method.output_mask_k else MaskSettings()
    return decoding, mask


def clock_for(measured: str, threads: int) -> Clock:
    """Return the clock of a measurement, by its name in `TIMES`.

    Raises:
        UsageError: processor time with several threads, whose times would be added up.
    """
    if measured == "wall":
        return SystemClock()
    if threads != 1:
        raise UsageError(f"--time cpu would add up the times of {threads} threads; measure with --threads 1")
    return ProcessorClock()
