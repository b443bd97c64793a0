"""What the listening stages share about words: their comparison form, their joined text, what may not be in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import reduce

from livetrans.events import Word, join_text

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~])?")
"""ANSI control sequences, operating-system commands and other strings, and two-character escapes."""
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANKS = frozenset("\t\n\v\f\r\x85\u2028\u2029")


def comparison_form(text: str) -> str:
    """The word without case and punctuation; a word of punctuation alone stays as it is."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(c for c in folded if c.isalnum() or unicodedata.category(c).startswith("M"))
    return kept or folded


def words_text(words: Iterable[Word]) -> str:
    """The words as running text: spaces between them where their script has any."""
    return reduce(join_text, (word.text for word in words), "")


def clean_text(text: str) -> str:
    """Text that a terminal shows and never obeys: no escapes, no control characters, no direction overrides."""
    without = _ESCAPES.sub("", text)
    kept = (" " if c in _BLANKS else c for c in without if c in _BLANKS or _shown(c))
    return " ".join("".join(kept).split())


def says_something(text: str) -> bool:
    """Whether anything in the text is spoken: letters, digits, signs with a name; not punctuation or notes."""
    return any(c.isalnum() or c in "%&‰" or unicodedata.category(c) in ("Sc", "Sm") for c in text)


def _shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs") and character not in _BIDI
