"""Subtitle cues: captions cut into parts of at most two lines, with the times of their words and time to read.

The limits are those that subtitle guidelines share (BBC Subtitle Guidelines 2024, Netflix Timed Text Style Guide): two
lines of 42 characters, full-width characters counting two; a cue lasts 1 to 7 seconds, two frames lie between cues, and
a cue stays so long that it is read at 17 characters a second where silence leaves the room, at 21 where the next one
can wait. A text is cut at sentences and clauses where that divides it evenly: the cut is the cheapest under a cost for
each break and for uneven parts, found by dynamic programming, as Knuth and Plass (1981) break paragraphs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate, chain, pairwise
from typing import Literal

from livetrans.base.text import break_spans, display_width, isolated, one_line, reads_right_to_left
from livetrans.events import Caption

Which = Literal["target", "source", "both"]

SHORTEST, LONGEST = 1000, 7000
"""Milliseconds, as all times of cues."""
GAP = 84
"""Between two cues: two frames of a film at 24 frames a second."""
JOINED = 500
"""A shorter pause between two cues flickers, so the first cue stays until the second."""
LATEST = 500
"""Longest delay of a cue after its speech, so that the cue before it can be read."""
EASY, FAST = 17, 21
"""Characters a second: a comfortable reading speed, and the fastest one."""

LINE_WIDTH = 42
"""Columns of a line; 21 characters of Japanese or Chinese."""
LINES = 2

_SENTENCE_END = tuple(".!?…。！？")
_CLAUSE_END = tuple(",;:—–、，；：")
_CLOSING = "\"'»”’)]」』）"
_CONJUNCTIONS = frozenset(
    "and but or because that which und aber oder denn weil dass et mais ou car que y pero o porque e ma".split()
)
"""Words that can begin a clause without a comma before it, in English, German, French, Spanish and Italian."""
_SHORT_WORD = 4
"""Most letters of a word that seldom ends a phrase: articles, prepositions and pronouns of most European languages."""

_UNEVENNESS = 2.0
"""Cost of a part whose width differs from the mean by the whole mean."""
_DISTANCE = 30.0
"""Cost of a cut that is a whole text's length away from where it should be."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Text shown from `start` until `end`: source time in whole milliseconds, the unit of both formats."""

    start: int
    end: int
    lines: tuple[str, ...]
    track: str | None = None
    """The speaker's track in a session of two."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A segment's last caption, and when its words were spoken."""

    caption: Caption
    shares: tuple[tuple[float, float], ...] = ()
    """Shares of the source (0 to 1) and the source times at which they ended, both rising. They are the ends of those
    earlier hypotheses with which the final still begins."""

    def time(self, share: float) -> float:
        """Return when that share of the source had been spoken, in seconds. Between known times the pace is even."""
        points = ((0.0, self.caption.start), *self.shares, (1.0, max(self.caption.end, self.caption.start)))
        place = min(max(bisect_left(points, (share, -math.inf)), 1), len(points) - 1)
        (before, start), (after, end) = points[place - 1], points[place]
        return end if after <= before else start + (end - start) * min((share - before) / (after - before), 1.0)


def spoken_shares(caption: Caption, hypotheses: Sequence[tuple[str, float]]) -> tuple[tuple[float, float], ...]:
    """Return `Spoken.shares` from the source texts of a segment's updates, each with the end of its last word."""
    words = _compared(caption.source)
    length = sum(map(len, words))
    points: list[tuple[float, float]] = []
    for text, end in hypotheses:
        begin = _compared(text)
        if not begin or begin != words[: len(begin)] or len(begin) >= len(words):
            continue
        point = (sum(map(len, begin)) / length, end)
        latest = points[-1] if points else (0.0, caption.start)
        if point[0] > latest[0] and latest[1] < end < caption.end:
            points.append(point)
    return tuple(points)


def _compared(text: str) -> list[str]:
    """Return the words without case and punctuation, which change with what follows."""
    return [word for word in ("".join(filter(str.isalnum, part)).casefold() for part in text.split()) if word]


def cues(spoken: Iterable[Spoken], which: Which = "target") -> Iterator[Cue]:
    """Yield the cues of captions in the order of their speech. Every word is in one.

    Cues of one track never overlap. Two people who speak at the same time have cues at the same time.
    """
    tracks: dict[str | None, list[Spoken]] = {}
    for segment in spoken:
        tracks.setdefault(segment.caption.track, []).append(segment)
    return merge(*(_cues(segments, which, track) for track, segments in tracks.items()), key=lambda cue: cue.start)


