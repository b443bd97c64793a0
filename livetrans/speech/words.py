"""Recognised words: which are equal, what is spoken text, what is a loop, and the segments that they form.

In a loop the recogniser repeats words over sound that does not. Two passes in a row usually loop alike, so
LocalAgreement would commit the loop and the prompt would feed it: loops are dropped from every hypothesis first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, groupby

from livetrans.config import TranscriberSettings
from livetrans.events import Transcript, Word
from livetrans.stats import RecognitionStats
from livetrans.text import has_unspaced_script, join_text

WORD_REPETITIONS = 8
"""One word this many times in a row is a loop; "no, no, no" and "very very very" are not."""
PHRASE_REPETITIONS = 3
PHRASE_WORDS = range(2, 9)

LETTERS_PER_WORD = 3
"""Letters of a script without spaces that count as one word against the cap: about as much speech."""

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
    forms = [comparison_form(word.text) for word in words]
    for period in PHRASE_WORDS:
        start = len(forms) - period
        while start > 0 and forms[start - 1] == forms[start - 1 + period]:
            start -= 1
        phrase = forms[start : start + period] if start >= 0 else []
        # One word again and again falls under the other rule, which has a higher limit.
        if len(set(phrase)) > 1 and len(forms) - start >= PHRASE_REPETITIONS * period:
            return tuple(words[: start + period])
    return tuple(words)


def find_endpoint(
    committed: Sequence[Word], partial: Sequence[Word], maximum_words: int, maximum_length: float, shown_words: int = 0
) -> int | None:
    """Return how many leading committed words end the segment, or None if it goes on; `maximum_length` in seconds.

    It ends at the first sentence end that more words follow; past the caps at the last clause boundary of its latter
    half, or else at the last committed word there. It goes on while its latter half is not yet committed; the limit of
    the buffer ends that. `shown_words` were already shown as committed to this segment and stay in it.
    """
    words = [*committed, *partial]
    if not words or not committed:
        return None
    # A recogniser's words are single letters where no spaces are written.
    sizes = accumulate(1 if has_unspaced_script(word.text) else LETTERS_PER_WORD for word in words)
    most = maximum_words * LETTERS_PER_WORD
    within = sum(
        size <= most and word.end - words[0].start <= maximum_length for word, size in zip(words, sizes, strict=True)
    )
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


@dataclass
class OpenSegment:
    """The segment that is being spoken: its words, its id and its next revision."""

    ids: Iterator[int]
    """Gives the ids; tracks share one, so that the segment that begins first has the smaller one."""
    segment_id: int | None = None
    """None before the segment has a transcript."""
    revision: int = 0
    committed: tuple[Word, ...] = ()
    partial: tuple[Word, ...] = ()
    shown: tuple[Word, ...] = ()
    shown_text: str = ""
    shown_committed: int = 0
    """Words that a transcript of this segment showed as committed: they cannot go to another segment."""
    stats: RecognitionStats | None = None
    language: str | None = None

    def take(self, newly_committed: tuple[Word, ...], tail: tuple[Word, ...], stats: RecognitionStats) -> None:
        self.committed += newly_committed
        self.partial = tail
        self.stats = stats

    def update(
        self, settings: TranscriberSettings, captured: tuple[float, float] | None, final: bool
    ) -> list[Transcript]:
        """Return finals of the segments that end within the words, then the update of the open one, if it changed."""
        transcripts: list[Transcript] = []
        caps = (settings.maximum_words, settings.maximum_length)
        while count := find_endpoint(self.committed, self.partial, *caps, self.shown_committed):
            rest = self.committed[count:]
            transcripts.append(self._final(self.committed[:count], captured))
            self.committed = rest
        words = (*self.committed, *self.partial)
        if not final and words and words_text(words) != self.shown_text:
            transcripts.append(self._transcript(self.committed, self.partial, False, captured))
            self.shown, self.shown_text = words, words_text(words)
            self.shown_committed = len(self.committed)
            self.revision += 1
        return transcripts

    def finish(self, captured: tuple[float, float] | None) -> list[Transcript]:
        """Return the final of the remaining words.

        A segment whose words have all disappeared ends as it was last shown: its caption is on the screen, and an empty
        one would mean that nobody spoke.
        """
        words = (*self.committed, *self.partial) or self.shown
        self.partial = ()
        return [self._final(words, captured)] if words else []

    def finish_committed(self, captured: tuple[float, float] | None) -> list[Transcript]:
        """Return the final of the committed words; the others are recognised again."""
        self.partial = ()
        return [self._final(self.committed, captured)] if self.committed else []

    def _final(self, words: tuple[Word, ...], captured: tuple[float, float] | None) -> Transcript:
        transcript = self._transcript(words, (), True, captured)
        self.segment_id = None
        self.revision = 0
        self.committed, self.shown, self.shown_text, self.shown_committed = (), (), "", 0
        return transcript

    def _transcript(
        self, committed: tuple[Word, ...], partial: tuple[Word, ...], final: bool, captured: tuple[float, float] | None
    ) -> Transcript:
        words = (*committed, *partial)
        end = words[-1].end
        if self.segment_id is None:
            self.segment_id = next(self.ids)
        return Transcript(
            segment_id=self.segment_id,
            revision=self.revision,
            committed=words_text(committed),
            partial=words_text(partial),
            final=final,
            start=words[0].start,
            end=end,
            captured_at=None if captured is None else captured[1] - (captured[0] - end),
            recognition=self.stats,
            language=self.language,
        )
