"""What a viewer of a screen or page sees: rows that move while a sentence grows, and words that are retracted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from livetrans.base.sequences import common_prefix_length
from livetrans.metrics.captions import screen_units


class MovedRows:
    """Rows that stood elsewhere before, while a sentence grew.

    A row has moved if its whole text now begins another row and no longer its own. Rows that move when a sentence ends
    are not counted: then the history scrolls.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sentence: Hashable = None
        self._rows: Mapping[int, str] = {}

    def add(self, sentence: Hashable, rows: Mapping[int, str]) -> None:
        """Take the text of every row while this sentence is the current one."""
        if sentence == self._sentence:
            for row, text in self._rows.items():
                stays = rows.get(row, "").startswith(text)
                self.count += not stays and any(other.startswith(text) for other in rows.values())
        self._sentence, self._rows = sentence, rows


def erasure_of(screens: list[list[str]]) -> float:
    """Return NE of texts that were shown one after the other, each as all its lines: units lost / units of the end."""
    erased = 0
    before: list[str] = []
    for texts in screens:
        after = [unit for text in texts for unit in screen_units(text)]
        erased += len(before) - common_prefix_length(before, after)
        before = after
    return erased / len(before)
