"""Where a segment ends while the speaker goes on: strong punctuation, else the length cap."""

from __future__ import annotations

import re
from collections.abc import Sequence

from livetrans.events import Word

_CLOSING = "\"'”’»›)]}」』"
_STRONG = (".", "!", "?", "…", "。", "！", "？")
_CLAUSE = (",", ";", ":", "—", "–", "、", "，", "；", "：", *_STRONG)
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+")
"""Initials and letter abbreviations: `J.`, `e.g.`, `U.S.`, `z.B.`"""
_ORDINAL = re.compile(r"\d{1,2}\.")
"""`3. Oktober`, `1. the list's first`: more often a number in a sentence than a sentence's end."""
_ABBREVIATIONS = frozenset(
    """mr mrs ms mx dr prof st mt rev hon gen col capt lt sgt maj gov sen rep pres messrs jr sr vs etc inc ltd co corp
    no nos fig vol pp ed al cf approx dept est ave blvd jan feb mar apr jun jul aug sept oct nov dec
    hr fr frau nr bzw ca usw ggf evtl inkl zzgl abs str tel sog vgl mme mlle sra srta ud uds pág núm""".split()
)


def find_endpoint(
    committed: Sequence[Word], partial: Sequence[Word], maximum_words: int, maximum_length: float, shown_words: int = 0
) -> int | None:
    """How many leading committed words end the segment here, or None where it goes on; `maximum_length` in seconds.

    The first sentence end that more words follow; past the caps the last clause boundary of the latter half, else the
    last committed word there. A segment whose latter half is not yet committed waits: the buffer's cap ends the wait.
    `shown_words` were shown as committed to this segment and stay in it.
    """
    words = [*committed, *partial]
    if not words or not committed:
        return None
    within = sum(word.end - words[0].start <= maximum_length for word in words[:maximum_words])
    limit = max(within, shown_words, 1)
    reach = min(limit, len(committed))
    for count in range(max(shown_words, 1), min(reach, len(words) - 1) + 1):
        if ends_sentence(words[count - 1].text, words[count].text):
            return count
    if len(words) <= limit:
        return None
    earliest = max((limit + 1) // 2, shown_words)
    for count in range(reach, earliest - 1, -1):
        if words[count - 1].text.rstrip(_CLOSING).endswith(_CLAUSE):
            return count
    return reach if reach >= earliest else None


def ends_sentence(text: str, following: str) -> bool:
    """Whether a word ends its sentence, seen with the word that follows it."""
    bare = text.rstrip(_CLOSING).lstrip("\"'“‘«‹([{„¿¡「『")
    if not bare.endswith(_STRONG):
        return False
    if bare.endswith(("...", "…")):
        return not following[:1].islower()
    if not bare.endswith("."):
        return True
    if following[:1].islower() or (bare[:-1].isdigit() and following[:1].isdigit()):
        return False
    abbreviated = bare[:-1].casefold() in _ABBREVIATIONS or (_DOTTED.fullmatch(bare) and bare != "I.")
    return not (abbreviated or _ORDINAL.fullmatch(bare))
