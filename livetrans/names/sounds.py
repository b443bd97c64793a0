"""Words that sound like a term and mean nothing else: a guarded rule, for languages with a list of common words.

Silent fuzzy matching corrupts transcripts, so every guard has to hold. A common word is never a name. Consonants have
to agree, vowels may not: the key of a word is its consonants, those that recognisers confuse taken together.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

LANGUAGES = ("en",)
"""Spoken languages with a list of common words, beside this file."""
MOST_WORDS = 3
"""Most words that a name may be heard as."""
LEAST_LETTERS, LEAST_JOINED = 5, 7
"""Letters of a term that one word may stand for, and that several may."""
LEAST_HEARD = 4
"""Letters of a word that is not taken for a common one."""
NEAR = 0.77
"""Likeness of the letters of one word that needs no equal key."""
ALIKE, ALIKE_JOINED, ALIKE_COMMON = 0.77, 0.6, 0.75
"""Likeness that an equal key needs: of one word, of several, and of several that are all common."""
LEAST_KEY, LEAST_KEY_JOINED, LEAST_KEY_COMMON = 4, 4, 5
"""Consonants that the key needs then."""

WORDS_KEPT = 10_000
"""Words whose sound and term are remembered: most words of an update were in the one before."""

_SPELLED = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("sch|tch|sh|ch", "S"), ("ph|v", "f"), ("igh|gh(?![aeiouy])", "i"), ("th|dt", "t"), ("wh", "w"),
        ("kn", "n"), ("wr", "r"), ("ck|qu?", "k"), ("x", "ks"), ("c(?=[eiy])|z", "s"), ("c|g", "k"), ("j", "S"),
        ("b", "p"), ("d", "t"), ("w(?![aeiouy])", ""), ("[aeiouyh]+", "a"), (r"(.)\1+", r"\1"),
    )
]  # fmt: skip


@cache
def common_words(language: str) -> frozenset[str]:
    """Return words of a language that are no names, of four letters or more."""
    return frozenset(files("livetrans.names").joinpath(f"common.{language}.txt").read_text("utf-8").split())


def letters(text: str) -> str:
    """Return the letters of a text without case and marks."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in folded if character.isalpha())


@lru_cache(WORDS_KEPT)
def sound_of(word: str) -> str:
    """Return a word's letters as they sound, with `a` for all vowels."""
    sounds = word
    for pattern, sound in _SPELLED:
        sounds = pattern.sub(sound, sounds)
    return sounds


def key_of(sound: str) -> str:
    """Return the consonants of a sound, after `a` where it begins with a vowel."""
    return sound[:1] + _squeezed(sound[1:].replace("a", "")) if sound else ""


def likeness(left: str, right: str) -> float:
    """Return 1 - edits / letters of the longer one; an edit changes, adds, drops or swaps letters (OSA), 0..1."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, start=1):
        new = [i]
        for j, other in enumerate(right, start=1):
            least = min(row[j] + 1, new[-1] + 1, row[j - 1] + (one != other))
            if i > 1 and j > 1 and one == right[j - 2] and left[i - 2] == other:
                least = min(least, before[j - 2] + 1)
            new.append(least)
        before, row = row, new
    return 1 - row[-1] / max(len(left), len(right), 1)


class Sounds:
    """Finds the term that heard words sound like."""

    def __init__(self, terms: Iterable[tuple[str, str]], language: str) -> None:
        """`terms`: each with a spelling that it has or was heard as."""
        self._common = common_words(language)
        self._by_key: defaultdict[str, list[_Spelled]] = defaultdict(list)
        self._by_first: defaultdict[str, list[_Spelled]] = defaultdict(list)
        """By the first sound of the key."""
        for spelling, term in sorted(set(terms)):
            spelled = _Spelled.of(term, [letters(word) for word in spelling.split()])
            if len(spelled.letters) >= LEAST_LETTERS:
                self._by_key[spelled.key].append(spelled)
                self._by_first[spelled.key[:1]].append(spelled)
        joined = (term.key for terms in self._by_key.values() for term in terms if len(term.letters) >= LEAST_JOINED)
        self._beginnings = {key[:length] for key in joined for length in range(len(key) + 1)}
        self.found = lru_cache(WORDS_KEPT)(self._found)

    def may_begin(self, words: Sequence[str]) -> bool:
        """Return whether these words and others to come could stand for a term together."""
        if len(words) >= MOST_WORDS:
            return False
        heard = _Spelled.of("", [letters(word) for word in words])
        return _begins_join(words[0]) and heard.key in self._beginnings

    def _found(self, words: tuple[str, ...]) -> str | None:
        """Return the term that these words stand for; None for none, and where two terms are as likely."""
        parts = [letters(word) for word in words]
        heard = _Spelled.of("", parts)
        is_common = all(len(part) < LEAST_HEARD or part in self._common for part in parts)
        is_refused = is_common if len(parts) == 1 else not _begins_join(words[0])
        if not all(parts) or len(heard.letters) < LEAST_HEARD or is_refused:
            return None
        count, least = (LEAST_KEY, ALIKE) if len(parts) == 1 else (LEAST_KEY_JOINED, ALIKE_JOINED)
        count, least = (LEAST_KEY_COMMON, ALIKE_COMMON) if is_common else (count, least)
        found: dict[str, float] = {}
        for term in self._by_key.get(heard.key, ()) if len(heard.key) >= count else ():
            if len(parts) == 1 or len(term.letters) >= LEAST_JOINED:
                alike = (likeness(heard.letters, term.letters) + likeness(heard.sound, term.sound)) / 2
                found[term.text] = max(alike if alike >= least else 0, found.get(term.text, 0))
        for term in self._by_first.get(heard.key[:1], ()) if len(parts) == 1 else ():
            edits = (1 - NEAR) * max(len(heard.letters), len(term.letters))
            # An edit brings at most one letter that the other lacks.
            lacking = max(len(set(heard.letters) - set(term.letters)), len(set(term.letters) - set(heard.letters)))
            if max(lacking, abs(len(heard.letters) - len(term.letters))) <= edits:
                alike = likeness(heard.letters, term.letters)
                found[term.text] = max(alike if alike >= NEAR else 0, found.get(term.text, 0))
        best = sorted(found, key=lambda term: -found[term])[:2]
        return best[0] if best and found[best[0]] > (found[best[1]] if len(best) > 1 else 0) else None


def _begins_join(word: str) -> bool:
    """Return whether a word says enough to be the first of several that stand for a term."""
    return len(key_of(sound_of(letters(word)))) > 1


class _Spelled(NamedTuple):
    """A term or heard words, spelled as one word."""

    text: str
    letters: str
    sound: str
    key: str

    @classmethod
    def of(cls, text: str, parts: Sequence[str]) -> _Spelled:
        sound = _squeezed("".join(map(sound_of, parts)))
        return cls(text, "".join(parts), sound, key_of(sound))


def _squeezed(sound: str) -> str:
    """Return the sounds, each once where it is repeated."""
    return re.sub(r"(.)\1+", r"\1", sound)
