"""Computes the figures of the side panel from the events of a run."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from livetrans.config import Settings, changed
from livetrans.events import (
    BackPressure,
    Caption,
    Coalesced,
    Comparison,
    Gap,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.metrics.latency import Distribution, SeenLag, TimeToStability, caption_lag
from livetrans.metrics.rates import DecodingRates, NormalizedErasure, ScreenErasure, Speedup


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Figures of a run so far; None if nothing was measured yet (shown as a dash, never as zero).

    Figures of captions are of the language that is shown. Corpus figures are ratios of sums over finished segments.
    Erasure is counted in the model's own tokens, that of the screen in words (characters in scripts without spaces).
    """

    settings: Settings = field(default_factory=Settings)
    """Those that hold now."""
    segments: int = 0
    """Segments whose final was shown: the finals."""
    updates: int = 0
    """Translations made."""
    ne_raw: float | None = None
    """Normalized erasure of the model's output."""
    ne_shown: float | None = None
    """Normalized erasure of the captions."""
    ne_screen: float | None = None
    """Normalized erasure of the screen: all captions as one text."""
    speedup: float | None = None
    """Update time of re-translation / that of the run, over `compared_updates`; None with fewer than five."""
    compared_updates: int = 0
    """Updates that were translated again from scratch, see `livetrans.run.speedup`."""
    ne_retranslation: float | None = None
    """Normalized erasure of the screen by re-translation, over these updates."""
    changes_per_minute: float | None = None
    """Captions that took something back, a minute of sound, pauses left out."""
    moved_rows_per_minute: float | None = None
    """Rows of the screen that moved while a sentence grew, a minute of sound; only the screen knows."""
    hidden_tokens: float | None = None
    """Output tokens that were not shown, mean an update."""
    stability_median: float | None = None
    """Seconds from the end of a source word to the last change of its translation, see `TimeToStability`."""
    accepted_per_draft: float | None = None
    """A/D, 0..1."""
    accepted_per_output: float | None = None
    """A/O, 0..1."""
    accepted_per_proposal: float | None = None
    """The draft model's acceptance rate alpha, 0..1."""
    tokens_per_second: float | None = None
    """Output tokens / generation time, verification included (as the paper counts)."""
    delay: float | None = None
    """Seconds from the end of the newest caption's last word to that caption."""
    lag_growing: float | None = None
    lag_finals: float | None = None
    """Median seen lag of the words that a growing caption showed, and of those that waited for a final."""
    seen_lag_median: float | None = None
    seen_lag_p95: float | None = None
    """Seconds from the end of a spoken word until its update is no longer hidden, see `SeenLag`; of all words."""
    pass_seconds_last: float | None = None
    """Duration of the recogniser's last pass."""
    real_time_factor: float | None = None
    """Recognition time / sound heard, pauses left out."""
    coalesced_updates: int = 0
    pressure: str = "normal"
    """What the run leaves out because it is behind, see `livetrans.run.backpressure`."""
    behind_seconds: float = 0.0
    """Age of the oldest sound or final that waits."""
    heard: float = 0.0
    """Seconds of sound heard."""
    total: float | None = None
    speaking: bool = False
    level: float = 0.0
    skipped_seconds: float = 0.0
    paused: bool = False
    memory_bytes: int | None = None
    """Resident memory of the process."""


def resident_memory() -> int | None:
    """Return the resident memory of this process in bytes; None if the system does not tell."""
    # Imported here because only a running panel asks, and psutil costs start-up time.
    import psutil  # type: ignore[import-untyped]

    try:
        return int(psutil.Process().memory_info().rss)
    except psutil.Error:
        return None


