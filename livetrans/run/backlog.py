"""What waits for the translator, and what it costs: the counts behind back-pressure. The pipeline's lock guards it."""

from __future__ import annotations

from livetrans.events import Transcript


class Backlog:
    """Follows each update from the recogniser to its translation; instants are seconds of the run's clock."""

    def __init__(self) -> None:
        self._finals: dict[int, float] = {}
        """When the sound came that each final was recognised in, by segment, oldest first; translated ones are gone."""
        self._in_hand: Transcript | None = None
        self._came = 0.0
        self._rests_until = 0.0
        self._latest: tuple[int, int, float] | None = None
        self._spoken = self._spent = 0.0
        self.began: float | None = None
        """When the translation began that is not done yet."""
        self.unfinished: Transcript | None = None
        """The newest hypothesis of a segment without a final."""

    @property
    def finals(self) -> int:
        """Finals that are not translated yet."""
        return len(self._finals)

    @property
    def real_time_factor(self) -> float | None:
        """Seconds of translation a second of speech, were only finals translated; None before the first."""
        return self._spent / self._spoken if self._spoken else None

    def put(self, transcript: Transcript, came: float) -> None:
        """An update was recognised in sound that came at the instant `came`."""
        if transcript.final:
            self._finals[transcript.segment_id] = came
        self.unfinished = None if transcript.final else transcript
        self._latest = (transcript.segment_id, transcript.revision, came)

    def take(self, transcript: Transcript, now: float) -> None:
        """The translator begins with an update."""
        self._in_hand, self.began, self._came = transcript, now, now
        if transcript.final:
            self._came = self._finals[transcript.segment_id]
        elif self._latest and self._latest[:2] == (transcript.segment_id, transcript.revision):
            self._came = self._latest[2]

    def done(self, now: float) -> None:
        """The update that the translator works on is translated and published."""
        assert self._in_hand is not None and self.began is not None
        taken = now - self.began
        if self._in_hand.final:
            del self._finals[self._in_hand.segment_id]
            self._spoken += max(self._in_hand.end - self._in_hand.start, 0.0)
            self._spent += taken
        self._rests_until = now + taken
        self._in_hand = self.began = None

    def has_rested(self, now: float) -> bool:
        """Whether the translator has done nothing for as long as its last update took."""
        return now >= self._rests_until

    def behind(self, now: float) -> float:
        """Seconds since the oldest sound came whose translation waits or is being made."""
        came = [*list(self._finals.values())[:1], *([self._came] if self._in_hand else [])]
        return now - min(came) if came else 0.0
