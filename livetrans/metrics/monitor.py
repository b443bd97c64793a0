"""Computes the figures of the side panel from the events of a run."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from livetrans.base.installation import started_processes
from livetrans.captions import Captions
from livetrans.config import Settings, after_key
from livetrans.events import (
    BackPressure,
    Caption,
    Coalesced,
    Comparison,
    Gap,
    NameCorrected,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.metrics.captions import CaptionMeasures


def _figure(compute: Callable[[CaptionMeasures], object], default: object = None) -> Any:
    """Declare a figure of the captions in one language, computed from their measures."""
    return field(default=default, metadata={"compute": compute})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Figures of a run so far; None if nothing was measured yet (shown as a dash, never as zero).

    Figures of captions are of the language that is shown, and of a run of two tracks of what the computer plays; those
    of the recogniser and of back-pressure are of both. Corpus figures are ratios of sums over finished segments.
    Erasure is counted in the model's own tokens, that of the screen in words (characters in scripts without spaces).
    """

    settings: Settings = field(default_factory=Settings)
    """Those that hold now."""
    segments: int = _figure(lambda measures: measures.caption_erasure.segments, 0)
    """Segments whose final was shown: the finals."""
    updates: int = _figure(lambda measures: measures.updates, 0)
    ne_raw: float | None = _figure(lambda measures: measures.output_erasure.ratio_of_sums)
    ne_shown: float | None = _figure(lambda measures: measures.caption_erasure.ratio_of_sums)
    ne_screen: float | None = _figure(lambda measures: measures.screen.ratio)
    """Normalized erasure of the screen: all captions as one text."""
    speedup: float | None = _figure(lambda measures: measures.speedup.ratio)
    """Update time of re-translation / that of the run, over `compared_updates`; None with fewer than five."""
    compared_updates: int = _figure(lambda measures: measures.speedup.updates, 0)
    """Updates that were translated again from scratch, see `livetrans.run.speedup`."""
    speedup_estimate: float | None = _figure(lambda measures: measures.estimated_speedup.ratio)
    """What the run's own steps suggest, over all updates; None with fewer than five."""
    ne_compared: float | None = _figure(lambda measures: measures.speedup.ne_screen)
    ne_retranslation: float | None = _figure(lambda measures: measures.speedup.ne_screen_retranslation)
    """Normalized erasure of the screen over the compared updates: of this run, and by re-translation under its mask."""
    corrections: int = _figure(lambda measures: measures.screen.corrections, 0)
    """Captions in which the reader corrected a name; NE leaves them out."""
    terms_kept: tuple[int, int] = _figure(lambda measures: (measures.terms_kept, measures.terms_wanted), (0, 0))
    """Terms of the glossary that finals have as the file wants them, and those in their sources."""
    changes_per_minute: float | None = None
    """Captions that took something back, per minute of sound without pauses."""
    hidden_tokens: float | None = _figure(lambda measures: measures.hidden_per_caption)
    """Output tokens that were not shown, mean over captions."""
    accepted_per_draft: float | None = _figure(lambda measures: measures.decoding.per_draft)
    """A/D, 0..1."""
    accepted_per_output: float | None = _figure(lambda measures: measures.decoding.per_output)
    """A/O, 0..1."""
    accepted_per_proposal: float | None = _figure(lambda measures: measures.decoding.per_proposal)
    """The draft model's acceptance rate alpha, 0..1."""
    tokens_per_second: float | None = _figure(lambda measures: measures.decoding.tokens_per_second)
    """Output tokens / generation time, verification included (as the paper counts)."""
    delay: float | None = _figure(lambda measures: measures.delay)
    """Seconds from the end of the newest caption's last word to that caption."""
    lag_growing: float | None = _figure(lambda measures: measures.lags_growing.median)
    lag_finals: float | None = _figure(lambda measures: measures.lags_finals.median)
    """Median lag of the words that were seen in a growing caption, and of those that were seen with the final."""
    lag_median: float | None = _figure(lambda measures: measures.lags.median)
    lag_p95: float | None = _figure(lambda measures: measures.lags.percentile(0.95))
    """Seconds from the end of a spoken word until its translation stands for good, see `TranslationLag`."""
    pass_seconds_last: float | None = None
    real_time_factor: float | None = None
    """Recognition time / sound heard, pauses left out."""
    coalesced_updates: int = 0
    pressure: str = "normal"
    """What the run leaves out because it is behind, see `livetrans.run.backpressure`."""
    behind_seconds: float = 0.0
    """Age of the oldest sound or final that waits."""
    heard: float = 0.0
    """Source time heard so far, in seconds."""
    total: float | None = None
    speaking: bool = False
    level: float = 0.0
    skipped_seconds: float = 0.0
    paused: bool = False
    memory_bytes: int | None = None
    """Resident memory of all processes of livetrans."""

    @property
    def speedup_text(self) -> str | None:
        """The speedup as it is written everywhere: measured, with the compared updates, or estimated after a ≈."""
        if self.speedup is not None:
            return f"{self.speedup:.1f}× ({self.compared_updates})"
        return None if self.speedup_estimate is None else f"≈{self.speedup_estimate:.1f}×"


