"""What verification costs on this machine: the time of one pass over n new tokens, against one over a single token."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from livetrans.bench.table import Column, Table
from livetrans.lm.port import LanguageModel
from livetrans.metrics.latency import Spread

SIZES = (*range(1, 41), 48, 64)
"""Every length that a draft of a sentence has, and two of long ones."""
CONTEXT_TOKENS = 64
"""Tokens in the cache before each pass: about a prompt with its sentence."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of passes over `new_tokens` tokens, logits read at each of them."""

    new_tokens: int
    seconds: float
    """Median of the rounds."""
    ratio: float
    """To the median pass over a single token: below `new_tokens`, verifying is cheaper than decoding."""
    least_seconds: float
    """The fastest round: on a busy machine long passes are interrupted more often than short ones."""
    least_ratio: float
    most_seconds: float


def measure_cost(
    model: LanguageModel,
    rounds: int,
    sizes: Sequence[int] = SIZES,
    on_pass: Callable[[], None] = lambda: None,
) -> list[Cost]:
    """Measure passes; sizes take turns in each round, another one first each time: a drifting machine slows all alike.

    `sizes` begins with 1. A first round that warms the memory up is not counted.

    Raises:
        ContextError: the model's context is smaller than the largest pass.
    """
    vocabulary = model.evaluate(_beginning(model)).logits.shape[1]
    # Which tokens they are does not matter for time; the seed makes the passes the same in every run.
    tokens = np.random.default_rng(0).integers(0, vocabulary, CONTEXT_TOKENS + max(sizes)).tolist()
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(rounds + 1):
        turn = number % len(sizes)
        for size in (*sizes[turn:], *sizes[:turn]):
            model.evaluate(tokens[:CONTEXT_TOKENS])
            started = model.clock.now()
            model.evaluate(tokens[: CONTEXT_TOKENS + size], size)
            if number:
                seconds[size].append(model.clock.now() - started)
            on_pass()
    one = seconds[sizes[0]]
    return [
        Cost(
            new_tokens=size,
            seconds=statistics.median(own),
            ratio=_ratio(statistics.median(own), statistics.median(one)),
            least_seconds=min(own),
            least_ratio=_ratio(min(own), min(one)),
            most_seconds=max(own),
        )
        for size, own in seconds.items()
    ]


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0


def _beginning(model: LanguageModel) -> tuple[int, ...]:
    return model.beginning_tokens or tuple(model.tokenize("a"))[:1]


def cost_table(costs: Sequence[Cost], note: str) -> Table:
    """Return the costs as a table, a row a length."""
    columns = (
        Column("new tokens", "evaluated in one pass"),
        Column("median ms", "median of the rounds (least-most)", 2),
        Column("to one", "median / the median of a pass over one token", 2),
        Column("ms a token", "median / new tokens", 3, 2),
        Column("least to one", "the fastest round / the fastest over one token", 2),
    )
    rows = tuple(
        (
            cost.new_tokens,
            Spread(*(1000 * each for each in (cost.seconds, cost.least_seconds, cost.most_seconds))),
            cost.ratio,
            cost.seconds * 1000 / cost.new_tokens,
            cost.least_ratio,
        )
        for cost in costs
    )
    return Table("cost", "one pass, by its new tokens", columns, rows, signature=(note,))