def _cues(spoken: Iterable[Spoken], which: Which, track: str | None) -> Iterator[Cue]:
    parts = (part for segment in spoken for part in _parts(segment, which))
    free_from = 0
    nothing: tuple[float, float, tuple[str, ...]] = (math.inf, math.inf, ())
    for (begin, spoken_until, lines), (next_begin, _, _) in pairwise(chain(parts, [nothing])):
        following = round(next_begin * 1000) if next_begin < math.inf else math.inf
        start = max(round(begin * 1000), free_from)
        cue = Cue(start, _end(start, round(spoken_until * 1000), following, characters(lines, which)), lines, track)
        free_from = cue.end + GAP
        yield cue


def characters(lines: Sequence[str], which: Which) -> int:
    """Return the number of columns to read: of two languages the longer one's, because a reader reads only one."""
    widths = map(display_width, lines)
    return max(widths) if which == "both" else sum(widths)


def _end(start: int, spoken_until: int, following: float, read: int) -> int:
    """Return when a cue of `read` characters ends, in milliseconds.

    Its speech ends at `spoken_until`, and that of the next cue begins at `following`.
    """
    room = following - GAP
    end = min(max(spoken_until, start + read * 1000 / EASY), room)
    end = max(end, min(start + read * 1000 / FAST, room + LATEST), start + SHORTEST)
    if end < room < end + JOINED:
        end = room
    return math.ceil(min(end, start + LONGEST))


def texts_of(caption: Caption, which: Which) -> tuple[str, ...]:
    """Return the texts to export, source before target, each as one line without control characters."""
    source, target = map(one_line, (caption.source, caption.text))
    if caption.segment_id < 0 or caption.untranslated:  # one text, and a gap has no language
        return (target,)
    return {"target": (target,), "source": (source,), "both": (source, target)}[which]


