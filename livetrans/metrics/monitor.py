"""Folds the events of a run into the numbers of the side panel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from livetrans.events import (
    Caption,
    Coalesced,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.metrics.erasure import NormalizedErasure
from livetrans.metrics.latency import Distribution, caption_lag
from livetrans.metrics.rates import Acceptance, Speed
from livetrans.metrics.snapshot import Snapshot


def resident_memory() -> int | None:
    """Resident memory of this process in bytes; None where the system does not tell."""
    # Imported here because nothing but a running panel asks, and psutil costs start-up time.
    import psutil  # type: ignore[import-untyped]

    try:
        return int(psutil.Process().memory_info().rss)
    except psutil.Error:
        return None


class Monitor:
    """A sink that watches every event; written on the worker threads, read by `snapshot` on the main thread.

    Its memory is constant over hours: segments are dropped at their final, lags are sampled past a bound.
    """

    def __init__(
        self,
        initial: Snapshot | None = None,
        *,
        memory: Callable[[], int | None] = resident_memory,
    ) -> None:
        """`initial` carries the settings shown before the run starts; `memory` is called at each snapshot."""
        self._lock = threading.Lock()
        self._memory = memory
        self._shown = initial or Snapshot()
        self._raw = NormalizedErasure()
        self._captions = NormalizedErasure()
        self._acceptance = Acceptance()
        self._speed = Speed()
        self._lag = Distribution()
        self._pass_seconds = 0.0

    def write(self, record: Record) -> None:
        with self._lock:
            self._fold(record)

    def close(self) -> None:
        """Nothing to release: the last snapshot stays readable."""

    def snapshot(self) -> Snapshot:
        """The numbers now; cheap enough for several calls a second."""
        memory_bytes = self._memory()
        with self._lock:
            shown = self._shown
            return replace(
                shown,
                segments=self._captions.segments,
                ne_raw=self._raw.ratio_of_sums,
                ne_shown=self._captions.ratio_of_sums,
                accepted_per_draft=self._acceptance.per_draft,
                accepted_per_output=self._acceptance.per_output,
                tokens_per_second=self._speed.tokens_per_second,
                speedup_estimate=self._speed.speedup_estimate,
                lag_last=self._lag.last,
                lag_median=self._lag.median,
                lag_p95=self._lag.percentile(0.95),
                real_time_factor=self._pass_seconds / shown.heard if self._pass_seconds and shown.heard else None,
                memory_bytes=memory_bytes,
            )

    def _fold(self, record: Record) -> None:
        match record.event:
            case Translation() as translation:
                self._shown = replace(self._shown, updates=self._shown.updates + 1)
                self._raw.add(translation.segment_id, translation.tokens, final=translation.final)
                self._acceptance.add(translation.stats)
                self._speed.add(translation.stats)
            case Caption() as caption:
                self._captions.add(caption.segment_id, caption.tokens, final=caption.final)
                lag = caption_lag(record)
                if lag is not None:
                    self._lag.add(lag)
            case Transcript(recognition=stats) if stats is not None:
                self._shown = replace(self._shown, pass_seconds_last=stats.pass_seconds)
            case Coalesced():
                self._shown = replace(self._shown, coalesced_updates=self._shown.coalesced_updates + 1)
            case SourceProgress() as progress:
                self._pass_seconds = progress.recognition_seconds
                self._shown = replace(
                    self._shown,
                    heard=progress.heard,
                    skipped_seconds=progress.skipped,
                    total=progress.total,
                    speaking=progress.speaking,
                    level=progress.level,
                )
            case RunStarted(signature=signature):
                for name in ("method", "bias", "mask_mode", "mask_k"):
                    self._set(name, signature.get(name))
            case SettingChanged(name=name, value=value):
                self._set(name, value)
            case RunEnded(heard=heard):
                self._shown = replace(self._shown, heard=heard, speaking=False, level=0.0)
            case _:
                pass

    def _set(self, name: str, value: str | int | float | bool | None) -> None:
        """Show a setting that has a place on the panel; others (paused) have none."""
        match name.replace("-", "_"), value:
            case "method", str(method):
                self._shown = replace(self._shown, method=method)
            case "bias", int() | float() as bias:
                self._shown = replace(self._shown, bias=float(bias))
            case "mask_mode", str(mode):
                self._shown = replace(self._shown, mask_mode=mode)
            case "mask_k", int(k):
                self._shown = replace(self._shown, mask_k=k)
            case _:
                pass
