"""Methods side by side on the same updates: measured, not estimated."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from livetrans.events import Caption, Translation
from livetrans.metrics.acceptance import Acceptance
from livetrans.metrics.erasure import NormalizedErasure


@dataclass(slots=True)
class MethodRun:
    """One method over all updates of one repeat."""

    method: str
    raw: NormalizedErasure = field(default_factory=NormalizedErasure)
    shown: NormalizedErasure = field(default_factory=NormalizedErasure)
    acceptance: Acceptance = field(default_factory=Acceptance)
    updates: int = 0
    generation_seconds: float = 0.0
    """Verification and decoding, a pass over the prompt alone left out, as the paper counts."""
    total_seconds: float = 0.0
    """With the prompt: what an update really takes."""
    finals: list[str] = field(default_factory=list)

    def add(self, translation: Translation, caption: Caption) -> None:
        stats = translation.stats
        self.updates += 1
        self.raw.add(translation.segment_id, translation.tokens, final=translation.final)
        self.shown.add(caption.segment_id, caption.tokens, final=caption.final)
        self.acceptance.add(stats)
        self.generation_seconds += stats.verification_seconds + stats.decoding_seconds
        self.total_seconds += stats.total_seconds
        if translation.final:
            self.finals.append(translation.text)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A method's line of the table; None where a figure has no meaning."""

    method: str
    updates: int
    output_tokens: int
    speedup: float | None
    """Time of the first method / time of this one, per update with the prompt; median of the repeats' ratios."""
    generation_speedup: float | None
    """Output tokens per second of this method / of the first one, as the paper counts both."""
    tokens_per_second: float | None
    ne_raw: float | None
    ne_shown: float | None
    accepted_per_draft: float | None
    accepted_per_output: float | None
    equal_finals: int
    """Finals with the very text that the first method wrote."""
    finals: int


def compare(repeats: list[list[MethodRun]]) -> list[ComparisonRow]:
    """Rows of a comparison; `repeats[r][m]` is method m in repeat r, method 0 the baseline.

    Outputs are the same in every repeat (greedy decoding); only times differ, and of those the median ratio counts,
    taken within a repeat because the machine drifts between them.
    """
    rows = []
    for index, run in enumerate(repeats[0]):
        pairs = [(repeat[0], repeat[index]) for repeat in repeats]
        rows.append(
            ComparisonRow(
                method=run.method,
                updates=run.updates,
                output_tokens=run.acceptance.output_tokens,
                speedup=_median_ratio([(base.total_seconds, own.total_seconds) for base, own in pairs]),
                generation_speedup=_median_ratio([(_rate(own), _rate(base)) for base, own in pairs]),
                tokens_per_second=statistics.median(_rate(own) for _, own in pairs) or None,
                ne_raw=run.raw.ratio_of_sums,
                ne_shown=run.shown.ratio_of_sums,
                accepted_per_draft=run.acceptance.per_draft,
                accepted_per_output=run.acceptance.per_output,
                equal_finals=sum(own == base for own, base in zip(run.finals, repeats[0][0].finals, strict=True)),
                finals=len(run.finals),
            )
        )
    return rows


def _rate(run: MethodRun) -> float:
    return run.acceptance.output_tokens / run.generation_seconds if run.generation_seconds > 0 else 0.0


def _median_ratio(pairs: list[tuple[float, float]]) -> float | None:
    ratios = [above / below for above, below in pairs if below > 0]
    return statistics.median(ratios) if ratios else None
