"""Words that sound like a term and mean nothing else: a guarded rule, for languages with a list of common words.

Silent fuzzy matching corrupts transcripts, so every guard has to hold. A common word alone is never a name. Words are
compared as they sound, by a weighted edit distance: recognisers keep consonants, confuse related ones, drop an `r`, and
write any vowel. The key of a sound is its consonants without `r`, related ones taken together. What is repaired without
a question has the key of the term; about what nearly does the recogniser can be asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate
from math import inf
from typing import NamedTuple

LANGUAGES = ("en",)
"""Spoken languages with a list of common words, beside this file."""
MOST_WORDS = 3
"""Most words that a name may be heard as."""
LEAST_LETTERS, LEAST_JOINED = 5, 7
"""Letters of a term that one word may stand for, and that several may."""
LEAST_HEARD = 4
"""Letters of a word that is not taken for a common one."""
LEAST_CONSONANTS = 3
"""Consonants of a term."""
ALONE, JOINED, COMMON = 0.10, 0.17, 0.03
"""Distance, as a share of the term's weight, of one word, of several, and of several common ones for each consonant
beyond the least."""
HEARD = 0.3
"""Share of these distances that a spelling allows which is not the term's own."""
NEAR, NEAR_EACH = 0.3, 0.1
"""Distance, as such a share, up to which the recogniser is asked which of the two it heard: at most, and for each
consonant beyond the first. A term itself has to have more consonants than the least."""

LEAST_OF_SPELLING, LEAST_OF_TERM = -10.0, -20.0
"""Least log-odds by which such a spelling is repaired, and a term itself, which few recognisers write."""

_ONE, _SEVERAL, _COMMON = range(3)
WORDS_KEPT = 10_000
"""Words whose sound and terms are remembered: most words of an update were in the one before."""

_SPELLED = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("^x", "s"), ("bh", "v"), ("(?<=s)i(?=[aou])", "h"), ("sch|tch|sh|ch", "S"), ("ph", "f"),
        ("igh|gh(?![aeiouy])", "i"), ("th|dt", "t"), ("wh", "w"), ("kn", "n"), ("wr", "r"), ("qu(?=[aiou]|e.)", "kw"),
        ("ck|qu?", "k"), ("x", "ks"), ("c(?=[eiy])", "s"), ("c", "k"), ("j", "S"),
        ("(?<=[aeiouy])r(?![aeiouyrh])", "R"), ("w(?![aeiouy])", ""), ("(?<![aeiouy])y(?=[aeiou])", "Y"),
        ("a[aeiouyh]*", "a"), ("[eiy][aeiouyh]*", "e"), ("[ou][aeiouyh]*", "o"), ("h", ""), (r"(.)\1+", r"\1"),
    )
]  # fmt: skip
"""Spellings as they sound: `R` is one that many speakers drop, `Y` a consonant, and vowels are front, open or back."""
_VOWELS = "aeo"
_WEIGHTS = dict.fromkeys([*_VOWELS, "w", "Y"], 0.3) | {"R": 0.2}
"""Weights of sounds that come and go; others have 1."""
_KEYS = str.maketrans("bdfgmSvz", "ptpknsps", "aeowYRr")
_CHANGES = {
    pair: cost
    for pairs, cost in (
        ("mn sS zS fp vb fb vp bp dt gk vf zs", 0.5),
        ("rR", 0.2),
        ("ae ao eo", 0.1),
        ("aR eR oR aw ew ow aY eY oY", 0.3),
    )
    for one in pairs.split()
    for pair in (one, one[::-1])
}
"""Costs of a sound in place of another; of other pairs 1."""


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
    """Return the sounds of a word of letters, a character each."""
    for pattern, sound in _SPELLED:
        word = pattern.sub(sound, word)
    return word


def joined_sound(parts: Iterable[str]) -> str:
    return re.sub(r"(.)\1+", r"\1", "".join(map(sound_of, parts)))


def key_of(sound: str) -> str:
    """Return the consonants that recognisers keep, after `a` where the sound begins with a vowel."""
    return "a" * sound.startswith(tuple(_VOWELS)) + re.sub(r"(.)\1+", r"\1", sound.translate(_KEYS))


def weight(sound: str) -> float:
    return _WEIGHTS.get(sound, 1)


def distances(heard: str, sound: str, most: float) -> list[float]:
    """Return the distances of what was heard from each beginning of a sound, the whole one last; infinity is the last
    where that and all others to come are more than `most`.

    A distance is the least sum of weights of sounds dropped and added, and of costs of sounds changed.
    """
    drops = [weight(one) for one in heard]
    row = [0.0, *accumulate(drops)]
    found = [row[-1]]
    for other in sound:
        before, adds = row, weight(other)
        row = [before[0] + adds]
        for place, one in enumerate(heard):
            change = before[place] + (0 if one == other else _CHANGES.get(one + other, 1))
            row.append(min(change, before[place + 1] + adds, row[-1] + drops[place]))
        if min(row) > most:
            return [*found, inf]
        found.append(row[-1])
    return found


class _Target(NamedTuple):
    """A term, by a spelling that it has or was heard as."""

    term: str
    spelling: str
    sound: str
    weight: float
    most: tuple[float, float, float]
    """Largest distance of one word, of several, and of several common ones."""
    near: tuple[float, float]
    """Largest distance of what is near: of words of which one is not common, and of common ones."""


