"""What the keys do to the settings of a run: calm, bias, mask-k, languages. Each gives the sentence for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from livetrans.config import CALM, Settings
from livetrans.errors import LivetransError
from livetrans.languages import AUTO, LANGUAGES
from livetrans.run.pipeline import Pipeline

BIAS_STEP = 0.05
MOST_BIAS = 0.5
"""From here on every draft token is accepted (`livetrans.decoding.verification`)."""


def next_calm(run: Pipeline) -> str:
    settings, names = run.settings, list(CALM)
    if not settings.is_calm_method:
        method = settings.decoding.method
        return f"calm settings are for --method window, and this run's method is {method}; m moves mask-k"
    name = names[(names.index(settings.calm) + 1) % len(names)] if settings.calm else names[0]
    run.change("calm", name)
    return f"calm: {name}"


def move_mask(run: Pipeline, step: int) -> str:
    mask = run.change("mask_k", max(0, run.settings.mask.k + step)).mask
    return f"mask-k {mask.k}" + ("" if mask.mode != "none" else " (masking is off in this run)")


def move_bias(run: Pipeline, step: int) -> str:
    bias = run.settings.decoding.bias
    if step > 0 and bias >= MOST_BIAS:
        return f"bias {bias:.2f}: more changes nothing, the whole draft is accepted"
    bias = min(MOST_BIAS, max(0.0, round(bias + step * BIAS_STEP, 2)))
    return f"bias {run.change('bias', bias).decoding.bias:.2f}"


def next_target(run: Pipeline) -> str:
    code = _next(run.settings.targets)
    if code is None:
        return "only one caption language; start with --to de,fr"
    run.change("target", code)
    return f"captions in {name_of(code)} from the next sentence on"


def next_spoken(run: Pipeline, detected: str | None) -> str:
    """Go to the next spoken language, `auto` among them; from `auto`, to a `detected` one that is not in the list."""
    sources = run.settings.sources
    is_new = AUTO in sources and detected is not None and detected not in sources
    code = (detected if is_new else None) or _next(sources)
    if code is None:
        return "only one spoken language; start with --from en,fr"
    run.change("source", code)
    return "spoken language: detected" if code == AUTO else f"spoken language: {name_of(code)}"


def _next(codes: Sequence[str]) -> str | None:
    return codes[1] if len(codes) > 1 else None


def languages_of(settings: Settings, detected: str | None) -> str:
    """Return `en → de`; `auto (French) → de` where the spoken language is detected."""
    spoken = settings.source_language
    return f"{spoken}{f' ({name_of(detected)})' if spoken == AUTO and detected else ''} → {settings.target_language}"


def name_of(code: str) -> str:
    """Return the English name of a language; an unknown code stays as it is."""
    language = LANGUAGES.get(code.lower())
    return language.name if language else code


def save_transcript(save: Callable[[], Path] | None, *, is_growing: bool) -> tuple[str, str]:
    """Call `save`; return how that went and at which level. `is_growing`: a caption is not finished yet."""
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
    return f"saved as {path.name} and .srt in {path.parent}{without}", "info"
