"""What the listening stages share about words: their comparison form, joined text, and whether they say anything."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import reduce

from livetrans.events import Word, join_text


def comparison_form(text: str) -> str:
    """The word without case and punctuation; a word of punctuation alone stays as it is."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(c for c in folded if c.isalnum() or unicodedata.category(c).startswith("M"))
    return kept or folded


def words_text(words: Iterable[Word]) -> str:
    """The words as running text: spaces between them where their script has any."""
    return reduce(join_text, (word.text for word in words), "")


def says_something(text: str) -> bool:
    """Whether anything in the text is spoken: letters, digits, signs with a name; not punctuation or notes."""
    return any(c.isalnum() or c in "%&‰" or unicodedata.category(c) in ("Sc", "Sm") for c in text)
