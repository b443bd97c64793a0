"""The segment that is being spoken: its updates, its endpoint, its final."""

from __future__ import annotations

from dataclasses import dataclass

from livetrans.config import TranscriberSettings
from livetrans.events import RecognitionStats, Transcript, Word
from livetrans.speech.endpoint import find_endpoint
from livetrans.speech.words import words_text


@dataclass
class OpenSegment:
    """The segment that is being spoken: its words, its id and its next revision."""

    segment_id: int = 0
    revision: int = 0
    committed: tuple[Word, ...] = ()
    partial: tuple[Word, ...] = ()
    shown: tuple[Word, ...] = ()
    shown_text: str = ""
    shown_committed: int = 0
    """Words that a transcript of this segment gave as committed: they can go to no other segment."""
    stats: RecognitionStats | None = None

    def take(self, newly_committed: tuple[Word, ...], tail: tuple[Word, ...], stats: RecognitionStats) -> None:
        self.committed += newly_committed
        self.partial = tail
        self.stats = stats

    def update(
        self, settings: TranscriberSettings, captured: tuple[float, float] | None, final: bool
    ) -> list[Transcript]:
        """Finals of the segments that end within the words, then the update of the one that goes on, if it changed."""
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
        """The final of what is left.

        A segment of which every word has disappeared again ends as it was last shown: its caption stands on the screen,
        and taking it away whole would say that nothing was heard.
        """
        words = (*self.committed, *self.partial) or self.shown
        self.partial = ()
        return [self._final(words, captured)] if words else []

    def _final(self, words: tuple[Word, ...], captured: tuple[float, float] | None) -> Transcript:
        transcript = self._transcript(words, (), True, captured)
        self.segment_id += 1
        self.revision = 0
        self.committed, self.shown, self.shown_text, self.shown_committed = (), (), "", 0
        return transcript

    def _transcript(
        self, committed: tuple[Word, ...], partial: tuple[Word, ...], final: bool, captured: tuple[float, float] | None
    ) -> Transcript:
        words = (*committed, *partial)
        end = words[-1].end
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
        )
