"""The sentences that are spoken: the translator's sources, cleaned to what a voice says and few pieces can spell."""

from __future__ import annotations

import collections
import random
import re

from ..common.corpus import read_sources, spell_numbers, split_development, tidy

SPEAKABLE = re.compile(r"[A-Za-z][A-Za-z' -]*(?:[,;:]? [A-Za-z][A-Za-z' -]*)*[,;:]?[.?!]?(?: [A-Za-z' ,;:-]+[.?!])*")
MIN_WORDS, MAX_WORDS = 2, 22
RARE = 3
"""Words that occur less often than this are names and mistakes, which no voice's sound can teach to spell."""


def words_of(text: str) -> list[str]:
    """Lower-case words without punctuation, for counting and for CTC."""
    return re.sub(r"[^a-z' ]", " ", text.lower().replace("-", " ")).split()


def spoken_form(text: str) -> str:
    """Typewriter quotes, numbers in words: what is written is what is said."""
    return tidy(spell_numbers(text.replace("’", "'").replace("‘", "'")))


def read_sentences() -> tuple[list[str], list[str]]:
    """Training and held-out sentences, each once; the split is the translator's."""
    sources = read_sources(targets_per_source=1)
    training, held_out = ([spoken_form(source) for source, _ in part] for part in split_development(sources))
    counts = collections.Counter(word for text in training for word in words_of(text))

    def is_usable(text: str) -> bool:
        words = words_of(text)
        return (
            MIN_WORDS <= len(words) <= MAX_WORDS
            and SPEAKABLE.fullmatch(text) is not None
            and all(counts[word] >= RARE for word in words)
        )

    training_kept = sorted({text for text in training if is_usable(text)})
    random.Random(1).shuffle(training_kept)
    # A sentence with other case or punctuation in both parts would not be unseen.
    known = {" ".join(words_of(text)) for text in training_kept}
    unseen = sorted({text for text in held_out if is_usable(text) and " ".join(words_of(text)) not in known})
    random.Random(1).shuffle(unseen)
    return training_kept, unseen
