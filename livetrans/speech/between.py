"""Which of two languages is spoken, by stretches of speech from pause to pause: evidence over passes, without sound.

Among all of its languages a recogniser is often wrong about a second of speech. Of two that are known it is asked
again and again: the odds of the passes that are made anyway are added up, and the stretch before is the prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from livetrans.speech.whisper_model import AGREEING_PASSES

CLIP = 2.0
"""Most that a pass counts, in nats: two clear passes outvote a wild one, such as a cough."""
FULL_WEIGHT = 1.0
"""Seconds of speech from which on a pass counts in full."""
PRIOR, PRIOR_PAUSE = 1.0, 2.0
"""Nats for the language of the stretch before; half of them after a pause of so many seconds."""
SURE, SURE_PASSES = 2.5, 2
"""Nats, and passes in a row, at which the language is decided early."""
LATEST = 2.0
"""Seconds of speech at which it is decided at the latest: nothing is translated before."""
CLEAR = 1.0
"""Nats at which a pass speaks for one of the languages."""
WAVERING_STEP = 0.4
"""Seconds of new sound of a pass while the language may change, so that the three that change it come soon."""
DOUBT = 1.0
"""Nats below which a final is recognised in both languages, unless the pass before it was sure of one."""
OUTSIDE = 0.8
"""Probability of all other languages together from which on a pass speaks for a third one."""
_FLOOR = 1e-6


class SpokenPair:
    """The language of the running stretch: one of two, or a third one; owned by the listening thread.

    It changes at most once in a stretch, where `AGREEING_PASSES` passes in a row speak for another one.
    """

    def __init__(self, languages: tuple[str, str]) -> None:
        """`languages`: the recogniser's codes."""
        self.languages = languages
        self.decided: str | None = None
        """Of the running stretch; None until it is decided."""
        self.heard = 0.0
        """Seconds of the stretch that the next pass has heard."""
        self.prompt_language: str | None = None
        """Language of the text that the recogniser gets as its prompt."""
        self._before: str | None = None
        self._forced: str | None = None
        self._third = ""
        """Code of a third language that was heard; `_own` and `_leaning` have the empty text for any."""
        self.begin(0.0)

    def begin(self, silence: float) -> None:
        """Begin a stretch, `silence` seconds after the one before."""
        prior = PRIOR if silence < PRIOR_PAUSE else PRIOR / 2
        self._sum = 0.0 if self._before is None else prior if self._before == self.languages[0] else -prior
        self._own: str | None = None
        """What the passes decided; None until they have."""
        self._leaning: str | None = None
        """What the newest pass speaks for; None if for nothing."""
        self._row, self._odds, self._has_changed = 0, 0.0, False
        self.decided = None

    def end(self) -> None:
        """End the stretch, and what was forced."""
        if self.decided is not None:
            self._before = self.decided if self.decided in self.languages else None
        self._forced = None

    def force(self) -> str | None:
        """Force the other language on the stretch, and return it; the second time decide again. From any thread."""
        if self._forced:
            self._forced = None
        else:
            now = self.decided or self._before or self.likelier
            self._forced = next(one for one in self.languages[::-1] if one != now)
        return self._forced

    @property
    def wavers(self) -> bool:
        """Whether the newest pass speaks against what is decided, and may be the first of a change."""
        return None not in (self._own, self._leaning) and self._own != self._leaning and not self._is_closed

    @property
    def likelier(self) -> str:
        """The language for which more has spoken so far."""
        return self.languages[(self._sum or self._odds) < 0]

    def hear(self, probabilities: Mapping[str, float], *, final: bool = False) -> tuple[str, ...]:
        """Take the probabilities of languages of a pass; return the language to recognise it in, of a doubtful final
        both. With two, `settle` has to be told which was kept.
        """
        first, second = (max(probabilities.get(one, 0.0), _FLOOR) for one in self.languages)
        odds = self._odds = min(max(math.log(first) - math.log(second), -CLIP), CLIP)
        was_sure = self._own is not None and abs(self._sum) >= DOUBT
        self._sum += odds * min(1.0, self.heard / FULL_WEIGHT)
        leaning = self.languages[odds < 0] if abs(odds) >= CLEAR else None
        others = probabilities.keys() - {*self.languages}
        if others and 1.0 - first - second > OUTSIDE:
            leaning = ""
            self._third = max(others, key=probabilities.__getitem__) if self._own != "" else self._third
        self._row = self._row + 1 if leaning == self._leaning else 1
        self._leaning = leaning
        self._decide(final)
        forced = self._forced  # Read once: another thread may change it.
        self.decided = forced or (self._own if self._own != "" else self._third)
        if final and self._own and not (was_sure or self._is_closed) and abs(self._sum) < DOUBT:
            return self.languages
        return (self.decided or self.likelier,)

    def settle(self, language: str) -> None:
        """Keep one of the languages in which a doubtful final was recognised."""
        self._has_changed = self._has_changed or self._own != language
        self.decided = self._own = language

    @property
    def _is_closed(self) -> bool:
        """Whether nothing but the user changes the language of this stretch any more."""
        return self._has_changed or self._forced is not None

    def _decide(self, final: bool) -> None:
        agree = self._leaning is not None and self._row >= AGREEING_PASSES
        is_sure = abs(self._sum) >= SURE and self._row >= SURE_PASSES and self._leaning == self.likelier
        if self._own is None:
            if agree and self._leaning == "":
                self._own = ""
            elif is_sure or final or self.heard >= LATEST:
                self._own = self.likelier
        elif agree and self._own != self._leaning and not self._has_changed:
            self._own, self._has_changed = self._leaning, True
