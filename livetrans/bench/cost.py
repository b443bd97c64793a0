"""What a pass of a model costs by its new tokens: what verifying a draft costs on this machine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from livetrans.bench.tables import Column, Table
from livetrans.lm.port import LanguageModel
from livetrans.metrics.latency import spread_of

SIZES = (*range(1, 41), 48, 64)
"""Every length that a draft of a sentence has, and two of long ones."""
CONTEXT_TOKENS = 64
"""Tokens in the cache before each pass: about a prompt with its sentence."""
COST_COLUMNS = (
    Column("new tokens", "evaluated in one pass"),
    Column("median ms", "median of the rounds (least-most)", 2),
    Column("to one", "median / the median of a pass over one token", 2),
    Column("ms a token", "median / new tokens", 3),
    Column("least to one", "the fastest round / the fastest over one token", 2),
)


def measure_cost(
    model: LanguageModel, rounds: int, on_pass: Callable[[], None] = lambda: None
) -> dict[int, list[float]]:
    """Return the seconds of passes over each number of new tokens, one per round, with logits read at each token.

    All sizes are measured in each round, starting with another one each time, so a drifting machine slows all alike.

    Raises:
        ContextError: the model's context is smaller than the largest pass.
    """
    beginning = model.beginning_tokens or tuple(model.tokenize("a"))[:1]
    vocabulary = model.evaluate(beginning).logits.shape[1]
    # Which tokens they are does not matter for time; the seed makes the passes the same in every run.
    tokens = np.random.default_rng(0).integers(0, vocabulary, CONTEXT_TOKENS + max(SIZES)).tolist()
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    for turn in range(rounds + 1):
        first = turn % len(SIZES)
        for size in (*SIZES[first:], *SIZES[:first]):
            model.evaluate(tokens[:CONTEXT_TOKENS])
            started = model.clock.now()
            model.evaluate(tokens[: CONTEXT_TOKENS + size], size)
            if turn:  # The first round warms the memory up.
                seconds[size].append(model.clock.now() - started)
            on_pass()
    return seconds


def cost_table(seconds: Mapping[int, Sequence[float]], note: str) -> Table:
    """Return the times as a table, a row a size.

    The fastest round is beside the median because a busy machine interrupts long passes more often.
    """
    one = seconds[1]
    rows = tuple(
        (
            size,
            spread_of(1000 * each for each in taken),
            statistics.median(taken) / statistics.median(one),
            1000 * statistics.median(taken) / size,
            min(taken) / min(one),
        )
        for size, taken in seconds.items()
    )
    return Table("cost", "one pass, by its new tokens", COST_COLUMNS, rows, (note,))
