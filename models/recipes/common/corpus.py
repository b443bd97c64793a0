"""The corpora of both recipes, read, cleaned and split in one way: all models hold out the same sentences."""

from __future__ import annotations

import collections
import hashlib
import lzma
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
CLOSING = ".!?…。！？"

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()

Sources = list[tuple[str, list[str]]]


SUFFIXES = {"de": "deu", "en": "eng", "es": "spa", "fr": "fra", "ja": "jpn", "zh": "zho"}


@dataclass(frozen=True)
class Pair:
    """A pair of languages, and what of its text differs from that of other pairs."""

    source: str
    """Code of the language, as of the target."""
    target: str
    shortest: float = 0.4
    """Least ratio of the target's length to the source's, in characters."""
    spaced: bool = True
    """Whether the target's words are separated by spaces; else a character stands for a word."""

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"

    @property
    def sides(self) -> tuple[str, str]:
        """The suffixes of the two languages' evaluation files."""
        return SUFFIXES[self.source], SUFFIXES[self.target]

    @property
    def test_sets(self) -> tuple[str, str]:
        """Names of evaluation files: sentences like the training's, and other ones."""
        foreign = next(suffix for suffix in self.sides if suffix != "eng")
        return ("tatoeba.test" if foreign == "deu" else f"tatoeba-{foreign}.test", "flores200.devtest")

    def words(self, target: str) -> list[str]:
        """The target's words, or its characters."""
        return target.split() if self.spaced else list(target)

    def joined(self, words: Sequence[str]) -> str:
        """The text of a target's words."""
        return (" " if self.spaced else "").join(words)

    def corpus(self) -> Path:
        """The file of the shared folder that has the pair, in whichever order."""
        folder = shared_folder() / "corpora/train"
        path = folder / f"{self}.tsv.xz"
        return path if path.exists() else folder / f"{self.target}-{self.source}.tsv.xz"


EN_DE = Pair("en", "de")
PAIRS = {
    str(pair): pair
    for pair in (
        EN_DE,
        Pair("de", "en"),
        Pair("en", "es"),
        Pair("en", "fr"),
        Pair("en", "ja", shortest=0.15, spaced=False),
        Pair("en", "zh", shortest=0.1, spaced=False),
    )
}
"""The pairs that the shared folder has a corpus of."""


def shared_folder() -> Path:
    """Folder with the corpora: `LIVETRANS_SHARED`, or `../shared` beside the checkout."""
    return Path(os.environ.get("LIVETRANS_SHARED", REPOSITORY.parent / "shared"))


def is_sound(source: str, target: str, shortest: float = EN_DE.shortest) -> bool:
    """Reject pairs whose halves end differently, or whose lengths cannot belong together."""
    if not source or not target or source.lower() == target.lower():
        return False
    if (source[-1] in CLOSING) != (target[-1] in CLOSING):
        return False
    ratio = (len(target) + 5) / (len(source) + 5)
    return shortest < ratio < 2.5 and "http" not in source


def read_sources(targets_per_source: int = 2, pair: Pair = EN_DE) -> Sources:
    """Clean training pairs of the shared folder grouped by source, each with its most typical translations.

    Tatoeba gives some sentences dozens of translations. Those with the most frequent words are kept: a model
    that has seen one consistent wording scores better and revises its captions less.
    """
    targets: dict[str, list[str]] = {}
    path = pair.corpus()
    for line in lzma.open(path, "rt", encoding="utf-8"):
        first, second = (tidy(side) for side in line.rstrip("\n").split("\t"))
        source, target = (first, second) if path.name.startswith(str(pair)) else (second, first)
        if is_sound(source, target, pair.shortest) and target not in targets.setdefault(source, []):
            targets[source].append(target)
    counts = collections.Counter(word for group in targets.values() for text in group for word in pair.words(text))

    def rarity(target: str) -> float:
        words = pair.words(target)
        return -sum(math.log(counts[word]) for word in words) / len(words)

    return [(source, sorted(group, key=rarity)[:targets_per_source]) for source, group in targets.items() if group]


def split_development(sources: Sources, share: float = 0.003) -> tuple[Sources, Sources]:
    """Hold out a few sources by a hash of their text, so that the split survives changes of order."""

    def is_development(source: str) -> bool:
        return int(hashlib.sha256(source.lower().encode()).hexdigest()[:8], 16) < share * 16**8

    training = [item for item in sources if not is_development(item[0])]
    return training, [item for item in sources if is_development(item[0])]


def tidy(text: str) -> str:
    """One space between words and none around, because llama.cpp keeps every space as a token."""
    return " ".join(text.split())


def number_words(number: int) -> str:
    """English words of an integer from 0 to 999,999, without "and", as recognisers mostly write them."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + ("" if number % 10 == 0 else " " + _ONES[number % 10])
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    head = number_words(number // unit) + " " + name
    return head if number % unit == 0 else head + " " + number_words(number % unit)


def year_words(year: int) -> str:
    """Words of a year between 1100 and 1999 as it is spoken ("nineteen eighty four")."""
    high, low = divmod(year, 100)
    tail = "hundred" if low == 0 else ("oh " if low < 10 else "") + number_words(low)
    return number_words(high) + " " + tail


def spell_numbers(text: str) -> str:
    """Replace plain digits by words; decimals, ordinals and codes stay as they are."""

    def words(match: re.Match[str]) -> str:
        number = int(match.group().replace(",", ""))
        is_year = 1100 <= number <= 1999 and "," not in match.group()
        return year_words(number) if is_year else number_words(number)

    return re.sub(r"(?<![\w.,:])(?:\d{1,3},\d{3}|\d{1,6})(?![\w:]|[.,]\d)", words, text)
