"""Recognised words: which are equal, what is spoken text, what is a loop, and the segments that they form.

In a loop the recogniser repeats words over sound that does not. Two passes in a row usually loop alike, so
LocalAgreement would commit the loop and the prompt would feed it: loops are dropped from every hypothesis first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, groupby, pairwise
from operator import mul

from livetrans.base.sequences import common_prefix_length
from livetrans.base.text import has_unspaced_script, join_text
from livetrans.config import TranscriberSettings
from livetrans.events import RecognitionStats, Transcript, Word

WORD_REPETITIONS = 8
"""One word this many times in a row is a loop; "no, no, no" and "very very very" are not."""
PHRASE_REPETITIONS = 3
PHRASE_WORDS = range(2, 9)

LETTERS_PER_WORD = 3
"""Letters of a script without spaces that count as one word against the cap: about as much speech."""
NEARLY = 0.75
"""Share of the caps from which on a segment ends at a clause boundary."""

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


def comparison_form(text: str) -> str:
    """Return the word without case and punctuation; a word of punctuation alone stays as it is."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(c for c in folded if c.isalnum() or unicodedata.category(c).startswith("M"))
    return kept or folded


def forms_of(words: Iterable[Word]) -> list[str]:
    return [comparison_form(word.text) for word in words]


def words_text(words: Iterable[Word]) -> str:
    """Join the words, with spaces if their script has them."""
    return reduce(join_text, (word.text for word in words), "")


def is_spoken(text: str) -> bool:
    """Return whether the text has anything to pronounce: letters, digits, signs with a name."""
    return any(c.isalnum() or c in "%&‰" or unicodedata.category(c) in ("Sc", "Sm") for c in text)


def drop_loops(words: Sequence[Word]) -> tuple[Word, ...]:
    """Keep one occurrence of each loop: of one word anywhere, of a 2- to 8-gram at the tail."""
    return _drop_phrase_loop(_drop_word_loops(words))


def _drop_word_loops(words: Sequence[Word]) -> tuple[Word, ...]:
    kept: list[Word] = []
    for _, group in groupby(words, lambda word: comparison_form(word.text)):
        same = list(group)
        kept += same[:1] if len(same) >= WORD_REPETITIONS else same
    return tuple(kept)


def _drop_phrase_loop(words: Sequence[Word]) -> tuple[Word, ...]:
    """Drop the tail that repeats with a period of 2 to 8 words, a last incomplete round included."""
    forms = forms_of(words)
    for period in PHRASE_WORDS:
        start = len(forms) - period
        while start > 0 and forms[start - 1] == forms[start - 1 + period]:
            start -= 1
        phrase = forms[start : start + period] if start >= 0 else []
        # One word again and again falls under the other rule, which has a higher limit.
        if len(set(phrase)) > 1 and len(forms) - start >= PHRASE_REPETITIONS * period:
            return tuple(words[: start + period])
    return tuple(words)


def sure_length(words: Sequence[Word], least: float, caution: float) -> int:
    """Return up to how many words all are right with a probability whose `caution`-th power is at least `least`.

    A recogniser's probability of one word says little of whether it is right; the product of those up to it does, see
    docs/design.md.
    """
    letters = (LETTERS_PER_WORD if has_unspaced_script(word.text) else 1 for word in words)
    chances = accumulate((word.probability ** (1 / count) for word, count in zip(words, letters, strict=True)), mul)
    return sum(chance**caution >= least for chance in chances)


def find_endpoint(words: Sequence[Word], maximum_words: int, maximum_length: float, least: int = 1) -> int | None:
    """Return how many leading words are a segment, or None if it goes on with the next word; `maximum_length`: seconds.

    It ends at the first sentence end that more words follow; from `NEARLY` of the caps on at a clause boundary too, and
    at the caps anywhere. So an end is known as soon as the first word after it is. The first `least` words stay in it.
    """
    size = 0
    for count, (word, following) in enumerate(pairwise(words), start=1):
        # A recogniser's words are single letters where no spaces are written.
        size += 1 if has_unspaced_script(word.text) else LETTERS_PER_WORD
        if count < least:
            continue
        reached = max(size / (maximum_words * LETTERS_PER_WORD), (word.end - words[0].start) / maximum_length)
        at_clause = word.text.rstrip(_CLOSING).endswith(_CLAUSE)
        if ends_sentence(word.text, following.text) or reached >= (NEARLY if at_clause else 1.0):
            return count
    return None


def ends_sentence(text: str, following: str) -> bool:
    """Return whether a word ends its sentence, by the word and the one after it."""
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


@dataclass(frozen=True, slots=True)
class _Shown:
    """An open segment as its last transcript showed it."""

    segment_id: int
    words: tuple[Word, ...] = ()
    committed: int = 0
    """Number of words that it showed as committed: they cannot go to another segment."""
    revisions: int = 0
    ended: bool = False
    language: str | None = None
    extent: tuple[float, float] = (0.0, 0.0)
    """Start and end of the last words that it had."""


