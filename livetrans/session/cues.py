"""Subtitle cues: captions cut as `livetrans.session.cutting` does, with the times of their words and time to read.

The rules, from the guidelines named there: a cue lasts 1 to 7 seconds, two frames lie between cues, and a cue stays so
long that it is read at 17 characters a second where silence leaves the room, at 21 where the next one can wait.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Literal

from livetrans.events import Caption
from livetrans.session.cutting import LINE_WIDTH, LINES, Cut, cut_together
from livetrans.text import display_width, isolated, one_line, reads_right_to_left

Which = Literal["target", "source", "both"]

SHORTEST, LONGEST = 1000, 7000
"""Milliseconds, as all times of cues."""
GAP = 84
"""Between two cues: two frames of a film, 24 a second."""
JOINED = 500
"""A shorter pause between two cues flickers: the first one stays until the second."""
LATEST = 500
"""How much later than its speech a cue may begin so that the one before it can be read."""
EASY, FAST = 17, 21
"""Characters a second: comfortable, and the most that adults read."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Text shown from `start` until `end`, source time in whole milliseconds, the unit both formats write."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A segment's last caption, and when its words were spoken."""

    caption: Caption
    heard: tuple[tuple[float, float], ...] = ()
    """Shares of the source (0..1) and the source times at which they ended, both rising: the ends of the hypotheses
    with which the final still begins."""

    def time(self, share: float) -> float:
        """When that share of the source had been spoken, in seconds; between two known times at an even pace."""
        points = ((0.0, self.caption.start), *self.heard, (1.0, max(self.caption.end, self.caption.start)))
        place = min(max(bisect_left(points, (share, -math.inf)), 1), len(points) - 1)
        (before, start), (after, end) = points[place - 1], points[place]
        return end if after <= before else start + (end - start) * min((share - before) / (after - before), 1.0)


def heard_shares(caption: Caption, hypotheses: Sequence[tuple[str, float]]) -> tuple[tuple[float, float], ...]:
    """What `Spoken.heard` holds, from the source texts of a segment's updates, each with the end of its last word."""
    words = _compared(caption.source)
    length = sum(map(len, words))
    points: list[tuple[float, float]] = []
    for text, end in hypotheses:
        said = _compared(text)
        if not said or said != words[: len(said)] or len(said) >= len(words):
            continue
        point = (sum(map(len, said)) / length, end)
        latest = points[-1] if points else (0.0, caption.start)
        if point[0] > latest[0] and latest[1] < end < caption.end:
            points.append(point)
    return tuple(points)


def _compared(text: str) -> list[str]:
    """Words as they are compared between hypotheses: case and punctuation change with what follows."""
    return [word for word in ("".join(filter(str.isalnum, part)).casefold() for part in text.split()) if word]


def cues(spoken: Iterable[Spoken], which: Which = "target") -> Iterator[Cue]:
    """The cues of captions in the order of their speech; they never overlap, and every word is in one."""
    parts = (part for segment in spoken for part in _parts(segment, which))
    free_from = 0
    nothing: tuple[float, float, tuple[str, ...]] = (math.inf, math.inf, ())
    for (begin, spoken_until, lines), (next_begin, _, _) in pairwise(chain(parts, [nothing])):
        following = round(next_begin * 1000) if next_begin < math.inf else math.inf
        start = max(round(begin * 1000), free_from)
        cue = Cue(start, _end(start, round(spoken_until * 1000), following, characters(lines, which)), lines)
        free_from = cue.end + GAP
        yield cue


def characters(lines: Sequence[str], which: Which) -> int:
    """Columns that are read: of a cue in two languages those of the longer one, as its reader reads one of them."""
    widths = map(display_width, lines)
    return max(widths) if which == "both" else sum(widths)


def _end(start: int, spoken_until: int, following: float, read: int) -> int:
    """When a cue of `read` characters ends, if its speech ends at `spoken_until` and the next one's begins at
    `following`; all in milliseconds."""
    room = following - GAP
    end = min(max(spoken_until, start + read * 1000 / EASY), room)
    end = max(end, min(start + read * 1000 / FAST, room + LATEST), start + SHORTEST)
    if end < room < end + JOINED:
        end = room
    return math.ceil(min(end, start + LONGEST))


def texts_of(caption: Caption, which: Which) -> tuple[str, ...]:
    """What is exported of the caption, without control characters, on one line each: source above target."""
    source, target = map(one_line, (caption.source, caption.recorded))
    if caption.segment_id < 0:  # a gap has no language
        return (target,)
    return {"target": (target,), "source": (source,), "both": (source, target)}[which]


def _parts(segment: Spoken, which: Which) -> Iterator[tuple[float, float, tuple[str, ...]]]:
    """Start, end and lines of each of the segment's cues, as spoken, in seconds."""
    shown = texts_of(segment.caption, which)
    source = one_line(segment.caption.source)
    length = max(segment.caption.end - segment.caption.start, 0.0)
    width = max(map(display_width, shown))
    least = min(math.ceil(length * 1000 / LONGEST), max(width // LINE_WIDTH, 1))
    cut = cut_together(shown, LINES // len(shown), least)
    shares = cut[0][1]
    if which == "target":
        heard = Cut(source)
        shares = [*accumulate(map(heard.near, shares[:-1]), max), 1.0]
    elif not all(cut[0][0]):
        # A source with fewer words than cues does not say when the later ones were spoken.
        shares = cut[-1][1]
    begin = segment.caption.start
    for share, texts in zip(shares, zip(*(parts for parts, _ in cut), strict=True), strict=True):
        end = segment.time(share)
        pieces = [Cut(texts[0]).folded()] if len(texts) == 1 else [[text] for text in texts]
        lines = [line for text, piece in zip(shown, pieces, strict=True) for line in directed(text, piece) if line]
        yield begin, end, tuple(lines)
        begin = end


def directed(text: str, lines: list[str]) -> list[str]:
    """The lines of a text, each in its direction."""
    right_to_left = reads_right_to_left(text)
    return [isolated(line, right_to_left) for line in lines]
