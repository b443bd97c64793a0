"""Ratios of sums: acceptance (A/D, A/O), speed (TPS), erasure, per segment (the paper's NE) and on the screen, and how
much of what a viewer reads before a caption is final is right.

NE per segment misses what happens between segments, and it counts tokens. The screen is the captions of all segments,
one after the other, masks, finals and splits included; its units are words and punctuation marks, or characters in
scripts that are written without spaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from difflib import SequenceMatcher

import regex

from livetrans.events import Caption, Comparison
from livetrans.sequences import common_prefix_length
from livetrans.stats import DecodingStats
from livetrans.text import UNSPACED, line_spans

_UNITS = regex.compile(rf"(?=[{UNSPACED}])\X|[^\W{UNSPACED}]+(?:[-'’.,:][^\W{UNSPACED}]+)*|[^\w\s]")

OPEN_SEGMENTS = 64
"""Unfinished segments remembered; segments finish in order, so more are open only where finals never came."""


def erasure(previous: Sequence[Hashable], current: Sequence[Hashable]) -> int:
    """Return the tokens deleted from the end of `previous` to write `current`: |Y(i-1)| - |LCP(Y(i-1), Y(i))|.

    Tokens are of any unit: model token ids, sacrebleu tokens, words, characters. Only numbers of the same unit are
    comparable.
    """
    return len(previous) - common_prefix_length(previous, current)


class NormalizedErasure:
    """Normalized erasure of finished segments, NE = sum of E(i) / |Y(N)|: as a ratio of sums, and as a mean.

    The authors' tables give the mean per utterance; the ratio of sums does not let one short utterance weigh as much as
    a long one, so it is what the side panel shows. Memory is constant: a segment's tokens are dropped at its final.
    """

    def __init__(self) -> None:
        self.erased_tokens = 0
        self.final_tokens = 0
        """In the unit of what `add` gets, which need not be the translator's tokens."""
        self.segments = 0
        self._rates_sum = 0.0
        self._rated_segments = 0
        self._open: dict[int, tuple[Sequence[Hashable], int]] = {}

    def add(self, segment_id: int, tokens: Sequence[Hashable], *, final: bool) -> int:
        """Take the whole output of an update; return its erasure E(i), 0 for a segment's first."""
        previous, erased_before = self._open.pop(segment_id, ((), 0))
        erased = erasure(previous, tokens)
        if not final:
            self._open[segment_id] = (tokens, erased_before + erased)
            if len(self._open) > OPEN_SEGMENTS:
                self._open.pop(min(self._open))
            return erased
        self.segments += 1
        self.erased_tokens += erased_before + erased
        self.final_tokens += len(tokens)
        if tokens:
            self._rates_sum += (erased_before + erased) / len(tokens)
            self._rated_segments += 1
        return erased

    @property
    def ratio_of_sums(self) -> float | None:
        """All erased tokens / all final tokens; None while no final has a token."""
        return self.erased_tokens / self.final_tokens if self.final_tokens else None

    @property
    def mean_per_utterance(self) -> float | None:
        """Mean of the segments' own NE; segments with an empty final have none and are left out."""
        return self._rates_sum / self._rated_segments if self._rated_segments else None


def screen_units(text: str) -> list[str]:
    """Split a text into words and punctuation marks, and scripts without spaces into characters.

    Punctuation is a unit of its own, so that a mark added to the last shown word erases nothing.
    """
    units: list[str] = _UNITS.findall(text)
    return units


