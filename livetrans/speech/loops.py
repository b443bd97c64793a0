"""Loops: the recogniser says the same thing again and again over sound that does not.

Both of two passes usually loop alike, so LocalAgreement would commit the loop and the prompt would feed it. Hypotheses
therefore lose their loops before anything else sees them.
"""

from __future__ import annotations

from collections.abc import Sequence

from livetrans.events import Word
from livetrans.speech.words import comparison_form

WORD_REPETITIONS = 8
"""One word this many times in a row is a loop; "no, no, no" and "very very very" are not."""
PHRASE_REPETITIONS = 3
PHRASE_WORDS = range(2, 9)


def drop_loops(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words with one occurrence kept of each loop: of one word anywhere, of a 2- to 8-gram at the tail."""
    return _drop_phrase_loop(_drop_word_loops(words))


def _drop_word_loops(words: Sequence[Word]) -> tuple[Word, ...]:
    forms = [comparison_form(word.text) for word in words]
    kept: list[Word] = []
    start = 0
    while start < len(words):
        stop = start + 1
        while stop < len(words) and forms[stop] == forms[start]:
            stop += 1
        kept.extend(words[start : start + 1] if stop - start >= WORD_REPETITIONS else words[start:stop])
        start = stop
    return tuple(kept)


def _drop_phrase_loop(words: Sequence[Word]) -> tuple[Word, ...]:
    """Drop the tail that repeats with a period of 2 to 8 words, a last incomplete round included."""
    forms = [comparison_form(word.text) for word in words]
    for period in PHRASE_WORDS:
        start = len(forms) - period
        while start > 0 and forms[start - 1] == forms[start - 1 + period]:
            start -= 1
        phrase = forms[start : start + period] if start >= 0 else []
        # A phrase of one word alone is the other rule's affair, with its higher limit.
        if len(set(phrase)) > 1 and len(forms) - start >= PHRASE_REPETITIONS * period:
            return tuple(words[: start + period])
    return tuple(words)
