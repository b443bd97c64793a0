"""Repetition loops of greedy decoding, found at the output's tail: decoding ends there, and captions leave them out."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_PHRASE = 8
"""Tokens of the longest phrase looked for."""
REPEATS = 8
"""Times in a row that make a loop: neither speech nor a number with thousands separators says anything so often."""


def loop_length(output: Sequence[int]) -> int:
    """Tokens at the tail that only repeat what stands before them; 0 where the output does not loop.

    Of a loop the first occurrence is not counted: what remains without the tail says it once. The answer depends on the
    output alone, so every decoder that writes the same tokens ends at the same one.
    """
    for size in range(1, LONGEST_PHRASE + 1):
        repeated = size * (REPEATS - 1)
        if len(output) < repeated + size:
            break
        if output[-repeated:] == output[-repeated - size : -size]:
            return repeated
    return 0