class Near(NamedTuple):
    """A spelling that heard words nearly sound like, and its distance as a share of its weight."""

    share: float
    term: str
    spelling: str

    @property
    def least_odds(self) -> float:
        """Least log-odds of the spelling, by the recogniser, against the words that it wrote."""
        return LEAST_OF_TERM if self.spelling == self.term else LEAST_OF_SPELLING


class Sounds:
    """Finds the term that heard words sound like."""

    def __init__(self, terms: Iterable[tuple[str, str]], language: str) -> None:
        """`terms`: each with a spelling that it has or was heard as."""
        self._common = common_words(language)
        self._by_key: defaultdict[str, list[_Target]] = defaultdict(list)
        self._beginnings: defaultdict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
        """By key, the beginnings of spellings that several words may stand for, and the largest distances: of what is
        repaired, and of what is near a written spelling. Nothing waits for what could only be near a term itself."""
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        """Keys of both, by what is left of them without any one sound."""
        for spelling, term in sorted(set(terms)):
            parts = [letters(word) for word in spelling.split()]
            sound, count = joined_sound(parts), sum(map(len, parts))
            consonants = sum(weight(one) == 1 for one in sound)
            if count < LEAST_LETTERS or consonants < LEAST_CONSONANTS:
                continue
            whole = sum(map(weight, sound))
            share = whole * (1 if spelling == term else HEARD)
            joined = JOINED if count >= LEAST_JOINED else -1
            common = min(COMMON * (consonants - LEAST_CONSONANTS), joined)
            is_asked = spelling != term or consonants > LEAST_CONSONANTS
            near = whole * min(NEAR, NEAR_EACH * (consonants - 1)) if is_asked else -1
            most = ALONE * share, joined * share, common * share
            target = _Target(term, spelling, sound, whole, most, (near, near if count >= LEAST_JOINED else -1))
            self._by_key[key_of(sound)].append(target)
            longest = {key_of(sound[:end]): sound[:end] for end in range(1, len(sound) + 1)}
            for key, beginning in longest.items():
                found = self._beginnings[key].get(beginning, (-1.0, 0.0))
                waits = most[_SEVERAL] if spelling == term else near
                self._beginnings[key][beginning] = max(found[0], most[_SEVERAL]), max(found[1], waits)
        for key in self._beginnings:
            for part in _with_one_sound_less(key):
                self._keys[part].add(key)
        self.found = lru_cache(WORDS_KEPT)(self._found)
        self.near = lru_cache(WORDS_KEPT)(self._near)
        self.may_begin = lru_cache(WORDS_KEPT)(self._may_begin)

    def _may_begin(self, words: tuple[str, ...], near: bool = False) -> bool:
        """Return whether these words and others to come could stand for a term together, or be near one."""
        parts = [letters(word) for word in words]
        if not _begins_join(parts):
            return False
        sound = joined_sound(parts)
        keys = self._near_keys(sound) if near else {key_of(sound)}
        beginnings = ((one, most[near]) for key in keys for one, most in self._beginnings.get(key, {}).items())
        return any(min(distances(sound, beginning, most)) <= most for beginning, most in beginnings)

    def _found(self, words: tuple[str, ...]) -> Near | None:
        """Return the nearest spelling that these words stand for; None for none, and where two terms are as near."""
        if not (parts := self._parts(words)):
            return None
        kind = _COMMON if all(map(self._is_common, parts)) else _SEVERAL if len(parts) > 1 else _ONE
        sound = joined_sound(parts)
        found = sorted(_nearest(sound, self._by_key.get(key_of(sound), ()), lambda target: target.most[kind]))
        is_sure = found and all(one.term == found[0].term for one in found if one.share == found[0].share)
        return found[0] if is_sure else None

    def _near(self, words: tuple[str, ...]) -> list[Near]:
        if not (parts := self._parts(words)):
            return []
        sound = joined_sound(parts)
        is_common = all(map(self._is_common, parts))
        targets = (target for key in self._near_keys(sound) for target in self._by_key.get(key, ()))
        return list(_nearest(sound, targets, lambda target: target.near[is_common]))

    def _near_keys(self, sound: str) -> set[str]:
        """Return the keys that equal a sound's key if at most one sound is left out of each."""
        return {key for part in _with_one_sound_less(key_of(sound)) for key in self._keys.get(part, ())}

    def _parts(self, words: Sequence[str]) -> list[str]:
        """Return the letters of each of the words; none if these words can be no name."""
        parts = [letters(word) for word in words]
        is_refused = self._is_common(parts[0]) if len(parts) == 1 else not _begins_join(parts)
        return [] if is_refused or not all(parts) or sum(map(len, parts)) < LEAST_HEARD else parts

    def _is_common(self, part: str) -> bool:
        return len(part) < LEAST_HEARD or part in self._common


def _nearest(sound: str, targets: Iterable[_Target], most: Callable[[_Target], float]) -> Iterator[Near]:
    """Yield the spellings that are at most so far from a sound."""
    for one in targets:
        edits = distances(sound, one.sound, most(one))[-1]
        if edits <= most(one):
            yield Near(edits / one.weight, one.term, one.spelling)


def _with_one_sound_less(key: str) -> set[str]:
    """Return a key, and what is left of it without any one sound."""
    return {key, *(key[:place] + key[place + 1 :] for place in range(len(key)))}


def _begins_join(parts: Sequence[str]) -> bool:
    """Return whether the first of several words says enough to stand for a term with the others."""
    return any(one not in _VOWELS for one in sound_of(parts[0])[1:])
