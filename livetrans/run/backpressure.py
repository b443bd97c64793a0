"""Back-pressure: how far a run is behind, what it leaves out for that, in levels, and when each is entered and left."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from livetrans.events import Coalesced, Gap, Transcript


@dataclass(frozen=True, slots=True)
class Level:
    """What is left out; each level includes those before it."""

    name: str
    enter: float
    """Seconds behind from which the level is entered; under half of it the level may be left."""
    pass_factor: int = 1
    """Factor on the new sound that the recogniser takes per pass."""


LEVELS = (
    Level("normal", 0.0),
    Level("fewer passes", 3.0, 2),
    Level("few partials", 6.0, 2),
    Level("finals only", 10.0, 4),
    Level("sound waits", 20.0, 4),
)
"""
| level | recogniser | partials |
|---|---|---|
| normal | every pass | all; in languages that nobody reads while no update waits |
| fewer passes | passes half as often | in languages that are read |
| few partials | the same | in these, in at most half of the translator's time |
| finals only | passes a quarter as often | none |
| sound waits | waits until the translator is idle | none |
"""
FEWER_PASSES, WHEN_IDLE, FINALS_ONLY, SOUND_WAITS = range(1, len(LEVELS))

CLIMB_SECONDS = 1.0
"""Shortest time between two levels up: a level takes some time to have an effect."""
CALM_SECONDS = 10.0
"""Time for which the run has to be well under a level's threshold before that level is left."""


class Ladder:
    """Which of `LEVELS` a run is in. A load that is higher at every instant never gives a lower level."""

    def __init__(self) -> None:
        self.level = 0
        self._climbed_at = -math.inf
        self._calm_from: float | None = None

    def update(self, behind: float, now: float) -> bool:
        """Take how far behind the run is, in seconds, at the instant `now`; return whether the level changed."""
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
    """What waits for the translator, and what it costs: each update is followed from the recogniser to its translation.

    Instants are seconds of the run's clock. The pipeline guards it with its lock.
    """

    def __init__(self) -> None:
        self._finals: dict[int, float] = {}
        """When the sound came that each final was recognised in, by segment, oldest first; translated ones are gone."""
        self._in_hand: Transcript | None = None
        self._came = 0.0
        self._rests_until = 0.0
        self._latest: dict[int, tuple[Transcript, float]] = {}
        """The newest update of each segment whose final is not translated, and when its sound came."""
        self._spoken = self._spent = 0.0
        self.began: float | None = None
        """When the translation began that is not done yet."""

    @property
    def unfinished(self) -> list[Transcript]:
        """The newest hypothesis of each segment without a final."""
        return [transcript for transcript, _ in self._latest.values() if not transcript.final]

    @property
    def finals(self) -> int:
        """Finals that are not translated yet."""
        return len(self._finals)

    @property
    def real_time_factor(self) -> float | None:
        """Seconds of translation a second of speech, were only finals translated; None before the first."""
        return self._spent / self._spoken if self._spoken else None

    def put(self, transcript: Transcript, came: float) -> None:
        """Note an update that was recognised in sound that came at the instant `came`."""
        if transcript.final:
            self._finals[transcript.segment_id] = came
        self._latest[transcript.segment_id] = transcript, came

    def take(self, transcript: Transcript, now: float) -> None:
        """Note that the translator begins with an update."""
        self._in_hand, self.began, self._came = transcript, now, now
        if transcript.final:
            self._came = self._finals[transcript.segment_id]
        else:
            latest, came = self._latest[transcript.segment_id]
            self._came = came if latest is transcript else now

    def done(self, now: float) -> None:
        """Note that the update in hand is translated and published."""
        assert self._in_hand is not None and self.began is not None
        taken = now - self.began
        if self._in_hand.final:
            del self._finals[self._in_hand.segment_id], self._latest[self._in_hand.segment_id]
            self._spoken += max(self._in_hand.end - self._in_hand.start, 0.0)
            self._spent += taken
        self._rests_until = now + taken
        self._in_hand = self.began = None

    def has_rested(self, now: float) -> bool:
        """Return whether the translator has done nothing for as long as its last update took."""
        return now >= self._rests_until

    def behind(self, now: float) -> float:
        """Return the seconds since the oldest sound came whose translation waits or is being made."""
        came = [*self._finals.values(), *([self._came] if self._in_hand else [])]
        return now - min(came) if came else 0.0


class LatestPerSegment:
    """Coalescing: a newer update of a segment takes the place of its waiting partial; all finals and gaps are kept.

    The place is kept, so that updates of one track do not put off those of another; but a final stays behind the
    finals that came before it. Bounded by one partial for each segment, and the finals and gaps. The pipeline guards
    it with a lock.
    """

    def __init__(self) -> None:
        self._waiting: deque[Transcript | Gap] = deque()

    def __iter__(self) -> Iterator[Transcript | Gap]:
        """Iterate over the waiting updates, oldest first."""
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
        """Return the oldest waiting update, or without `partials` the oldest final or gap; None where there is none."""
        return next((waiting for waiting in self._waiting if partials or not _is_partial(waiting)), None)

    def take(self, *, partials: bool = True) -> Transcript | Gap | None:
        """Remove and return what `first` returns."""
        first = self.first(partials=partials)
        if first is not None:
            self._waiting.remove(first)
        return first


def _is_partial(waiting: Transcript | Gap) -> bool:
    return isinstance(waiting, Transcript) and not waiting.final