class ScreenErasure:
    """Normalized erasure of the screen: units taken back / units of the end.

    A unit is erased when it, or one before it, changes. Memory is constant: old segments are only counted.
    """

    def __init__(self) -> None:
        self.erased_units = 0
        self.changes = 0
        """Captions that took something back."""
        self._segments: dict[int, list[str]] = {}
        self._settled_units = 0

    def add(self, caption: Caption) -> None:
        """Take the segment's newest caption."""
        before = self._tail(caption.segment_id)
        self._segments[caption.segment_id] = screen_units(caption.text)
        after = self._tail(caption.segment_id)
        erased = erasure(before, after)
        self.erased_units += erased
        self.changes += erased > 0
        if len(self._segments) > OPEN_SEGMENTS:
            self._settled_units += len(self._segments.pop(min(self._segments)))

    @property
    def units(self) -> int:
        """Units on the screen."""
        return self._settled_units + sum(map(len, self._segments.values()))

    @property
    def ratio(self) -> float | None:
        """NE of the screen; None while nothing is shown."""
        return self.erased_units / self.units if self.units else None

    def _tail(self, segment_id: int) -> list[str]:
        """Return the units on the screen from the segment on."""
        return [unit for key in sorted(self._segments) if key >= segment_id for unit in self._segments[key]]


class MovedRows:
    """Rows of the screen that stood elsewhere before, while a sentence grew.

    A row has moved if its whole text now begins another row and no longer its own. What moves when a sentence ends is
    not counted: then the history scrolls.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sentence: Hashable = None
        self._rows: Mapping[int, str] = {}

    def add(self, sentence: Hashable, rows: Mapping[int, str]) -> None:
        """Take the text of every row while this sentence is the current one."""
        if sentence == self._sentence:
            for row, text in self._rows.items():
                stays = rows.get(row, "").startswith(text)
                self.count += not stays and any(other.startswith(text) for other in rows.values())
        self._sentence, self._rows = sentence, rows


ROW_COLUMNS = 71
"""Columns of a caption's rows in a terminal of 100 columns with its panel."""


class Reflow:
    """Words that stay and move to another row / words of the finals: our own measure.

    The pane keeps its rows still (`MovedRows`), but a change moves the text behind it, which a reader finds again with
    ease only where it keeps its row. Rows are of `columns`, and each segment begins the first. Words stay if they stand
    in both captions in the same order; units are those of the screen.
    """

    def __init__(self, columns: int = ROW_COLUMNS) -> None:
        self.moved_units = self.final_units = 0
        self._columns = columns
        self._shown: dict[int, list[tuple[str, int]]] = {}
        """Of each unfinished segment, its units and their rows."""

    def add(self, caption: Caption) -> None:
        """Take the segment's newest caption."""
        spans = enumerate(line_spans(caption.text, self._columns))
        after = [(unit, row) for row, (begin, end) in spans for unit in screen_units(caption.text[begin:end])]
        before = self._shown.pop(caption.segment_id, [])
        old, new = ([unit for unit, _ in units] for units in (before, after))
        for start, other, length in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            kept = zip(before[start : start + length], after[other : other + length], strict=True)
            self.moved_units += sum(row != now for (_, row), (_, now) in kept)
        if caption.final:
            self.final_units += len(after)
        else:
            self._shown[caption.segment_id] = after

    @property
    def ratio(self) -> float | None:
        return self.moved_units / self.final_units if self.final_units else None


