"""Calm and lag as the viewer sees them: all captions of a run as one growing text.

NE per segment (`livetrans.metrics.erasure`) misses what happens between segments, and it counts tokens. Here the screen
is the captions of all segments, one after the other, masks, finals and splits included; its units are words and
punctuation marks, or characters in scripts that are written without spaces.
"""

from __future__ import annotations

import re

from livetrans.events import Caption
from livetrans.metrics.erasure import OPEN_SEGMENTS
from livetrans.sequences import common_prefix_length
from livetrans.text import UNSPACED

_UNITS = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:[-'’.,:][^\W{UNSPACED}]+)*|[^\w\s]")


def screen_units(text: str) -> list[str]:
    """Words and punctuation marks; each character of a script without spaces is one.

    A mark that is added behind the last shown word takes nothing back.
    """
    return _UNITS.findall(text)


class ScreenErasure:
    """Normalized erasure of the screen: units taken back / units of the end.

    A unit is erased when it, or one before it, changes; what comes back unchanged at its place with the very next
    caption was moved from one segment to the next and is not erased. Memory is constant: old segments are only counted.
    """

    def __init__(self) -> None:
        self.erased_units = 0
        self.changes = 0
        """Captions that took something back."""
        self._segments: dict[int, list[str]] = {}
        self._settled_units = 0
        self._lost: tuple[int, list[str]] = (0, [])

    def add(self, caption: Caption) -> None:
        """Take in the segment's newest caption."""
        before = self._tail(caption.segment_id)
        self._segments[caption.segment_id] = screen_units(caption.text)
        after = self._tail(caption.segment_id)
        place = self.units - len(after)
        self._take_back(place, after)
        kept = common_prefix_length(before, after)
        lost = before[kept:]
        if lost:
            self.erased_units += len(lost)
            self.changes += 1
        self._lost = (place + kept, lost)
        if len(self._segments) > OPEN_SEGMENTS:
            self._settled_units += len(self._segments.pop(min(self._segments)))

    @property
    def units(self) -> int:
        """Units on the screen now."""
        return self._settled_units + sum(map(len, self._segments.values()))

    @property
    def ratio(self) -> float | None:
        """NE of the screen; None while nothing is shown."""
        return self.erased_units / self.units if self.units else None

    def _tail(self, segment_id: int) -> list[str]:
        """What stands on the screen from the segment on."""
        return [unit for key in sorted(self._segments) if key >= segment_id for unit in self._segments[key]]

    def _take_back(self, place: int, shown: list[str]) -> None:
        """Do not count what the last caption took back and this one, which begins at `place`, shows again."""
        begin, lost = self._lost
        if lost and begin == place:
            back = common_prefix_length(lost, shown)
            self.erased_units -= back
            self.changes -= back == len(lost)


class SeenLag:
    """Seconds from the end of a source word to the first caption in which its update's newest word is not hidden.

    With a mask the newest words of an update come with a later one; lag up to the update alone leaves that out.
    """

    def __init__(self) -> None:
        self._segment_id: int | None = None
        self._hidden: list[tuple[float, int]] = []
        self._heard = 0.0

    def add(self, caption: Caption, at: float) -> list[float]:
        """The lags that a caption published at `at` ends, oldest first."""
        if caption.segment_id != self._segment_id:
            self._segment_id, self._hidden, self._heard = caption.segment_id, [], caption.start
        shown = len(caption.tokens)
        if caption.captured_at is not None and caption.end > self._heard:
            self._heard = caption.end
            self._hidden.append((caption.captured_at, shown + caption.masked_tokens))
        seen = [captured for captured, needed in self._hidden if caption.final or needed <= shown]
        self._hidden = (
            [] if caption.final else [(captured, needed) for captured, needed in self._hidden if needed > shown]
        )
        return [at - captured for captured in seen]


class TimeToStability:
    """Seconds from the end of a target unit's source word to the last time that the shown unit changed.

    Which source word a unit translates is not known; the units of a final are spread evenly over its speech, as the
    ideal translator of AL is.
    """

    def __init__(self) -> None:
        self._segment_id: int | None = None
        self._units: list[str] = []
        self._changed_at: list[float] = []

    def add(self, caption: Caption, at: float) -> list[float]:
        """The times of a segment's units, in order, at its final; otherwise nothing."""
        if caption.segment_id != self._segment_id:
            self._segment_id, self._units, self._changed_at = caption.segment_id, [], []
        units = screen_units(caption.text)
        kept = common_prefix_length(self._units, units)
        self._units = units
        self._changed_at = [*self._changed_at[:kept], *[at] * (len(units) - kept)]
        if not caption.final or caption.captured_at is None:
            return []
        begin = caption.captured_at - (caption.end - caption.start)
        pace = (caption.end - caption.start) / max(len(units), 1)
        return [changed - (begin + (index + 1) * pace) for index, changed in enumerate(self._changed_at)]
