"""The numbers on the panel: the format and the meaning of each, in one table that the help screen reads too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

from livetrans.metrics.monitor import Snapshot
from livetrans.text import duration

DASH = "–"
"""Shown for a number without a measurement; zero is a measurement."""

FLOOR_DECIBELS = -60.0
"""Level at which the meter is empty: a quiet room through a usual microphone."""


@dataclass(frozen=True, slots=True)
class Number:
    """A line of the panel."""

    label: str
    write: Callable[[Snapshot], str]
    meaning: str
    """One sentence for the help screen."""


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers that belong together."""

    title: str
    numbers: tuple[Number, ...]


def ratio(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.0f} %"


def seconds(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def rate(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def estimate(value: float | None) -> str:
    return DASH if value is None else f"~{value:.2f}×"


def memory(value: int | None) -> str:
    if value is None:
        return DASH
    return f"{value / 1e6:.0f} MB" if value < 1e9 else f"{value / 1e9:.2f} GB"


def heard(snapshot: Snapshot) -> str:
    return (
        duration(snapshot.heard)
        if snapshot.total is None
        else f"{duration(snapshot.heard)} / {duration(snapshot.total)}"
    )


def mask(snapshot: Snapshot) -> str:
    return "none" if snapshot.mask_mode == "none" else f"{snapshot.mask_k} {snapshot.mask_mode}"


def meter_share(level: float) -> float:
    """How full the meter is, 0..1, for a root mean square level of 0..1; in decibels, as loudness is perceived."""
    if level <= 0:
        return 0.0
    return min(1.0, max(0.0, 1.0 - 20 * log10(level) / FLOOR_DECIBELS))


def meter(level: float, cells: int) -> tuple[str, str]:
    """The full and the empty part of a meter of `cells` cells."""
    full = round(meter_share(level) * cells)
    return "━" * full, "╌" * (cells - full)


GROUPS = (
    Group(
        "Run",
        (
            Number("heard", heard, "How much sound has been processed, and of how much where that is known."),
            Number(
                "calm",
                lambda s: s.calm or "own",
                "The settings chosen together: still, balanced or faithful; own after a single one was set.",
            ),
            Number("method", lambda s: s.method, "The decoder that translates each update."),
            Number(
                "bias",
                lambda s: ratio(s.bias),
                "Preference for the draft, the previous translation: 0 gives what a translation from scratch gives.",
            ),
            Number("mask-k", mask, "How many last tokens of an unfinished caption are hidden."),
        ),
    ),
    Group(
        "Calm",
        (
            Number(
                "NE",
                lambda s: f"{ratio(s.ne_raw)} → {ratio(s.ne_shown)}",
                "Normalized erasure in a segment: tokens taken back per token of the finals; by the model → as shown.",
            ),
            Number(
                "NE screen",
                lambda s: ratio(s.ne_screen),
                "The same for the screen: words taken back, per word shown, all captions as one text. Lower is calmer.",
            ),
            Number(
                "changes/min",
                lambda s: rate(s.changes_per_minute),
                "How often a caption took words back, a minute of sound.",
            ),
            Number("hidden", lambda s: rate(s.hidden_tokens), "Tokens that the mask hid, mean an update."),
            Number(
                "stable after",
                lambda s: seconds(s.stability_median),
                "Time from the end of a spoken word to the last change of its translation; half took less.",
            ),
        ),
    ),
    Group(
        "Decoding",
        (
            Number(
                "speedup",
                lambda s: estimate(s.speedup_estimate),
                "Estimated time of translating each update from scratch, divided by the time measured.",
            ),
            Number("A/D", lambda s: percent(s.accepted_per_draft), "Accepted tokens per draft token."),
            Number(
                "A/O",
                lambda s: percent(s.accepted_per_output),
                "Accepted tokens per output token.",
            ),
            Number("tokens/s", lambda s: rate(s.tokens_per_second), "Output tokens per second of translation."),
        ),
    ),
    Group(
        "Lag",
        (
            Number(
                "seen median",
                lambda s: seconds(s.seen_lag_median),
                "Time from the end of a spoken word until the mask no longer hides what came of it; half took less.",
            ),
            Number("seen p95", lambda s: seconds(s.seen_lag_p95), "The same; nineteen of twenty took less."),
        ),
    ),
    Group(
        "Machine",
        (
            Number("ASR pass", lambda s: seconds(s.pass_seconds_last), "Duration of the recogniser's last pass."),
            Number(
                "ASR RTF",
                lambda s: ratio(s.real_time_factor),
                "Real-time factor: recognition time per second of sound; above 1 the recogniser falls behind.",
            ),
            Number(
                "coalesced",
                lambda s: str(s.coalesced_updates),
                "Updates that were replaced by a newer one before they were translated.",
            ),
            Number(
                "skipped",
                lambda s: seconds(s.skipped_seconds),
                "Sound that was lost because the machine was too slow.",
            ),
            Number("memory", lambda s: memory(s.memory_bytes), "Memory that livetrans uses."),
        ),
    ),
)
