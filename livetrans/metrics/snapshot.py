"""What the side panel shows: plain counts and the rates computed from them, at one instant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Numbers of a run so far; None where nothing was measured yet (shown as a dash, never as zero).

    Corpus figures are ratios of sums over finished segments. The unit of erasure is the model's own tokens, but for the
    screen, whose units are words (characters in scripts without spaces).
    """

    calm: str | None = "balanced"
    """The name in `livetrans.config.CALM`; None where a single setting was moved."""
    method: str = "window"
    bias: float = 0.2
    mask_mode: str = "display"
    mask_k: int = 3
    segments: int = 0
    """Segments whose final was shown."""
    updates: int = 0
    """Translations made."""
    ne_raw: float | None = None
    """Normalized erasure of what the model wrote."""
    ne_shown: float | None = None
    """Normalized erasure of what was shown."""
    ne_screen: float | None = None
    """Normalized erasure of the screen: all captions as one text."""
    changes_per_minute: float | None = None
    """Captions that took something back, a minute of sound."""
    hidden_tokens: float | None = None
    """Output tokens that were not shown, mean an update."""
    stability_median: float | None = None
    """Seconds from the end of a source word to the last change of its translation, see `TimeToStability`."""
    accepted_per_draft: float | None = None
    """A/D, 0..1."""
    accepted_per_output: float | None = None
    """A/O, 0..1."""
    tokens_per_second: float | None = None
    """Output tokens / generation time, verification included (as the paper counts)."""
    speedup_estimate: float | None = None
    """Estimated update time of re-translation / measured one, see `livetrans.metrics.rates`."""
    seen_lag_median: float | None = None
    seen_lag_p95: float | None = None
    """Seconds from the end of a spoken word until its update is no longer hidden, see `SeenLag`."""
    pass_seconds_last: float | None = None
    """Duration of the recogniser's last pass."""
    real_time_factor: float | None = None
    """Recognition time / sound heard."""
    coalesced_updates: int = 0
    heard: float = 0.0
    """Seconds of sound heard."""
    total: float | None = None
    speaking: bool = False
    level: float = 0.0
    skipped_seconds: float = 0.0
    memory_bytes: int | None = None
    """Resident memory of the process."""
