"""Common prefixes and repetition loops of token sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

LONGEST_PHRASE = 8
"""Tokens of the longest phrase that makes a loop."""
LOOP_REPEATS = 8
"""Times in a row that make a loop: neither speech nor a number with thousands separators repeats anything so often."""


def common_prefix_length(left: Sequence[Item], right: Sequence[Item]) -> int:
    """Return the number of leading items in which the two sequences agree."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    for index in range(shorter):
        if left[index] != right[index]:
            return index
    return shorter


def loop_length(output: Sequence[int]) -> int:
    """Return the number of tokens at the tail that repeat the phrase before them; 0 if the output does not loop.

    The first occurrence of the phrase is not counted. The number depends on the output alone, so every decoder that
    writes the same tokens ends at the same one.
    """
    for size in range(1, LONGEST_PHRASE + 1):
        repeated = size * (LOOP_REPEATS - 1)
        if len(output) < repeated + size:
            break
        if output[-repeated:] == output[-repeated - size : -size]:
            return repeated
    return 0
