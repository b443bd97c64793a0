"""Pure text functions of the recipe: cleaning, and the variants of a sentence pair that streaming speech produces.

A recogniser's stream looks like "Hello there how are" or "Hello, there. How are you?": with and without case and
punctuation, with fillers, and nearly always unfinished. The functions here make such text out of finished pairs.
"""

import random
import re

CLOSING = ".!?…"
PAUSES = ",;:–—-"
QUOTES = "\"'“”„‚‘’»«()"
FILLERS = ("uh", "um", "uh", "um", "er", "well", "you know")

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


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


def open_end(text: str) -> str:
    """Take the punctuation and quotes off the end: the sentence may go on."""
    return text.rstrip(CLOSING + PAUSES + QUOTES + " ")


def without_punctuation(text: str) -> str:
    """Drop punctuation but keep apostrophes, hyphens and number separators inside words."""
    text = re.sub(r"(?<=\w)[–—](?=\w)", " ", text)
    text = re.sub(r"(?<!\w)['’-]|['’-](?!\w)", " ", text)
    return tidy(re.sub(r"[.,:](?!\d)|[;!?…\"“”„‚»«()–—]", " ", text))


def with_fillers(words: list[str], rng: random.Random) -> list[str]:
    """Put one or two hesitations into the source; the translation says nothing of them."""
    words = list(words)
    for _ in range(rng.choice((1, 1, 2))):
        words.insert(rng.randrange(len(words)), rng.choice(FILLERS))
    return words


def speech_like(source: str, rng: random.Random) -> str:
    """The source as a recogniser without a punctuation model would write it; its end is always open."""
    if rng.random() < 0.5:
        source = spell_numbers(source)
    source = without_punctuation(source) if rng.random() < 0.6 else open_end(source)
    if rng.random() < 0.6:
        source = source.lower()
    if rng.random() < 0.25 and source:
        source = " ".join(with_fillers(source.split(), rng))
    return source


def cut_pair(source: str, target: str, rng: random.Random) -> tuple[str, str]:
    """Cut the source after a random word and the target at the same proportion, rounded down.

    Rounding down (but keeping one word) makes the model wait rather than guess the words that it cannot know yet.
    Sentences of one word come back whole, with open ends.
    """
    source_words, target_words = source.split(), target.split()
    if len(source_words) > 1:
        kept = rng.randrange(1, len(source_words))
        target_kept = max(1, kept * len(target_words) // len(source_words))
        source_words, target_words = source_words[:kept], target_words[:target_kept]
    source_part = " ".join(source_words)
    if not (source_part.endswith(",") and rng.random() < 0.5):  # a comma is sometimes heard before the pause
        source_part = open_end(source_part)
    return source_part, open_end(" ".join(target_words))