@dataclass
class OpenSegments:
    """The segments that are being spoken: one, or several where sentences end in words that are not yet committed.

    A hypothesis is divided at its sentence ends. A segment becomes final when all its words are committed and another
    word follows. Where the recogniser takes a sentence end back, the words after it go back to the segment before.
    """

    ids: Iterator[int]
    """Gives the ids; tracks share one, so that the segment that begins first has the smaller one."""
    settings: TranscriberSettings
    committed: tuple[Word, ...] = ()
    partial: tuple[Word, ...] = ()
    waiting: tuple[Word, ...] = ()
    """Words after those, which are not sure enough to be shown."""
    shown: list[_Shown] = field(default_factory=list)
    stats: RecognitionStats | None = None
    language: str | None = None
    captured: tuple[float, float] | None = None
    """Source time and measured time of the same sample: the newest that came with both."""

    def take(
        self,
        newly_committed: tuple[Word, ...],
        tail: tuple[Word, ...],
        stats: RecognitionStats,
        sure: int | None = None,
    ) -> None:
        """Take the words of a pass. Those of the tail after the first `sure` wait unless they are shown; None: none."""
        self.committed += newly_committed
        self.stats = stats
        count = len(tail)
        if sure is not None and self._is_same_language:
            standing = common_prefix_length(self._shown_forms(), forms_of((*self.committed, *tail)))
            count = max(sure, standing - len(self.committed))
        self.partial, self.waiting = tail[:count], tail[count:]

    def update(self, *, final: bool, may_end: bool = False) -> list[Transcript]:
        """Return finals of the segments that end within the words, then the updates of the open ones that changed.

        `may_end`: silence follows the words, so a sentence that is complete has ended.
        """
        parts = self._parts()
        transcripts: list[Transcript] = []
        while len(parts) > 1 and len(parts[0]) <= len(self.committed):
            transcripts.append(self._final(parts.pop(0)))
        if final or (self._is_same_language and self._lost_its_end(parts)):
            return transcripts
        for place in reversed(range(len(parts), len(self.shown))):
            transcripts += self._partial(place, (), ended=False)
        for place, words in enumerate(parts):
            is_last = place == len(parts) - 1
            transcripts += self._partial(
                place, words, ended=not is_last or (may_end and ends_sentence(words[-1].text, ""))
            )
        return transcripts

    def finish(self) -> list[Transcript]:
        """Return the finals of the remaining words, and empty ones of segments whose words went to another.

        Where all words have disappeared, segments end as they were last shown: their captions are on the screen, and
        empty ones would mean that nobody spoke.
        """
        self.committed += self.partial + self.waiting
        self.partial = self.waiting = ()
        parts = self._parts() or [shown.words for shown in self.shown]
        return [self._final(words) for words in (*parts, *[()] * (len(self.shown) - len(parts)))]

    def finish_committed(self) -> list[Transcript]:
        """Return the finals of the committed words; the others are recognised again."""
        self.partial = self.waiting = ()
        return [self._final(words) for words in self._parts()]

    def _parts(self) -> list[tuple[Word, ...]]:
        parts: list[tuple[Word, ...]] = []
        rest = (*self.committed, *self.partial)
        while rest:
            least = self.shown[len(parts)].committed if len(parts) < len(self.shown) else 1
            count = find_endpoint(rest, self.settings.maximum_words, self.settings.maximum_length, least) or len(rest)
            parts.append(rest[:count])
            rest = rest[count:]
        return parts

    def _lost_its_end(self, parts: Sequence[tuple[Word, ...]]) -> bool:
        """Return whether the words are those shown without the last ones, which often come again with the next pass."""
        shown, words = self._shown_forms(), forms_of(word for part in parts for word in part)
        return len(words) < len(shown) and shown[: len(words)] == words

    def _shown_forms(self) -> list[str]:
        return forms_of(word for one in self.shown for word in one.words)

    @property
    def _is_same_language(self) -> bool:
        return all(shown.language == self.language for shown in self.shown)

    def _partial(self, place: int, words: tuple[Word, ...], *, ended: bool) -> list[Transcript]:
        """Return the update of the open segment at that place, if there is one.

        A sentence that has ended waits for its final, because following each rewrite would move the next sentence.
        """
        if place == len(self.shown):
            self.shown.append(_Shown(next(self.ids), language=self.language))
        before = self.shown[place]
        is_same = ended == before.ended and self.language == before.language
        if is_same and (ended or words_text(words) == words_text(before.words)):
            return []
        committed = min(len(self.committed), len(words)) if place == 0 else 0
        update = self._transcript(before, words, committed, ended=ended)
        self.shown[place] = _Shown(
            before.segment_id, words, committed, before.revisions + 1, ended, self.language, (update.start, update.end)
        )
        return [update]

    def _final(self, words: tuple[Word, ...]) -> Transcript:
        before = self.shown.pop(0) if self.shown else _Shown(next(self.ids))
        self.committed = self.committed[len(words) :]
        return self._transcript(before, words, len(words), final=True)

    def _transcript(
        self, before: _Shown, words: tuple[Word, ...], committed: int, *, ended: bool = False, final: bool = False
    ) -> Transcript:
        captured = self.captured
        start, end = (words[0].start, words[-1].end) if words else before.extent
        return Transcript(
            segment_id=before.segment_id,
            revision=before.revisions,
            committed=words_text(words[:committed]),
            partial=words_text(words[committed:]),
            final=final,
            start=start,
            end=end,
            captured_at=None if captured is None or not words else captured[1] - (captured[0] - words[-1].end),
            recognition=self.stats,
            language=self.language,
            ended=ended,
        )
