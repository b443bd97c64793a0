"""What the keys do to a run: calm setting, bias, mask-k, languages, transcript. Each gives the sentence for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from livetrans.config import CALM, DecodingSettings, MaskSettings, calm_name
from livetrans.errors import LivetransError
from livetrans.languages import AUTO, LANGUAGES
from livetrans.run.pipeline import Pipeline

BIAS_STEP = 0.05
MOST_BIAS = 0.5
"""From here on every draft token is accepted (`livetrans.decoding.verification`)."""


class Controls:
    """The settings that hold now, and the run that they belong to."""

    def __init__(
        self, run: Pipeline, decoding: DecodingSettings, mask: MaskSettings, languages: LanguageSwitch
    ) -> None:
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
        if step > 0 and self._bias >= MOST_BIAS:
            return f"bias {self._bias:.2f}: more changes nothing, the whole draft is accepted"
        self._calm, self._bias = None, min(MOST_BIAS, max(0.0, round(self._bias + step * BIAS_STEP, 2)))
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


class LanguageSwitch:
    """Spoken and caption languages by code, in the order in which the keys go through them; the current ones first."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._sources, self._targets = list(sources), list(targets)
        self.detected: str | None = None
        """What was detected last."""

    def __str__(self) -> str:
        """`en → de`; `auto (French) → de` where the spoken language is detected; empty where nothing is known."""
        if not (self._sources and self._targets):
            return ""
        detected = f" ({name_of(self.detected)})" if self._sources[0] == AUTO and self.detected else ""
        return f"{self._sources[0]}{detected} → {self._targets[0]}"

    def next_target(self) -> str | None:
        """Go to the next language of the captions; None where there is one only."""
        return _next(self._targets)

    def next_source(self) -> str | None:
        """Go to the next spoken language, `auto` among them; a detected one can be kept by this, too."""
        if AUTO in self._sources and self.detected and self.detected not in self._sources:
            self._sources.insert(1, self.detected)
        return _next(self._sources)


def _next(codes: list[str]) -> str | None:
    if len(codes) < 2:
        return None
    codes.append(codes.pop(0))
    return codes[0]


def name_of(code: str) -> str:
    """The English name of a language; an unknown code stays as it is."""
    language = LANGUAGES.get(code.lower())
    return language.name if language else code


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
        return f"the current folder cannot be written ({reason}): `livetrans export` writes elsewhere", "warning"
    without = ", without the caption that still grows" if is_growing else ""
    return f"saved as {path.name} in {path.parent}{without}", "info"
