"""The transcriber's state between two passes: the sound, the prompt, and the open segment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from livetrans.config import TranscriberSettings
from livetrans.events import SAMPLE_RATE, Transcript, Word
from livetrans.speech.words import drop_loops, find_endpoint, words_text
from livetrans.stats import RecognitionStats

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SoundBuffer:
    """The sound that the next pass recognises, of bounded length, counted in source samples."""

    def __init__(self, maximum: float) -> None:
        """`maximum`: seconds."""
        self._store = np.zeros(round(maximum * SAMPLE_RATE), dtype=np.int16)
        self._count = 0
        self.start_sample = 0

    def __len__(self) -> int:
        return self._count

    @property
    def samples(self) -> NDArray[np.int16]:
        return self._store[: self._count]

    @property
    def room(self) -> int:
        return len(self._store) - self._count

    @property
    def full(self) -> bool:
        return self.room == 0

    @property
    def end_sample(self) -> int:
        return self.start_sample + self._count

    @property
    def start(self) -> float:
        return self.start_sample / SAMPLE_RATE

    @property
    def end(self) -> float:
        return self.end_sample / SAMPLE_RATE

    @property
    def length(self) -> float:
        return self._count / SAMPLE_RATE

    def restart(self, start_sample: int) -> None:
        self.start_sample, self._count = start_sample, 0

    def append(self, samples: NDArray[np.int16]) -> None:
        self._store[self._count : self._count + len(samples)] = samples
        self._count += len(samples)

    def drop_before(self, sample: int) -> None:
        dropped = min(max(sample - self.start_sample, 0), self._count)
        self._store[: self._count - dropped] = self._store[dropped : self._count].copy()
        self.start_sample += dropped
        self._count -= dropped


class PromptText:
    """The last committed characters whose sound has left the buffer."""

    def __init__(self, maximum_characters: int) -> None:
        self._maximum = maximum_characters
        self._words: tuple[Word, ...] = ()
        self.text = ""

    def extend(self, words: Iterable[Word]) -> None:
        if self._maximum <= 0:
            return
        # A loop that was committed in pieces is whole only here; in a prompt it would start the recogniser's next loop.
        kept = drop_loops([*self._words, *words])
        while kept and len(words_text(kept)) > self._maximum:
            kept = kept[1:]
        self._words = kept
        self.text = words_text(kept)

    def clear(self) -> None:
        self._words, self.text = (), ""


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
    """Words that a transcript of this segment showed as committed: they cannot go to another segment."""
    stats: RecognitionStats | None = None
    language: str | None = None

    def take(self, newly_committed: tuple[Word, ...], tail: tuple[Word, ...], stats: RecognitionStats) -> None:
        self.committed += newly_committed
        self.partial = tail
        self.stats = stats

    def update(
        self, settings: TranscriberSettings, captured: tuple[float, float] | None, final: bool
    ) -> list[Transcript]:
        """Return finals of the segments that end within the words, then the update of the open one, if it changed."""
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
        """Return the final of the remaining words.

        A segment whose words have all disappeared ends as it was last shown: its caption is on the screen, and an empty
        one would mean that nobody spoke.
        """
        words = (*self.committed, *self.partial) or self.shown
        self.partial = ()
        return [self._final(words, captured)] if words else []

    def finish_committed(self, captured: tuple[float, float] | None) -> list[Transcript]:
        """Return the final of the committed words; the others are recognised again."""
        self.partial = ()
        return [self._final(self.committed, captured)] if self.committed else []

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
            language=self.language,
        )
