"""A row of a table: everything that is said of one method on one corpus by one model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableRow:
    """Figures of one method; None where a figure has no meaning or was not measured."""

    model: str
    pair: str
    """Languages: `en-de`."""
    corpus: str
    method: str
    """Label: `rt`, `ssbd@0.2`, `ssbd@0.2+mask3` (output mask), `ssbd@0.2+display3` (display-only mask), `cd`."""
    decoder: str
    bias: float | None
    mask: str
    """`none`, `output` or `display`."""
    mask_k: int
    updates: int
    """Of one repeat."""
    output_tokens: int
    """Of one repeat, in the model's own tokens."""
    bleu: float | None
    chrf: float | None
    comet: float | None
    """Of finals that have a reference."""
    ne_mean: float | None
    """Mean of the utterances' normalized erasure, as the authors score."""
    ne_ratio: float | None
    """All erased tokens / all final tokens."""
    ne_unit: str
    accepted_per_draft: float | None
    """A/D, 0..1."""
    accepted_per_output: float | None
    """A/O, 0..1."""
    tokens_per_second: float | None
    """TPS: output tokens / generation seconds, verification included; median of the repeats."""
    speedup: float | None
    """TPS / TPS of `rt` in the same repeat; median of the repeats' ratios."""
    wall_speedup: float | None
    """Seconds per update of `rt` / of this method, with the prompt; median of the repeats' ratios."""
    update_seconds: float | None
    """Seconds per update with the prompt; median of the repeats."""
    equal_finals: int
    """Finals with the very text that `rt` wrote."""
    finals: int
    average_lagging: float | None
    """AL in seconds, computation-unaware; recorded streams only, like all latencies."""
    average_lagging_aware: float | None
    laal: float | None
    laal_aware: float | None
    lags: tuple[float, ...]
    """Seconds from hearing a segment's newest word to its translation, one an update, computation-aware."""
    shared_speedup: float | None = None
    """As `speedup`, but of the verifying pass only the draft's share of its tokens counts: the paper evaluates the
    prompt in a pass before, which does not count, we in the draft's."""