def resident_memory() -> int | None:
    """Return the resident memory of this process and of those that it started, in bytes; None if it is not told."""
    # Imported here because only a running panel asks, and psutil costs start-up time.
    import psutil  # type: ignore[import-untyped]

    total = 0
    for process in (os.getpid(), *started_processes()):
        try:
            total += int(psutil.Process(process).memory_info().rss)
        except psutil.NoSuchProcess:
            continue  # it has ended meanwhile
        except psutil.Error:
            return None
    return total


class Monitor:
    """A sink that watches every event; written on the worker threads, read by `snapshot` on the main thread.

    Its memory is constant over hours: segments are dropped at their final, of many lags the last are kept.
    """

    def __init__(self, settings: Settings | None = None, *, memory: Callable[[], int | None] = resident_memory) -> None:
        """`settings` hold until the run starts; `memory` is called at each snapshot."""
        self._lock = threading.Lock()
        self._memory = memory
        self._shown = Snapshot(settings or Settings())
        self._measures: defaultdict[str | None, CaptionMeasures] = defaultdict(CaptionMeasures)
        """By language; under None in a conversation, and in a run into one language, whatever captions say."""
        self._captions = Captions()
        self._progress: dict[str | None, SourceProgress] = {}
        """The newest of each track."""
        self._listened = 0.0
        """Seconds of sound heard, without pauses and gaps, in which source time goes on."""

    def write(self, record: Record) -> None:
        with self._lock:
            self._fold(record)

    def close(self) -> None:
        """Do nothing: the last snapshot stays readable."""

    def snapshot(self, language: str | None = None) -> Snapshot:
        """Return the figures so far, of the shown language or another; cheap enough for several calls a second."""
        memory_bytes = self._memory()
        with self._lock:
            shown = self._shown
            measures = self.measures(language or shown.settings.target_language)
            listened = 0.0 if shown.settings.as_recorded else self._listened
            pass_seconds = sum(track.recognition_seconds for track in self._progress.values())
            return replace(
                shown,
                **{one.name: one.metadata["compute"](measures) for one in fields(Snapshot) if one.metadata},
                changes_per_minute=60 * measures.screen.changes / listened if listened > 0 else None,
                real_time_factor=pass_seconds / self._listened if pass_seconds and self._listened > 0 else None,
                memory_bytes=memory_bytes,
            )

    @property
    def heard(self) -> float:
        """Source time heard so far, in seconds, of the track that was heard furthest."""
        return self._shown.heard

    def measures(self, language: str | None) -> CaptionMeasures:
        """Return the measures of the captions in a language, which other threads may still write."""
        settings = self._shown.settings
        return self._measures[language if len(settings.targets) > 1 and not settings.between else None]

    def _counts(self, result: Translation | Caption) -> bool:
        """Return whether a caption counts: in a conversation each turn does once, in the language it was put into.

        None does that was not made by this run.
        """
        settings = self._shown.settings
        if settings.as_recorded:
            return False
        if settings.between:
            return settings.shows(result.track, result.language)
        return not settings.is_microphone(result.track)

    def _fold(self, record: Record) -> None:
        match record.event:
            case Translation() as translation if self._counts(translation):
                self.measures(translation.language).add_translation(translation)
            case Caption() as newest if self._counts(newest):
                for caption in self._captions.feed(newest):
                    self.measures(caption.language).add_caption(caption, record.at)
            case Transcript(recognition=stats) if stats is not None:
                self._shown = replace(self._shown, pass_seconds_last=stats.pass_seconds)
            case Comparison() as comparison:
                self.measures(comparison.language).speedup.add(comparison)
            case Coalesced():
                self._shown = replace(self._shown, coalesced_updates=self._shown.coalesced_updates + 1)
            case NameCorrected() as name:
                for caption in self._captions.feed(name):
                    self.measures(caption.language).screen.correct(caption)
            case SourceProgress() as progress:
                self._progress[progress.track] = progress
                tracks = self._progress.values()
                heard = max(self._shown.heard, progress.heard)
                self._listened += heard - self._shown.heard
                self._shown = replace(
                    self._shown,
                    heard=heard,
                    skipped_seconds=sum(track.skipped for track in tracks),
                    total=progress.total,
                    speaking=any(track.speaking for track in tracks),
                    level=max(track.level for track in tracks),
                )
            case Gap(start=start, end=end, track=track) if not self._shown.settings.is_microphone(track):
                self._listened -= end - start  # The progress that counts it may come later.
            case RunStarted(settings=settings, origin=origin):
                self._shown = replace(self._shown, settings=settings, heard=origin.start if origin else 0.0)
            case SettingChanged(name="paused", value=value):
                self._shown = replace(self._shown, paused=bool(value))
            case SettingChanged(name=name, value=value):
                self._shown = replace(self._shown, settings=after_key(self._shown.settings, name, value))
            case BackPressure(level=level, behind_seconds=behind):
                self._shown = replace(self._shown, pressure=level, behind_seconds=behind)
            case RunEnded(heard=heard):
                self._shown = replace(self._shown, heard=heard, speaking=False, level=0.0, paused=False)
            case _:
                pass
