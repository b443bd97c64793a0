"""What the keys do to a run: calm setting, bias, mask-k, languages, transcript. Each gives the sentence for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from livetrans.config import CALM, DecodingSettings, MaskSettings, calm_name
from livetrans.errors import LivetransError
from livetrans.languages import AUTO
from livetrans.run.pipeline import Pipeline
from livetrans.tui.switching import Switch, name_of

BIAS_STEP = 0.05


class Controls:
    """The settings that hold now, and the run that they belong to."""

    def __init__(self, run: Pipeline, decoding: DecodingSettings, mask: MaskSettings, languages: Switch) -> None:
        self._run = run
        self._calm = calm_name(decoding, mask)
        self._mask_k = mask.k
        self._bias = decoding.bias
        self.languages = languages

    def next_calm(self) -> str:
        names = list(CALM)
        self._calm = names[(names.index(self._calm) + 1) % len(names)] if self._calm else names[0]
        preset = CALM[self._calm]
        self._mask_k, self._bias = preset.mask.k, preset.decoding.bias
        self._run.set_calm(self._calm)
        return f"calm: {self._calm}"

    def move_mask(self, step: int, *, is_masking: bool) -> str:
        self._calm, self._mask_k = None, max(0, self._mask_k + step)
        self._run.set_mask_k(self._mask_k)
        return f"mask-k {self._mask_k}" + ("" if is_masking else " (masking is off in this run)")

    def move_bias(self, step: int) -> str:
        self._calm, self._bias = None, min(1.0, max(0.0, round(self._bias + step * BIAS_STEP, 2)))
        self._run.set_bias(self._bias)
        return f"bias {self._bias:.2f}"

    def next_target(self) -> str:
        target = self.languages.next_target()
        if target is None:
            return "only one caption language; start with --to de,fr"
        self._run.set_target(target)
        return f"captions in {name_of(target)} from the next sentence on"

    def next_spoken(self) -> str:
        spoken = self.languages.next_source()
        if spoken is None:
            return "only one spoken language; start with --from en,fr"
        self._run.set_source(spoken)
        return "spoken language: detected" if spoken == AUTO else f"spoken language: {name_of(spoken)}"


def save_transcript(save: Callable[[], Path] | None, *, is_growing: bool) -> tuple[str, str]:
    """Call `save`, and say how that went and at which level; `is_growing` is whether a caption is not finished yet."""
    if save is None:
        return "this run has no transcript to save", "warning"
    try:
        path = save()
    except LivetransError as error:
        return f"nothing was saved: {error}", "warning"
    except OSError as error:
        reason = error.strerror or error
        return f"{Path.cwd()} cannot be written ({reason}): `livetrans export` writes elsewhere", "warning"
    return f"saved to {path}" + (", without the caption that still grows" if is_growing else ""), "info"