class _LanguageFigures:
    """What is measured of the captions in one language."""

    def __init__(self) -> None:
        self._updates = self._hidden_tokens = self._captions_shown = 0
        self._delay: float | None = None
        self._raw = NormalizedErasure()
        self._captions = NormalizedErasure()
        self._decoding = DecodingRates()
        self.screen = ScreenErasure()
        self.speedup = Speedup()
        self._seen_lag, self._seen_lags = SeenLag(), Distribution()
        self._lags_growing, self._lags_finals = Distribution(), Distribution()
        self._stability, self._stabilities = TimeToStability(), Distribution()

    def add(self, event: Translation | Caption, record: Record) -> None:
        if isinstance(event, Translation):
            self._updates += 1
            self._raw.add(event.segment_id, event.tokens, final=event.final)
            self._decoding.add(event.stats)
            return
        self._captions.add(event.segment_id, event.tokens, final=event.final)
        self.screen.add(event)
        self._hidden_tokens += event.masked_tokens
        self._captions_shown += 1
        self._delay = caption_lag(record)
        for lag in self._seen_lag.add(event, record.at):
            self._seen_lags.add(lag)
            (self._lags_finals if event.final else self._lags_growing).add(lag)
        for seconds in self._stability.add(event, record.at):
            self._stabilities.add(seconds)

    def values(self) -> dict[str, Any]:
        """Return the fields of a snapshot that are of one language."""
        return {
            "updates": self._updates,
            "segments": self._captions.segments,
            "ne_raw": self._raw.ratio_of_sums,
            "ne_shown": self._captions.ratio_of_sums,
            "ne_screen": self.screen.ratio,
            "accepted_per_draft": self._decoding.per_draft,
            "accepted_per_output": self._decoding.per_output,
            "accepted_per_proposal": self._decoding.per_proposal,
            "tokens_per_second": self._decoding.tokens_per_second,
            "speedup": self.speedup.ratio,
            "compared_updates": self.speedup.updates,
            "ne_retranslation": self.speedup.ne_screen_retranslation,
            "hidden_tokens": self._hidden_tokens / self._captions_shown if self._captions_shown else None,
            "stability_median": self._stabilities.median,
            "delay": self._delay,
            "lag_growing": self._lags_growing.median,
            "lag_finals": self._lags_finals.median,
            "seen_lag_median": self._seen_lags.median,
            "seen_lag_p95": self._seen_lags.percentile(0.95),
        }


class Monitor:
    """A sink that watches every event; written on the worker threads, read by `snapshot` on the main thread.

    Its memory is constant over hours: segments are dropped at their final, lags are sampled past a bound.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        memory: Callable[[], int | None] = resident_memory,
    ) -> None:
        """`settings` hold until the run starts; `memory` is called at each snapshot."""
        self._lock = threading.Lock()
        self._memory = memory
        self._shown = Snapshot(settings or Settings())
        self._figures: defaultdict[str | None, _LanguageFigures] = defaultdict(_LanguageFigures)
        """By language; under None in a run into one language, whatever captions say."""
        self._pass_seconds = 0.0
        self._listened = 0.0
        """Seconds of sound heard, without pauses and gaps, in which source time goes on."""
        self._was_paused = False

    def write(self, record: Record) -> None:
        with self._lock:
            self._fold(record)

    def close(self) -> None:
        """Do nothing: the last snapshot stays readable."""

    def snapshot(self) -> Snapshot:
        """Return the current figures; cheap enough for several calls a second."""
        memory_bytes = self._memory()
        with self._lock:
            shown = self._shown
            figures = self._of(shown.settings.target_language)
            return replace(
                shown,
                **figures.values(),
                changes_per_minute=60 * figures.screen.changes / self._listened if self._listened > 0 else None,
                real_time_factor=self._pass_seconds / self._listened
                if self._pass_seconds and self._listened > 0
                else None,
                memory_bytes=memory_bytes,
            )

    def _of(self, language: str | None) -> _LanguageFigures:
        return self._figures[language if len(self._shown.settings.targets) > 1 else None]

    def _fold(self, record: Record) -> None:
        match record.event:
            case Translation() | Caption() as event:
                self._of(event.language).add(event, record)
            case Transcript(recognition=stats) if stats is not None:
                self._shown = replace(self._shown, pass_seconds_last=stats.pass_seconds)
            case Comparison() as comparison:
                self._of(comparison.language).speedup.add(comparison)
            case Coalesced():
                self._shown = replace(self._shown, coalesced_updates=self._shown.coalesced_updates + 1)
            case SourceProgress() as progress:
                self._pass_seconds = progress.recognition_seconds
                if not (self._shown.paused or self._was_paused):
                    self._listened += progress.heard - self._shown.heard
                self._was_paused = self._shown.paused
                self._shown = replace(
                    self._shown,
                    heard=progress.heard,
                    skipped_seconds=progress.skipped,
                    total=progress.total,
                    speaking=progress.speaking,
                    level=progress.level,
                )
            case Gap(start=start, end=end) if not (self._shown.paused or self._was_paused):
                self._listened -= end - start  # The progress that counts it may come later.
            case RunStarted(settings=settings, origin=origin):
                self._shown = replace(self._shown, settings=settings, heard=origin.start if origin else 0.0)
            case SettingChanged(name="paused", value=value):
                self._was_paused = self._was_paused or self._shown.paused
                self._shown = replace(self._shown, paused=bool(value))
            case SettingChanged(name=name, value=value):
                self._shown = replace(self._shown, settings=changed(self._shown.settings, name, value))
            case BackPressure(level=level, behind_seconds=behind):
                self._shown = replace(self._shown, pressure=level, behind_seconds=behind)
            case RunEnded(heard=heard):
                self._shown = replace(self._shown, heard=heard, speaking=False, level=0.0, paused=False)
            case _:
                pass
