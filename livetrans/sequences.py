"""Common prefixes and repetition loops of token sequences: each written once, used everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

LONGEST_PHRASE = 8
"""Tokens of the longest phrase that is looked for in a loop."""
LOOP_REPEATS = 8
"""Times in a row that make a loop: neither speech nor a number with thousands separators repeats anything so often."""


def common_prefix_length(left: Sequence[Item], right: Sequence[Item]) -> int:
    """Number of leading items in which the two sequences agree; a sequence agrees with itself to its end."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    for index in range(shorter):
        if left[index] != right[index]:
            return index
    return shorter


def loop_length(output: Sequence[int]) -> int:
    """Tokens at the tail that only repeat what stands before them; 0 where the output does not loop.

    The first occurrence is not counted: what remains without the tail has it once. The answer depends on the output
    alone, so every decoder that writes the same tokens ends at the same one.
    """
    for size in range(1, LONGEST_PHRASE + 1):
        repeated = size * (LOOP_REPEATS - 1)
        if len(output) < repeated + size:
            break
        if output[-repeated:] == output[-repeated - size : -size]:
            return repeated
    return 0
