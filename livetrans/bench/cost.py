"""What costs what on this machine: a pass over n new tokens against one over a single token (what verifying costs), and
an update in n languages against one in a single language.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from livetrans.bench.table import Column, Table
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.events import Transcript
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt
from livetrans.metrics.latency import spread_of
from livetrans.translation.translator import Translator

SIZES = (*range(1, 41), 48, 64)
"""Every length that a draft of a sentence has, and two of long ones."""
CONTEXT_TOKENS = 64
"""Tokens in the cache before each pass: about a prompt with its sentence."""
COLUMNS = (
    Column("new tokens", "evaluated in one pass"),
    Column("median ms", "median of the rounds (least-most)", 2),
    Column("to one", "median / the median of a pass over one token", 2),
    Column("ms a token", "median / new tokens", 3),
    Column("least to one", "the fastest round / the fastest over one token", 2),
)
LANGUAGES = (
    Column("languages", "into which each update is translated"),
    Column("update ms", "mean of the updates, median of the rounds (least-most)", 2),
    Column("to one", "update time / that into one language in the same round, median (least-most)", 2),
)


def measure_cost(
    model: LanguageModel, rounds: int, sizes: Sequence[int] = SIZES, on_pass: Callable[[], None] = lambda: None
) -> dict[int, list[float]]:
    """Return the seconds of passes over each number of new tokens, logits read at each, one a round.

    Raises:
        ContextError: the model's context is smaller than the largest pass.
    """
    beginning = model.beginning_tokens or tuple(model.tokenize("a"))[:1]
    vocabulary = model.evaluate(beginning).logits.shape[1]
    # Which tokens they are does not matter for time; the seed makes the passes the same in every run.
    tokens = np.random.default_rng(0).integers(0, vocabulary, CONTEXT_TOKENS + max(sizes)).tolist()
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for size, counts in _in_turns(sizes, rounds):
        model.evaluate(tokens[:CONTEXT_TOKENS])
        started = model.clock.now()
        model.evaluate(tokens[: CONTEXT_TOKENS + size], size)
        if counts:
            seconds[size].append(model.clock.now() - started)
        on_pass()
    return seconds


def _in_turns(numbers: Sequence[int], rounds: int) -> Iterator[tuple[int, bool]]:
    """Yield all numbers in each round, another one first each time: a drifting machine slows all alike.

    With each comes whether it counts: not in a first round, which warms the memory up.
    """
    for turn in range(rounds + 1):
        first = turn % len(numbers)
        for number in (*numbers[first:], *numbers[:first]):
            yield number, turn > 0


def measure_languages(
    model: LanguageModel,
    prompt: Prompt,
    updates: Sequence[Transcript],
    most: int,
    rounds: int,
    on_pass: Callable[[], None] = lambda: None,
) -> dict[int, list[float]]:
    """Return the mean seconds of an update into 1 to `most` languages, by the default method, one a round.

    As in a run each language has a context over the same weights, and an update goes through one after the other. The
    prompt is the same in all, because which language it names does not matter for time.
    """
    contexts = [model, *(model.another_context() for _ in range(most - 1))]
    seconds: dict[int, list[float]] = {count: [] for count in range(1, most + 1)}
    for count, counts in _in_turns(list(seconds), rounds):
        translators = [Translator(one) for one in contexts[:count]]
        started = model.clock.now()
        for update in updates:
            for translator in translators:
                translator.translate(update, prompt, DecodingSettings(), MaskSettings())
        if counts:
            seconds[count].append((model.clock.now() - started) / len(updates))
        on_pass()
    return seconds


def languages_table(seconds: Mapping[int, Sequence[float]], note: str) -> Table:
    """Return the times as a table, a row a number of languages."""
    one = seconds[1]
    rows = tuple(
        (
            count,
            spread_of(1000 * each for each in taken),
            spread_of(each / single for each, single in zip(taken, one, strict=True)),
        )
        for count, taken in seconds.items()
    )
    return Table("languages", "an update, by the number of its languages", LANGUAGES, rows, signature=(note,))


def cost_table(seconds: Mapping[int, Sequence[float]], note: str) -> Table:
    """Return the times as a table, a row a size.

    The fastest round stands beside the median, since on a busy machine long passes are interrupted more often.
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
    return Table("cost", "one pass, by its new tokens", COLUMNS, rows, signature=(note,))
