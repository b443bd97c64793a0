"""Repetition loops of greedy decoding: found at the output's tail, ended, and left out."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_PHRASE = 8
"""Tokens of the longest phrase looked for."""
TOKEN_REPEATS = 8
PHRASE_REPEATS = 4
"""Repetitions that make a loop: speech repeats a word or a phrase, but not as often."""


def loop_length(output: Sequence[int]) -> int:
    """Tokens at the tail that only repeat what stands before them; 0 where the output does not loop.

    Of a loop the first occurrence is not counted: what remains after the cut says it once. The answer depends on the
    output alone, so every decoder that writes the same tokens ends at the same one.
    """
    for size in range(1, LONGEST_PHRASE + 1):
        repeats = TOKEN_REPEATS if size == 1 else PHRASE_REPEATS
        repeated = size * (repeats - 1)
        if len(output) < repeated + size:
            break
        if output[-repeated:] == output[-repeated - size : -size]:
            return repeated
    return 0
