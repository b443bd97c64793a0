"""Erasure and normalized erasure (paper, equations 3 and 4): how much of what was written is taken back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from livetrans.sequences import common_prefix_length

OPEN_SEGMENTS = 64
"""Unfinished segments remembered; segments finish in order, so more are open only where finals never came."""


def erasure(previous: Sequence[Hashable], current: Sequence[Hashable]) -> int:
    """Tokens deleted from the end of `previous` to write `current`: E(i) = |Y(i-1)| - |LCP(Y(i-1), Y(i))|.

    Works on any sequence of tokens: model token ids, sacrebleu tokens, words, characters. A number is only comparable
    with another in the same unit.
    """
    return len(previous) - common_prefix_length(previous, current)


class NormalizedErasure:
    """Normalized erasure of finished segments, NE = sum of E(i) / |Y(N)|: as a ratio of sums, and as a mean.

    The authors' tables give the mean per utterance; the ratio of sums does not let one short utterance weigh as much as
    a long one, so it is what the side panel shows. Memory is constant: a segment's tokens are dropped at its final.
    """

    def __init__(self) -> None:
        self.erased_tokens = 0
        self.final_tokens = 0
        self.segments = 0
        self._rates_sum = 0.0
        self._rated_segments = 0
        self._open: dict[int, tuple[Sequence[Hashable], int]] = {}

    def add(self, segment_id: int, tokens: Sequence[Hashable], *, final: bool) -> int:
        """Take in one update's whole output; gives its erasure E(i), 0 for a segment's first."""
        previous, erased_before = self._open.pop(segment_id, ((), 0))
        erased = erasure(previous, tokens)
        if not final:
            self._open[segment_id] = (tokens, erased_before + erased)
            if len(self._open) > OPEN_SEGMENTS:
                self._open.pop(min(self._open))
            return erased
        self.segments += 1
        self.erased_tokens += erased_before + erased
        self.final_tokens += len(tokens)
        if tokens:
            self._rates_sum += (erased_before + erased) / len(tokens)
            self._rated_segments += 1
        return erased

    @property
    def ratio_of_sums(self) -> float | None:
        """All erased tokens / all final tokens; None while no final has a token."""
        return self.erased_tokens / self.final_tokens if self.final_tokens else None

    @property
    def mean_per_utterance(self) -> float | None:
        """Mean of the segments' own NE; segments with an empty final have none and are left out."""
        return self._rates_sum / self._rated_segments if self._rated_segments else None
