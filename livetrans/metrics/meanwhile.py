"""What a viewer reads before a caption is final: how much of it is right, and how much of what could be there is there.

Our own. chrF of partials against re-translation's counts hidden tokens, and takes what the model writes for half a
sentence for the truth, which word order makes wrong where a verb comes last.
"""

from __future__ import annotations

from collections import Counter

GRAM = 4
"""Characters of an n-gram: about a short word, or a word and its particle in a script without spaces."""


class Meanwhile:
    """Shown text against the final reference, summed over the time that it stood there.

    Texts are compared by their character n-grams, spaces left out: a phrase that comes earlier or later than in the
    reference is right all the same. *Due* are as many of the reference's n-grams as the share of the source that was
    heard; those that are right before they are due count as due. So neither waiting nor guessing is rewarded.
    """

    def __init__(self) -> None:
        self._right = self._shown = self._due = 0.0

    def add(self, shown: str, reference: str, heard: float, seconds: float = 1.0) -> None:
        """Take the caption of a partial, the share of its segment's source that was heard, and how long it stood."""
        grams, wanted = _grams(shown), _grams(reference)
        right = (grams & wanted).total()
        self._right += seconds * right
        self._shown += seconds * grams.total()
        self._due += seconds * max(min(heard, 1.0) * wanted.total(), right)

    @property
    def right(self) -> float | None:
        """The share of what was shown that the reference has, 0..1; None where nothing was."""
        return self._right / self._shown if self._shown else None

    @property
    def amount(self) -> float | None:
        """Shown n-grams / due ones: below 1 it came late, or above 1 words are shown that are not needed."""
        return self._shown / self._due if self._due else None

    @property
    def score(self) -> float | None:
        """Right n-grams / the mean of shown and due ones, 0..1: both figures in one."""
        total = self._shown + self._due
        return 2 * self._right / total if total else None


def _grams(text: str) -> Counter[str]:
    letters = "".join(text.split())
    return Counter(letters[at : at + GRAM] for at in range(len(letters) - GRAM + 1))
