"""Longest common prefix, written once: erasure, LocalAgreement and the cache's reuse all mean the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def common_prefix_length(left: Sequence[Item], right: Sequence[Item]) -> int:
    """Number of leading items in which the two sequences agree; a sequence agrees with itself to its end."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    for index in range(shorter):
        if left[index] != right[index]:
            return index
    return shorter
