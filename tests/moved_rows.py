"""Counts rows of a screen or page that move while a sentence grows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping


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
