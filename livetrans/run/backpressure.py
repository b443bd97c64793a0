"""Back-pressure: what a run leaves out while it is behind, in steps, and when each step is entered and left."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """What is left out; each step includes those before it."""

    name: str
    enter: float
    """Seconds behind from which the step is entered; under half of it the step may be left."""
    pass_factor: int = 1
    """Factor on the new sound that the recogniser takes per pass."""


STEPS = (
    Step("normal", 0.0),
    Step("fewer passes", 3.0, 2),
    Step("few partials", 6.0, 2),
    Step("finals only", 10.0, 4),
    Step("sound waits", 20.0, 4),
)
"""What is left, step by step: all partials; fewer, from fewer passes of the recogniser; partials in at most half of the
translator's time; no partials; and the recogniser waits until the translator is idle."""
FEWER_PASSES, WHEN_IDLE, FINALS_ONLY, SOUND_WAITS = range(1, len(STEPS))

CLIMB_SECONDS = 1.0
"""Shortest time between two steps up: a step takes some time to have an effect."""
CALM_SECONDS = 10.0
"""Time for which the run has to be well under a step's threshold before that step is left."""


class Ladder:
    """Which of `STEPS` a run is in. A load that is higher at every instant never gives a lower step."""

    def __init__(self) -> None:
        self.step = 0
        self._climbed_at = -math.inf
        self._calm_from: float | None = None

    def update(self, behind: float, now: float) -> bool:
        """Take how far behind the run is, in seconds, at the instant `now`; returns whether the step changed."""
        if self.step + 1 < len(STEPS) and behind >= STEPS[self.step + 1].enter:
            self._calm_from = None
            if now - self._climbed_at < CLIMB_SECONDS:
                return False
            self.step += 1
            self._climbed_at = now
            return True
        if self.step == 0 or behind >= STEPS[self.step].enter / 2:
            self._calm_from = None
            return False
        if self._calm_from is None:
            self._calm_from = now
        if now - self._calm_from < CALM_SECONDS:
            return False
        self.step -= 1
        self._calm_from = now
        return True
