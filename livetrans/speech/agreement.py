"""LocalAgreement-2 on words: words on which two passes in a row agree are committed.

Macháček, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System" (2023), section 3: the longest common
prefix of this pass's and the last pass's uncommitted words. Committed words never change. Not in the paper: a word on
which they differ is committed, as this pass has it, where they agree on enough words after it. A recogniser can waver
between two words ("bread", "bridge") for as long as it hears them, and nothing after them would be committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livetrans.base.sequences import common_prefix_length
from livetrans.events import Word
from livetrans.speech.words import comparison_form, forms_of

TOLERANCE = 0.1
"""A new word may start this much before the committed words end: word times move between passes."""
OVERLAP_WORDS = 5
"""Most words by which the border that the times give is moved."""
AGREED_AFTER = 4
"""Words that two passes have to agree on after a single word on which they differ, for that word to be committed."""
CONTEXT_WORDS = 8
"""Number of committed words that are compared with a hypothesis's first words."""


class LocalAgreement:
    """The committed words of one stretch of speech and the newest hypothesis after them; times are source time."""

    def __init__(self) -> None:
        self.committed: list[Word] = []
        """Newest committed words: all whose sound is in the buffer, and a few before these, for comparison."""
        self._forgotten = 0
        self.tail: tuple[Word, ...] = ()
        """Uncommitted words of the newest hypothesis, in its spelling."""

    @property
    def committed_end(self) -> float | None:
        return self.committed[-1].end if self.committed else None

    @property
    def is_new(self) -> bool:
        return not (self.committed or self.tail)

    @property
    def heard(self) -> list[Word]:
        """Committed words whose sound is in the buffer, and the uncommitted ones after them."""
        return [*self.committed[self._forgotten :], *self.tail]

    def update(self, words: Sequence[Word], buffer_start: float = 0.0, *, commits: bool = True) -> tuple[Word, ...]:
        """Take the hypothesis of the sound from `buffer_start` on; return the words that it commits, if it may."""
        new = self._uncommitted(words, buffer_start)
        agreed = _agreed_length(forms_of(self.tail), forms_of(new)) if commits else 0
        self.tail = new
        return self.commit(agreed)

    def commit(self, count: int) -> tuple[Word, ...]:
        """Commit the first `count` words of the tail without waiting for agreement, and return them."""
        newly, self.tail = self.tail[:count], self.tail[count:]
        self.committed.extend(newly)
        return newly

    def forget_before(self, cut: float) -> tuple[Word, ...]:
        """Take the buffer's new beginning, `cut` seconds; return the committed words whose sound left it, each once."""
        leaving = [word for word in self.committed[self._forgotten :] if word.end <= cut]
        self._forgotten += len(leaving)
        unneeded = max(min(self._forgotten, len(self.committed) - CONTEXT_WORDS), 0)
        del self.committed[:unneeded]
        self._forgotten -= unneeded
        return tuple(leaving)

    def _uncommitted(self, words: Sequence[Word], buffer_start: float) -> tuple[Word, ...]:
        if not self.committed:
            return tuple(words)
        end = self.committed[-1].end
        # Captions follow each other: a word whose time moved back still comes after what is committed.
        return tuple(
            word if word.start >= end else replace(word, start=end, end=max(word.end, end))
            for word in words[self._border(words, buffer_start) :]
        )

    def _border(self, words: Sequence[Word], buffer_start: float) -> int:
        """Return how many leading words of the hypothesis are committed ones.

        The border is found by time, then moved to where the committed words match best. Times alone lose a word whose
        start moved before the committed end, and repeat one whose start moved past it. The words around the border
        tell both from a real repetition ("very, very").
        """
        last = self.committed[-1]
        border = last.end - TOLERANCE
        split = next((i for i, word in enumerate(words) if word.start > border), len(words))
        if buffer_start > border:
            # The committed words' sound has left the buffer: only what is left of the last one can come again.
            remnant = split < len(words) and words[split].end < last.end + (last.end - last.start) / 2
            same = remnant and comparison_form(words[split].text) == comparison_form(last.text)
            return split + 1 if same else split
        committed = forms_of(self.committed[-CONTEXT_WORDS:])
        forms = forms_of(words)
        earlier, later = max(split - OVERLAP_WORDS, 0), min(split + OVERLAP_WORDS, len(words))
        candidates = [
            *(at for at in range(earlier, split) if _matches(forms[:at], committed) >= min(2, len(committed))),
            split,
            *(at for at in range(split + 1, later + 1) if forms[split:at] == committed[split - at :]),
        ]
        return max(candidates, key=lambda at: (_matches(forms[:at], committed), -abs(at - split)))


def _agreed_length(before: Sequence[str], new: Sequence[str]) -> int:
    """Return how many words two passes agree on, those included of which only one at a time differs."""
    agreed = common_prefix_length(before, new)
    while (after := common_prefix_length(before[agreed + 1 :], new[agreed + 1 :])) >= AGREED_AFTER:
        agreed += 1 + after
    return agreed


def _matches(forms: Sequence[str], committed: Sequence[str]) -> int:
    """Return in how many places the beginning of a hypothesis equals the committed words, compared from the last back.

    0 unless the last words are equal.
    """
    if not forms or forms[-1] != committed[-1]:
        return 0
    return sum(left == right for left, right in zip(reversed(forms), reversed(committed), strict=False))
