"""The numbers on the panel: how each is written and what it means, in one table that the help screen reads too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

from livetrans.metrics.snapshot import Snapshot

DASH = "–"
"""What stands for a number that was not measured yet; zero is a measurement."""

FLOOR_DECIBELS = -60.0
"""Level at which the meter is empty: a quiet room heard through a usual microphone."""


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


def clock(value: float | None) -> str:
    """Seconds as minutes and seconds, with hours from the first hour on."""
    if value is None:
        return DASH
    minutes, second = divmod(int(value), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def heard(snapshot: Snapshot) -> str:
    return clock(snapshot.heard) if snapshot.total is None else f"{clock(snapshot.heard)} / {clock(snapshot.total)}"


def mask(snapshot: Snapshot) -> str:
    return "none" if snapshot.mask_mode == "none" else f"{snapshot.mask_k} {snapshot.mask_mode}"


def meter_share(level: float) -> float:
    """How full the meter is, 0..1, for a root mean square level of 0..1: decibels, as ears hear."""
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
            Number("heard", heard, "How much sound has been heard, of how much there is."),
            Number("method", lambda s: s.method, "The decoder that re-translates each update."),
            Number(
                "bias", lambda s: ratio(s.bias), "How strongly the translation keeps to its draft: 0 rewrites freely."
            ),
            Number(
                "mask-k", mask, "How many last tokens of an unfinished caption are held back until they are steadier."
            ),
        ),
    ),
    Group(
        "Decoding",
        (
            Number(
                "NE raw",
                lambda s: ratio(s.ne_raw),
                "Tokens the model took back, per token of the finished translation.",
            ),
            Number(
                "NE shown",
                lambda s: ratio(s.ne_shown),
                "The same for what you saw: the flicker that is left. Lower is calmer.",
            ),
            Number(
                "speedup",
                lambda s: estimate(s.speedup_estimate),
                "Estimated gain over translating each update from scratch.",
            ),
            Number("A/D", lambda s: percent(s.accepted_per_draft), "Share of the draft's tokens that were accepted."),
            Number(
                "A/O",
                lambda s: percent(s.accepted_per_output),
                "Share of the output's tokens that came from the draft.",
            ),
            Number("tokens/s", lambda s: rate(s.tokens_per_second), "Output tokens per second of translating."),
        ),
    ),
    Group(
        "Lag",
        (
            Number(
                "lag",
                lambda s: seconds(s.lag_last),
                "Time from the end of the last spoken word to its translation here.",
            ),
            Number("lag median", lambda s: seconds(s.lag_median), "Half of all captions came faster than this."),
            Number("lag p95", lambda s: seconds(s.lag_p95), "Nineteen of twenty captions came faster than this."),
        ),
    ),
    Group(
        "Machine",
        (
            Number("ASR pass", lambda s: seconds(s.pass_seconds_last), "How long the recogniser's last pass took."),
            Number(
                "ASR RTF",
                lambda s: ratio(s.real_time_factor),
                "Recognition time per second of sound; above 1 it can't keep up.",
            ),
            Number(
                "coalesced",
                lambda s: str(s.coalesced_updates),
                "Updates skipped because a newer one was already there.",
            ),
            Number(
                "skipped",
                lambda s: seconds(s.skipped_seconds),
                "Sound that was lost because the machine could not keep up.",
            ),
            Number("memory", lambda s: memory(s.memory_bytes), "Memory that livetrans uses."),
        ),
    ),
)
