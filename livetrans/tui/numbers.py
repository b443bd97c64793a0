"""The numbers: one table with the format and meaning of each, which the panel shows and the help explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

from livetrans.metrics.monitor import Snapshot
from livetrans.text import duration

DASH = "–"
"""Shown for a number without a measurement; zero is a measurement."""

CUSTOM = "custom"
"""Shown where the settings are those of no calm setting."""

BEHIND_SECONDS = 3.0
"""Delay from which captions are called behind: a pause, a pass and a translation take up to two on a machine that keeps
up."""

FLOOR_DECIBELS = -60.0
"""Level at which the meter is empty: a quiet room through a usual microphone."""


@dataclass(frozen=True, slots=True)
class Number:
    """A line of the panel."""

    label: str
    write: Callable[[Snapshot], str]
    meaning: str
    """One sentence for the help screen."""
    label_now: Callable[[Snapshot], str | None] = lambda snapshot: None
    """What takes the label's place on the panel for a while."""


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
    mask = snapshot.settings.mask
    return "none" if mask.mode == "none" else f"{mask.k} {mask.mode}"


def left_out(snapshot: Snapshot) -> str | None:
    """Return the level of back-pressure; None in the normal one."""
    return None if snapshot.pressure == "normal" else snapshot.pressure


def keeping_up(snapshot: Snapshot) -> str:
    if left_out(snapshot):
        return f"{snapshot.behind_seconds:.0f} s"
    if snapshot.delay is None:
        return DASH
    return "yes" if snapshot.delay < BEHIND_SECONDS else f"{snapshot.delay:.0f} s behind"


def speedup(snapshot: Snapshot) -> str:
    return DASH if snapshot.speedup is None else f"{snapshot.speedup:.1f}×"


def flicker(snapshot: Snapshot, between: str = " vs ") -> str:
    """Return NE of the screen, and re-translation's in the sentences that were compared."""
    return f"{ratio(snapshot.ne_screen)}{between}{ratio(snapshot.ne_retranslation)}"


def meter_share(level: float) -> float:
    """How full the meter is, 0..1, for a root mean square level of 0..1; in decibels, as loudness is perceived."""
    if level <= 0:
        return 0.0
    return min(1.0, max(0.0, 1.0 - 20 * log10(level) / FLOOR_DECIBELS))


def meter(level: float, cells: int) -> tuple[str, str]:
    """Return the full and the empty part of a meter of `cells` cells."""
    full = round(meter_share(level) * cells)
    return "━" * full, "╌" * (cells - full)


HEARD = Number("heard", heard, "Minutes of sound that were processed, and of how many where that is known.")
CALM = Number(
    "calm",
    lambda s: s.settings.calm or CUSTOM,
    f"The settings chosen together: still, balanced or faithful; {CUSTOM} after a single one was set.",
)
CHANGES = Number(
    "changes/min",
    lambda s: rate(s.changes_per_minute),
    "Captions that took words back, a minute of sound. 0 is calmest; `--calm still` stays near it.",
)
SPEEDUP = Number(
    "speedup",
    lambda s: f"{speedup(s)} ({s.compared_updates})" if s.speedup else DASH,
    "How many times faster an update is than by re-translation, which translates everything afresh. It is measured: "
    "while the run is idle and keeps up, finished sentences are translated again (`--no-speedup` turns that off). In "
    "brackets how many updates were compared; a dash until there are five.",
)
FLICKER = Number(
    "flicker",
    flicker,
    "Words taken back from the screen, per word shown (NE); then what re-translation would have taken back under the "
    "same mask, in the sentences that were translated again for the speedup. 0 is calmest.",
)

LISTENER = Group(
    "Captions",
    (
        HEARD,
        Number(
            "lag growing",
            lambda s: seconds(s.lag_growing),
            "Median seconds from the end of a spoken word until its translation is shown, where that is in a caption "
            "that still grows. A dash where a recorded stream has no such times.",
        ),
        Number(
            "lag finals",
            lambda s: seconds(s.lag_finals),
            "The same where that is in the finished caption, which waits for a pause (0.8 s, `--pause`).",
        ),
        Number(
            "keeping up",
            keeping_up,
            f"Yes while the newest caption came less than {BEHIND_SECONDS:.0f} seconds after its last word; otherwise "
            "how late it was, or what is left out until the run has caught up, and the age of what waits.",
            left_out,
        ),
        SPEEDUP,
        FLICKER,
        CHANGES,
        CALM,
    ),
)
"""What someone who reads captions wants to know."""

RESEARCH = (
    Group(
        "Run",
        (
            CALM,
            Number("method", lambda s: s.settings.decoding.method, "The decoder that translates each update."),
            Number(
                "bias",
                lambda s: ratio(s.settings.decoding.bias),
                "Preference for the draft, the previous translation. With ssbd, 0 gives what a translation from "
                "scratch gives; with window, only the end of the draft can change at any bias.",
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
                "Normalized erasure in a segment: tokens taken back per token of the finals. First the model's output, "
                "then what the mask lets through. "
                "The tokens are the model's own; `bench` counts 13a tokens, so that its NE differs.",
            ),
            Number(
                "NE screen",
                lambda s: flicker(s, ", "),
                "The same for the screen: words taken back, per word shown, all captions as one text. Lower is calmer. "
                "Then re-translation's under the same mask, in the sentences that were compared for the speedup.",
            ),
            CHANGES,
            Number("hidden", lambda s: rate(s.hidden_tokens), "Tokens that the mask hid, mean an update."),
        ),
    ),
    Group(
        "Decoding",
        (
            Number(
                "A/D, A/O",
                lambda s: f"{percent(s.accepted_per_draft)}, {percent(s.accepted_per_output)}",
                "Accepted tokens per draft token, and per output token.",
            ),
            Number(
                "draft α",
                lambda s: percent(s.accepted_per_proposal),
                "Tokens of the draft model (`--draft-model`) that the translator accepted, per token that it judged; "
                "while they are new they are in italics.",
            ),
            Number(
                "tokens/s",
                lambda s: rate(s.tokens_per_second),
                "Output tokens per second of translation. The recogniser takes time from it: compare within one run. "
                "`replay FILE --compare window,ssbd` compares methods on all updates.",
            ),
            SPEEDUP,
        ),
    ),
    Group(
        "Lag",
        (
            Number(
                "seen",
                lambda s: f"{seconds(s.seen_lag_median)}, {seconds(s.seen_lag_p95)}",
                "Median seconds from the end of a spoken word until its translation is shown, not hidden by the mask; "
                "then the 95th percentile: 95 % took less.",
            ),
        ),
    ),
    Group(
        "Machine",
        (
            Number(
                "ASR, RTF",
                lambda s: f"{seconds(s.pass_seconds_last)}, {ratio(s.real_time_factor)}",
                "Seconds that the recogniser's last pass took; then the real-time factor, its time per second of "
                "sound: above 1 the recogniser falls behind.",
            ),
            Number(
                "coalesced",
                lambda s: str(s.coalesced_updates),
                "Updates that were replaced by a newer one before they were translated.",
            ),
            Number(
                "skipped",
                lambda s: seconds(s.skipped_seconds),
                "Seconds of sound that were lost because the machine was too slow.",
            ),
            Number("memory", lambda s: memory(s.memory_bytes), "Memory that livetrans uses."),
        ),
    ),
)

GROUPS = (LISTENER, *RESEARCH)
"""All numbers, in the order of the help; one that is in two groups is explained in the first."""
