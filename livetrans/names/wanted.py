"""What captions should have for the terms of a glossary, said once: for prompts, decoding, and the count of terms.

A term is wanted as its translation into the captions' language. `=` wants it as it is, and so does an empty translation
of a name where the language copies names. A term with a capital letter is a *name*.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from livetrans.base.languages import Language, same_written_language
from livetrans.base.text import has_unspaced_script
from livetrans.config import Term
from livetrans.names.file import for_language
from livetrans.names.repair import Spellings, forms_of, tokens_of
from livetrans.names.sounds import LANGUAGES as WITH_COMMON_WORDS
from livetrans.names.sounds import common_words

COPIES_NAMES = frozenset("af ca da de en es fr gl id it lb ms nl no pt sv vi".split())
"""Languages in Latin letters whose names take no ending but a single s."""
SHORTEST_COMMON = 4
"""Letters of the shortest words in the lists of common words."""
_SENTENCE_END = re.compile(r"(?:\A|[.!?…])[\W_]*\Z")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What captions should have for a term of the source."""

    term: str
    text: str
    is_name: bool = False
    takes_endings: bool = True
    """Whether a caption may give it an ending, which names have in some languages."""

    def count(self, caption: str) -> int:
        """Return how often a caption has it as whole words: a name in its own case, another term in any."""
        before = "" if has_unspaced_script(self.text) else r"(?<!\w)"
        after = "" if self.takes_endings or not before else r"(?:s|['’]s?)?(?!\w)"
        words = r"\s+".join(map(re.escape, self.text.split()))
        return len(re.findall(before + words + after, caption, re.NOFLAG if self.is_name else re.IGNORECASE))


def wanted_of(
    terms: Iterable[Term], source: Language, target: Language, first: tuple[Language, Language]
) -> list[Wanted]:
    """Return what captions should have for the terms of a run whose `first` direction their translations are for.

    In the opposite direction, or where a translation is into the spoken language, translations are the terms.
    """
    spoken, shown = first
    is_first = target == shown
    is_back = same_written_language(source.code, shown.code) and same_written_language(target.code, spoken.code)
    copies = target.code.partition("-")[0] in COPIES_NAMES
    found = []
    for term in terms:
        text, wanted = term.text, _into(term, target, is_first)
        if not wanted and (there := _into(term, source, is_back)):
            text, wanted = there, term.text
        is_name = _has_capital(text) and (_has_capital(wanted) or wanted.lower() == wanted.upper())
        if not wanted and is_name and copies:
            wanted = text
        if wanted:
            found.append(Wanted(text, wanted, is_name, not (is_name and copies)))
    return found


def _into(term: Term, target: Language, is_first: bool) -> str:
    """Return a term's translation into a language: `fr: conseil | es: consejo`, or for all that stay, or the first."""
    if term.translation == term.text:
        return term.text
    for part in term.translation.split("|"):
        text, code = for_language(part)
        if same_written_language(code, target.code) if code else is_first:
            return text
    return ""


def _has_capital(text: str) -> bool:
    return any(map(str.isupper, text))


class Glossary:
    """Finds the terms that occur in a text."""

    def __init__(self, wanted: Iterable[Wanted] = (), language: str = "en") -> None:
        """`language`: code of the texts."""
        terms = [(forms, one) for one in wanted if (forms := forms_of(one.term))]
        self._wanted, self._has_terms = Spellings(terms), bool(terms)
        self._common = common_words(language) if language in WITH_COMMON_WORDS else None

    def found(self, text: str) -> Iterator[tuple[int, int, Wanted]]:
        """Yield the place of each term, from a character to before another; a longer term hides shorter ones in it."""
        tokens, index = tokens_of(text) if self._has_terms else [], 0
        while index < len(tokens):
            length, wanted = next(self._wanted.at(tokens, index), (1, None))
            if wanted:
                begin, last = tokens[index].begin, tokens[index + length - 1]
                end = last.end if last.form == forms_of(wanted.term)[-1] else last.begin + len(last.owner)
                mark = wanted.term[len(wanted.term.rstrip(".!?")) :]  # As in "Acme Inc."
                end += len(mark) if text.startswith(mark, end) else 0
                if not self._is_another_word(text, begin, end, wanted):
                    yield begin, end, wanted
            index += length

    def due(self, text: str) -> Counter[Wanted]:
        """Return how often each term is in the text, in order."""
        return Counter(wanted for _, _, wanted in self.found(text))

    def _is_another_word(self, text: str, begin: int, end: int, wanted: Wanted) -> bool:
        """Return whether a name of one word may be a common one: in another case, or where a sentence begins."""
        name = wanted.term
        may_be_common = self._common is None or len(name) < SHORTEST_COMMON or name.casefold() in self._common
        if not wanted.is_name or " " in name or not may_be_common:
            return False
        begins = self._common is not None and _SENTENCE_END.search(text[:begin]) is not None
        return begins or text[begin:end] != name


def kept(due: Counter[Wanted], caption: str) -> int:
    """Return how many of the occurrences that are due a caption has."""
    return sum(min(wanted.count(caption), count) for wanted, count in due.items())