def _parts(segment: Spoken, which: Which) -> Iterator[tuple[float, float, tuple[str, ...]]]:
    """Yield start and end of the speech of each cue of the segment, in seconds, with the cue's lines."""
    shown = texts_of(segment.caption, which)
    source = one_line(segment.caption.source)
    length = max(segment.caption.end - segment.caption.start, 0.0)
    width = max(map(display_width, shown))
    least = min(math.ceil(length * 1000 / LONGEST), max(width // LINE_WIDTH, 1))
    cut = cut_together(shown, LINES // len(shown), least)
    shares = cut[0][1]
    if which == "target":
        of_source = Cut(source)
        shares = [*accumulate(map(of_source.near, shares[:-1]), max), 1.0]
    elif not all(cut[0][0]):
        # A source with fewer words than cues says nothing about when the later cues were spoken.
        shares = cut[-1][1]
    begin = segment.caption.start
    for share, texts in zip(shares, zip(*(parts for parts, _ in cut), strict=True), strict=True):
        end = segment.time(share)
        pieces = [Cut(texts[0]).folded()] if len(texts) == 1 else [[text] for text in texts]
        lines = [line for text, piece in zip(shown, pieces, strict=True) for line in directed(text, piece) if line]
        yield begin, end, tuple(lines)
        begin = end


def directed(text: str, lines: list[str]) -> list[str]:
    """Return the lines of a text, each in its direction."""
    right_to_left = reads_right_to_left(text)
    return [isolated(line, right_to_left) for line in lines]


class Cut:
    """A text and its cheapest cuts into parts."""

    def __init__(self, text: str, lines: int = LINES) -> None:
        """`text` has one space between words. A part may take `lines` lines, 1 or 2."""
        spans = break_spans(text, LINE_WIDTH)
        self._units = [text[begin:end] + (" " if text[end:].startswith(" ") else "") for begin, end in spans]
        self._lines = lines
        self._ends = [0, *accumulate(map(display_width, self._units))]
        self.width = self._width(0, len(self._units))
        self._folds: dict[tuple[int, int], tuple[int, float] | None] = {}

    def least(self) -> int:
        """Return the smallest number of parts whose lines fit."""
        count = max(1, math.ceil(self.width / (self._lines * LINE_WIDTH)))
        while count < len(self._units) and self.parts(count) is None:
            count += 1
        return count

    def parts(self, count: int, shares: Sequence[float] = ()) -> tuple[list[str], list[float], float] | None:
        """Return the cheapest cut into `count` parts: the parts, the share of the text up to each end, and the cost.

        `shares` (0 to 1) are where the cuts should be, if another text is cut there. Return None if the lines of some
        part would not fit, or if there are fewer words than parts.
        """
        mean = max(self.width / count, 1.0)
        best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
        for part in range(count):
            reached: dict[int, tuple[float, int]] = {}
            for begin, (before, _) in best[-1].items():
                last = len(self._units) - (count - part - 1)
                for end in range(last, last + 1) if part == count - 1 else range(begin + 1, last + 1):
                    if end <= begin:
                        continue
                    width = self._width(begin, end)
                    if width > self._lines * LINE_WIDTH:
                        break
                    if self._width(end, len(self._units)) > (count - part - 1) * self._lines * LINE_WIDTH:
                        continue
                    folded = self._fold(begin, end)
                    if folded is None:
                        continue
                    cost = before + folded[1] / 2 + _UNEVENNESS * ((width - mean) / mean) ** 2
                    if part < count - 1:
                        cost += self._break_cost(end)
                        if shares:
                            cost += _DISTANCE * (self._ends[end] / self._ends[-1] - shares[part]) ** 2
                    if end not in reached or cost < reached[end][0]:
                        reached[end] = (cost, begin)
            best.append(reached)
        place = len(self._units)
        if place not in best[-1]:
            return None
        texts: list[str] = []
        ends: list[float] = []
        for reached in reversed(best[1:]):
            begin = reached[place][1]
            texts.append("".join(self._units[begin:place]).rstrip())
            ends.append(self._ends[place] / max(self._ends[-1], 1))
            place = begin
        return texts[::-1], ends[::-1], best[-1][len(self._units)][0]

    def near(self, share: float) -> float:
        """Return the share of the text up to a word's end near `share`, preferably the end of a clause."""
        total = max(self._ends[-1], 1)
        ways = [
            (_DISTANCE * (end / total - share) ** 2 + self._break_cost(place), end / total)
            for place, end in enumerate(self._ends[1:-1], start=1)
        ]
        return min(ways, default=(0.0, share))[1]

    def folded(self) -> list[str]:
        """Return the text as one or two lines. A text that does not fit stays in one."""
        if not self._units:
            return []
        found = self._fold(0, len(self._units))
        place = found[0] if found else len(self._units)
        halves = ("".join(self._units[:place]).rstrip(), "".join(self._units[place:]).rstrip())
        return [half for half in halves if half]

    def _fold(self, begin: int, end: int) -> tuple[int, float] | None:
        """Return where the first line ends and what that costs, or None if the lines do not fit."""
        width = self._width(begin, end)
        if width <= LINE_WIDTH:
            return end, 0.0
        if self._lines < LINES:
            return None
        if (begin, end) in self._folds:
            return self._folds[begin, end]
        ways = [
            (self._break_cost(place) + _UNEVENNESS * ((first - second) / width) ** 2, place)
            for place in range(begin + 1, end)
            if (first := self._width(begin, place)) <= LINE_WIDTH and (second := self._width(place, end)) <= LINE_WIDTH
        ]
        cost, place = min(ways, default=(0.0, 0))
        self._folds[begin, end] = (place, cost) if ways else None
        return self._folds[begin, end]

    def _width(self, begin: int, end: int) -> int:
        if end <= begin:
            return 0
        return self._ends[end] - self._ends[begin] - self._units[end - 1].endswith(" ")

    def _break_cost(self, place: int) -> float:
        """Return the cost of a break before the unit at `place`."""
        word = self._units[place - 1].strip().rstrip(_CLOSING)
        if word.endswith(_SENTENCE_END):
            return 0.0
        if word.endswith(_CLAUSE_END):
            return 0.3
        if place < len(self._units) and self._units[place].strip().lower() in _CONJUNCTIONS:
            return 0.6
        return 1.5 if len(word) <= _SHORT_WORD and self._units[place - 1].endswith(" ") else 1.0


def cut_together(texts: Sequence[str], lines: int, least: int) -> list[tuple[list[str], list[float]]]:
    """Cut the texts into the same number of corresponding parts, at least `least`.

    Return for each text its parts, and the share of the text up to the end of each part. The texts are cut in turn,
    each near the shares at which the one before it was cut. The cheaper of both orders is taken. A text with fewer
    words than parts ends with empty parts.
    """
    cuts = [Cut(text, lines) for text in texts]
    count = max(least, *(cut.least() for cut in cuts), 1)
    ways = []
    for order in {tuple(range(len(cuts))), tuple(reversed(range(len(cuts))))}:
        shares: list[float] = []
        total = 0.0
        found: dict[int, tuple[list[str], list[float]]] = {}
        for index in order:
            parts, shares, cost = _filled(cuts[index], count, shares)
            found[index] = parts, shares
            total += cost
        ways.append((total, [found[index] for index in range(len(cuts))]))
    return min(ways)[1]


def _filled(cut: Cut, count: int, shares: Sequence[float]) -> tuple[list[str], list[float], float]:
    for fewer in range(count, 0, -1):
        found = cut.parts(fewer, shares if fewer == count else ())
        if found is not None:
            parts, ends, cost = found
            missing = count - fewer
            return parts + [""] * missing, ends + [1.0] * missing, cost
    return [""] * count, [1.0] * count, 0.0
