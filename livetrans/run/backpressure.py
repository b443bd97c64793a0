"""Back-pressure: how far a run is behind, what it leaves out because of that, and when each level begins and ends."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from livetrans.events import Coalesced, Gap, Transcript


@dataclass(frozen=True, slots=True)
class Level:
    """A degree of back-pressure; each level leaves out what the one before it leaves out, and more."""

    name: str
    enter: float
    """Seconds behind from which the level is entered; it is left below half of that."""
    pass_factor: int = 1
    """Factor on the new sound that the recogniser takes per pass."""


LEVELS = (Level("normal", 0.0), Level("finals first", 6.0, 4), Level("sound waits", 20.0, 4))
"""
| level | recogniser | partials |
|---|---|---|
| normal | every pass | all; in languages that nobody reads while no update waits |
| finals first | passes a quarter as often | one in `PARTIAL_SECONDS`, while no final waits |
| sound waits | waits until the translator is idle | none |
"""
FINALS_FIRST, SOUND_WAITS = range(1, len(LEVELS))
PARTIAL_SECONDS = 4.0
"""Shortest time between two partials at `finals first`: nobody waits longer for a sentence to grow, and a final waits
for one partial at most."""

CLIMB_SECONDS = 1.0
"""Shortest time between two steps up: a level takes some time to have an effect."""
CALM_SECONDS = 10.0
"""Time for which the run has to be well under a level's threshold before that level is left."""


class Ladder:
    """The level of a run. A load that is higher at every instant never gives a lower level."""

    def __init__(self) -> None:
        self.level = 0
        self._climbed_at = -math.inf
        self._calm_from: float | None = None

    def update(self, behind: float, now: float) -> bool:
        """Record the run's delay in seconds at clock time `now`. Return whether the level changed."""
        if self.level + 1 < len(LEVELS) and behind >= LEVELS[self.level + 1].enter:
            self._calm_from = None
            if now - self._climbed_at < CLIMB_SECONDS:
                return False
            self.level += 1
            self._climbed_at = now
            return True
        if self.level == 0 or behind >= LEVELS[self.level].enter / 2:
            self._calm_from = None
            return False
        if self._calm_from is None:
            self._calm_from = now
        if now - self._calm_from < CALM_SECONDS:
            return False
        self.level -= 1
        self._calm_from = now
        return True


class Backlog:
    """Updates that wait for the translator, and what translating costs. Times are of the run's clock, in seconds.

    The pipeline guards it with its lock.
    """

    def __init__(self) -> None:
        self._finals: dict[int, float] = {}
        """Capture time of the sound in which each untranslated final was recognised, by segment, oldest first."""
        self._latest: dict[int, tuple[Transcript, float]] = {}
        """The newest update of each segment whose final is not translated, and the capture time of its sound."""
        self._in_hand: Transcript | None = None
        self._in_hand_since = 0.0
        """Capture time of the sound of the update that is being translated."""
        self._spoken = self._spent = 0.0
        self.began: float | None = None
        """Start of the unfinished translation; None between translations."""

    @property
    def unfinished(self) -> list[Transcript]:
        return [transcript for transcript, _ in self._latest.values() if not transcript.final]

    @property
    def finals(self) -> int:
        return len(self._finals)

    @property
    def real_time_factor(self) -> float | None:
        """Seconds of translation per second of speech if only finals were translated; None before the first."""
        return self._spent / self._spoken if self._spoken else None

    def put(self, transcript: Transcript, heard_at: float) -> None:
        """Add an update that was recognised in sound captured at `heard_at`."""
        if transcript.final:
            self._finals[transcript.segment_id] = heard_at
        self._latest[transcript.segment_id] = transcript, heard_at

    def take(self, transcript: Transcript, now: float) -> None:
        self._in_hand, self.began = transcript, now
        latest, heard_at = self._latest.get(transcript.segment_id, (transcript, now))
        if transcript.final:
            heard_at = self._finals.get(transcript.segment_id, now)
        self._in_hand_since = heard_at if transcript.final or latest is transcript else now

    def done(self, now: float) -> None:
        assert self._in_hand is not None and self.began is not None
        if self._in_hand.final:
            self._finals.pop(self._in_hand.segment_id, None)
            self._latest.pop(self._in_hand.segment_id, None)
            self._spoken += max(self._in_hand.end - self._in_hand.start, 0.0)
            self._spent += now - self.began
        self._in_hand = self.began = None

    def behind(self, now: float) -> float:
        """Return the age in seconds of the oldest sound whose translation waits or is being made."""
        heard_at = [*self._finals.values(), *([self._in_hand_since] if self._in_hand else [])]
        return now - min(heard_at) if heard_at else 0.0


class LatestPerSegment:
    """Coalescing: a newer update of a segment replaces its waiting partial; all finals and gaps are kept.

    The newer update keeps the place of the older one, so that updates of one track do not delay those of another. But
    a final stays after the finals that came before it. Bounded by one partial per segment, and the finals and gaps.
    The pipeline guards it with a lock.
    """

    def __init__(self) -> None:
        self._waiting: deque[Transcript | Gap] = deque()

    def __iter__(self) -> Iterator[Transcript | Gap]:
        return iter(self._waiting)

    def put(self, update: Transcript | Gap) -> Coalesced | None:
        """Add an update or a gap; return the waiting update that it replaced, if any."""
        if isinstance(update, Transcript):
            for place, waiting in enumerate(self._waiting):
                if isinstance(waiting, Transcript) and waiting.segment_id == update.segment_id and not waiting.final:
                    del self._waiting[place]
                    if update.final:
                        # A sentence begins before the final of the one before it: its partial may wait ahead of that.
                        finals = (number for number, other in enumerate(self._waiting, 1) if not _is_partial(other))
                        place = max([place, *finals])
                    self._waiting.insert(place, update)
                    return Coalesced(waiting.segment_id, waiting.revision)
        self._waiting.append(update)
        return None

    def first(self, *, partials: bool = True) -> Transcript | Gap | None:
        """Return the oldest waiting update, or the oldest final or gap without `partials`; None if there is none."""
        return next((waiting for waiting in self._waiting if partials or not _is_partial(waiting)), None)

    def take(self, *, partials: bool = True) -> Transcript | Gap | None:
        first = self.first(partials=partials)
        if first is not None:
            self._waiting.remove(first)
        return first


def _is_partial(waiting: Transcript | Gap) -> bool:
    return isinstance(waiting, Transcript) and not waiting.final
