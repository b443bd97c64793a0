"""Pure text functions: the variants of a sentence pair that streaming speech produces.

A recogniser's stream looks like "Hello there how are" or "Hello, there. How are you?": with and without case and
punctuation, with fillers, and nearly always unfinished. The functions here make such text out of finished pairs.
"""

import random
import re

from ..common.corpus import CLOSING, EN_DE, Pair, spell_numbers, tidy

PAUSES = ",;:–—-、，；："
QUOTES = "\"'“”„‚‘’»«()「」『』"
FILLERS = {"en": ("uh", "um", "uh", "um", "er", "well", "you know"), "de": ("äh", "ähm", "äh", "ähm", "also", "na ja")}


def open_end(text: str) -> str:
    """Take the punctuation and quotes off the end: the sentence may go on."""
    return text.rstrip(CLOSING + PAUSES + QUOTES + " ")


def without_punctuation(text: str) -> str:
    """Drop punctuation but keep apostrophes, hyphens and number separators inside words."""
    text = re.sub(r"(?<=\w)[–—](?=\w)", " ", text)
    text = re.sub(r"(?<!\w)['’-]|['’-](?!\w)", " ", text)
    return tidy(re.sub(r"[.,:](?!\d)|[;!?…\"“”„‚»«()–—]", " ", text))


def with_fillers(words: list[str], language: str, rng: random.Random) -> list[str]:
    """Put one or two hesitations into the source; the translation says nothing of them."""
    words = list(words)
    for _ in range(rng.choice((1, 1, 2))):
        words.insert(rng.randrange(len(words)), rng.choice(FILLERS[language]))
    return words


def speech_like(source: str, language: str, rng: random.Random) -> str:
    """The source as a recogniser without a punctuation model would write it; its end is always open.

    Numbers become words in English only.
    """
    if rng.random() < 0.5 and language == "en":
        source = spell_numbers(source)
    source = without_punctuation(source) if rng.random() < 0.6 else open_end(source)
    if rng.random() < 0.6:
        source = source.lower()
    if rng.random() < 0.25 and source:
        source = " ".join(with_fillers(source.split(), language, rng))
    return source


def cut_pair(source: str, target: str, rng: random.Random, pair: Pair = EN_DE) -> tuple[str, str]:
    """Cut the source after a random word and the target at the same proportion, rounded down.

    Rounding down (but keeping one word) makes the model wait rather than guess the words that it cannot know yet.
    Sentences of one word come back whole, with open ends.
    """
    source_words, target_words = source.split(), pair.words(target)
    if len(source_words) > 1:
        kept = rng.randrange(1, len(source_words))
        target_kept = max(1, kept * len(target_words) // len(source_words))
        source_words, target_words = source_words[:kept], target_words[:target_kept]
    source_part = " ".join(source_words)
    if not (source_part.endswith(",") and rng.random() < 0.5):  # a comma is sometimes heard before the pause
        source_part = open_end(source_part)
    return source_part, open_end(pair.joined(target_words))