class DecodingRates:
    """A/D, A/O, alpha and TPS as ratios of sums over updates."""

    def __init__(self) -> None:
        self._accepted_proposals = 0
        self._judged_proposals = 0
        self.draft_tokens = 0
        self.accepted_tokens = 0
        self.output_tokens = 0
        self._generation_seconds = 0.0

    def add(self, stats: DecodingStats) -> None:
        self._accepted_proposals += stats.accepted_proposals
        self._judged_proposals += stats.accepted_proposals + stats.rejected_proposals
        self.draft_tokens += stats.draft_tokens
        self.accepted_tokens += stats.accepted_tokens
        self.output_tokens += stats.output_tokens
        self._generation_seconds += stats.generation_seconds

    @property
    def per_draft(self) -> float | None:
        """A/D, accepted tokens / draft tokens, 0..1; None before the first draft."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens else None

    @property
    def per_output(self) -> float | None:
        """A/O, accepted tokens / output tokens, 0..1; None where nothing was drafted, since A/O has no meaning there.

        Updates without a draft count in the output: their tokens had to be decoded.
        """
        return self.accepted_tokens / self.output_tokens if self.draft_tokens and self.output_tokens else None

    @property
    def per_proposal(self) -> float | None:
        """alpha, 0..1: proposed tokens accepted / judged, which are the accepted ones and the first rejected one of a
        pass; None without a draft model."""
        return self._accepted_proposals / self._judged_proposals if self._judged_proposals else None

    @property
    def tokens_per_second(self) -> float | None:
        """TPS: output tokens / seconds of verification, decoding and the draft model, without passes over the prompt
        alone (A.1)."""
        return self.output_tokens / self._generation_seconds if self._generation_seconds else None


LEAST_COMPARED = 5
"""Fewest compared updates that give a figure."""


class Speedup:
    """The speedup over re-translation, and NE of the screen of both, over the updates that were compared in a run."""

    def __init__(self) -> None:
        self.updates = 0
        self._update_seconds = self._retranslation_seconds = 0.0
        self._erased = self._shown = 0
        self._retranslation_erased = self._retranslation_shown = 0

    def add(self, comparison: Comparison) -> None:
        self.updates += comparison.updates
        self._update_seconds += comparison.update_seconds
        self._retranslation_seconds += comparison.retranslation_seconds
        self._erased += comparison.erased_units
        self._shown += comparison.shown_units
        self._retranslation_erased += comparison.retranslation_erased_units
        self._retranslation_shown += comparison.retranslation_shown_units

    @property
    def ratio(self) -> float | None:
        """Seconds of re-translation / seconds of the run's updates; None with fewer than five, as are the others."""
        return self._over(self._retranslation_seconds, self._update_seconds)

    @property
    def ne_screen(self) -> float | None:
        return self._over(self._erased, self._shown)

    @property
    def ne_screen_retranslation(self) -> float | None:
        return self._over(self._retranslation_erased, self._retranslation_shown)

    def _over(self, dividend: float, divisor: float) -> float | None:
        return dividend / divisor if divisor and self.updates >= LEAST_COMPARED else None


GRAM = 4
"""Characters of an n-gram: about a short word, or a word and its particle in a script without spaces."""


class Meanwhile:
    """Shown text against the final reference, summed over the time that it stood there: our own measure.

    chrF of partials against re-translation's counts hidden tokens, and takes what the model writes for half a sentence
    for the truth, which word order makes wrong where a verb comes last.

    Texts are compared by their character n-grams, spaces left out: a phrase that comes earlier or later than in the
    reference is right all the same. *Due* are as many of the reference's n-grams as the share of the source that was
    heard; those that are right before they are due count as due. So neither waiting nor guessing is rewarded.
    """

    def __init__(self) -> None:
        self._right = self._shown = self._due = 0.0

    def add(self, shown: str, reference: str, heard: float, seconds: float = 1.0) -> None:
        """Take the caption of a partial, the share of its segment's source that was heard, and how long it stood."""
        grams, wanted = _grams(shown), _grams(reference)
        right = (grams & wanted).total()
        self._right += seconds * right
        self._shown += seconds * grams.total()
        self._due += seconds * max(min(heard, 1.0) * wanted.total(), right)

    @property
    def right(self) -> float | None:
        """The share of what was shown that the reference has, 0..1; None where nothing was."""
        return self._right / self._shown if self._shown else None

    @property
    def amount(self) -> float | None:
        """Shown n-grams / due ones: below 1 it came late, or above 1 words are shown that are not needed."""
        return self._shown / self._due if self._due else None

    @property
    def score(self) -> float | None:
        """Right n-grams / the mean of shown and due ones, 0..1: both figures in one."""
        total = self._shown + self._due
        return 2 * self._right / total if total else None


def _grams(text: str) -> Counter[str]:
    letters = "".join(text.split())
    return Counter(letters[at : at + GRAM] for at in range(len(letters) - GRAM + 1))
