"""A row of a table, all figures of one method on one corpus by one model; its speed, and what a draft model did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livetrans.bench.runfile import MethodRecord, Update
from livetrans.bench.viewing import Latency, Screen
from livetrans.decoding.drafting import expected_tokens
from livetrans.metrics.latency import Spread, spread_of
from livetrans.metrics.quality import Interval
from livetrans.metrics.rates import Acceptance
from livetrans.stats import DecodingStats


@dataclass(frozen=True, slots=True)
class TableRow:
    """Figures of one method; None where a figure has no meaning or was not measured."""

    origin: tuple[str, ...]
    """What may tell its run apart from others, see `livetrans.bench.labels`."""
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
    quality: Quality
    ne_mean: float | None
    """Mean of the utterances' normalized erasure, as the authors score."""
    ne_ratio: float | None
    """All erased tokens / all final tokens."""
    ne_unit: str
    accepted_per_draft: float | None
    """A/D, 0..1."""
    accepted_per_output: float | None
    """A/O, 0..1."""
    speed: Speed
    equal_finals: int
    """Finals with the same text as those of `rt`."""
    finals: int
    latencies: tuple[Latency, ...]
    """One a repeat."""
    passes: float | None
    """Model calls an update."""
    evaluated_tokens: float | None
    """Tokens that went through the model, an update; None for files from before they were counted."""
    screen: Screen
    partials: Interval | None = None
    """chrF of partials, with what `rt` wrote for the same prefix as the reference; only the calm table needs it."""
    drafting: Drafting | None = None
    """None for methods without a draft model."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Of finals that have a reference; None without one. Differences are from `rt` on the same sentences."""

    bleu: float | None = None
    bleu_difference: Interval | None = None
    chrf: float | None = None
    chrf_difference: Interval | None = None
    comet: float | None = None
    comet_difference: Interval | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one method over the repeats; None where nothing was measured."""

    update_seconds: Spread | None = None
    """Seconds per update: prompt, verification, decoding, arithmetic and tokenisation."""
    speedup: Spread | None = None
    """Update seconds of `rt` / of this method, in the same repeat."""
    tokens_per_second: Spread | None = None
    """TPS: output tokens / seconds of verification and decoding, as the paper counts."""
    tps_ratio: Spread | None = None
    """TPS / TPS of `rt` in the same repeat: what the paper calls speedup."""
    tps_ratio_shared: Spread | None = None
    """The same, but of a verifying pass only the draft's share of its tokens counts: the paper evaluates the prompt in
    a pass of its own, which it does not count; here prompt and draft are in one pass."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """What a draft model did for one method over all its updates; None where a figure has no meaning."""

    acceptance_rate: float | None
    """alpha: proposed tokens accepted / judged, that is accepted or the first rejected one of a pass; ends included."""
    tokens_per_pass: float
    """Tokens written, ends included, less those of the previous output, / passes of the target."""
    expected_per_pass: float | None
    """What the formula says of alpha and gamma; None where gamma is not fixed."""
    fallbacks: float
    """Times that the draft model was too unsure / tokens written."""
    rollbacks: float
    """Passes that rejected a proposed token / tokens written."""
    proposed: float
    """Tokens proposed / tokens written."""
    draft_time: float | None
    """The draft model's share of the time of generation, 0..1."""


def measure_speed(repeats: Sequence[tuple[Sequence[Update], Sequence[Update]]]) -> Speed:
    """Of repeats, each the updates of a method and those of the baseline.

    Ratios are taken within a repeat, because the machine drifts between them.
    """
    own = [_rates(updates) for updates, _ in repeats]
    base = [_rates(updates) for _, updates in repeats]
    pairs = list(zip(own, base, strict=True))
    return Speed(
        update_seconds=spread_of(seconds for seconds, _, _ in own),
        speedup=spread_of(_ratio(theirs[0], mine[0]) for mine, theirs in pairs),
        tokens_per_second=spread_of(rate for _, rate, _ in own),
        tps_ratio=spread_of(_ratio(mine[1], theirs[1]) for mine, theirs in pairs),
        tps_ratio_shared=spread_of(_ratio(mine[2], theirs[2]) for mine, theirs in pairs),
    )


def _rates(updates: Sequence[Update]) -> tuple[float | None, float | None, float | None]:
    """Seconds per update, tokens per second, and those with the draft's share of the verifying passes alone."""
    generation = sum(update.stats.generation_seconds for update in updates)
    prompt = sum(update.stats.verification_seconds * _prompt_share(update.stats) for update in updates)
    output_tokens = sum(update.stats.output_tokens for update in updates)
    seconds = sum(update.update_seconds for update in updates)
    return _ratio(seconds, len(updates)), _ratio(output_tokens, generation), _ratio(output_tokens, generation - prompt)


def _prompt_share(stats: DecodingStats) -> float:
    """The prompt's part of the tokens in a verifying pass, 0..1."""
    rest = max(stats.prompt_tokens - stats.reused_tokens, 0)
    return rest / (rest + stats.draft_tokens) if stats.draft_tokens else 0.0


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def measure_drafting(method: MethodRecord, updates: Sequence[Update]) -> Drafting | None:
    """None where no draft model proposed anything."""
    stats = [update.stats for update in updates]
    proposed = sum(one.proposed_tokens for one in stats)
    if not proposed:
        return None
    written = sum(one.output_tokens - one.accepted_tokens + (not one.truncated) for one in stats)
    acceptance = Acceptance()
    for one in stats:
        acceptance.add(one)
    rate = acceptance.per_proposal
    seconds = sum(one.generation_seconds for one in stats)
    return Drafting(
        acceptance_rate=rate,
        tokens_per_pass=written / sum(one.forward_passes for one in stats),
        expected_per_pass=expected_tokens(rate, method.gamma) if method.gamma and rate is not None else None,
        fallbacks=sum(one.fallbacks for one in stats) / written,
        rollbacks=sum(one.rejected_proposals for one in stats) / written,
        proposed=proposed / written,
        draft_time=sum(one.draft_seconds for one in stats) / seconds if seconds else None,
    )
