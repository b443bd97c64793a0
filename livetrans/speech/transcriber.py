"""Streaming recognition: passes over a growing buffer, LocalAgreement, segments with ids and revisions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from livetrans.clock import Clock
from livetrans.config import TranscriberSettings
from livetrans.events import SAMPLE_RATE, RecognitionStats, SpeechChunk, Transcript, Word
from livetrans.speech.agreement import LocalAgreement
from livetrans.speech.endpoint import find_endpoint
from livetrans.speech.loops import drop_loops
from livetrans.speech.recogniser import Hypothesis, Recogniser
from livetrans.speech.words import clean_text, words_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAXIMUM_BUFFER = 28.0
"""Whisper reads windows of 30 s: a longer buffer would cost two windows a pass."""
LONG_SILENCE = 5.0
"""After so much silence what was said before is no longer what is being talked about: the prompt starts empty."""
_FULL_SCALE = 32_768


class Transcriber:
    """Turns speech into updates; none is lost: at a pause and at `flush` every word of the hypothesis becomes final."""

    def __init__(self, recogniser: Recogniser, settings: TranscriberSettings, clock: Clock) -> None:
        self._recogniser = recogniser
        self._settings = settings
        self._clock = clock
        self._buffer = _Buffer()
        self._agreement = LocalAgreement()
        self._segment = _OpenSegment()
        self._prompt = _Prompt(settings.prompt_characters)
        self._new_samples = 0
        self._last_pass_seconds = 0.0
        self._captured: tuple[float, float] | None = None
        """Source time and measured time of the same sample: the newest that came with both."""

    def feed(self, chunk: SpeechChunk) -> list[Transcript]:
        """Take speech and return the updates that it caused."""
        transcripts: list[Transcript] = []
        if len(self._buffer) and len(chunk.samples) and chunk.start_sample != self._buffer.end_sample:
            transcripts += self.flush()  # Sound was lost in between: what stands on both sides is not one utterance.
        if chunk.captured_at is not None:
            self._captured = (chunk.end, chunk.captured_at)
        elif len(chunk.samples):
            self._captured = None
        position = 0
        while position < len(chunk.samples):
            if not len(self._buffer):
                self._begin(chunk.start_sample + position)
            piece = chunk.samples[position : position + self._wanted_samples()]
            self._buffer.append(piece)
            self._new_samples += len(piece)
            position += len(piece)
            if self._new_samples >= self._step_samples() or self._buffer.full:
                transcripts += self._pass(final=False)
        if chunk.pause:
            transcripts += self.flush()
        return transcripts

    def flush(self) -> list[Transcript]:
        """End the stretch of speech: one final pass, whose every word becomes final."""
        transcripts = self._pass(final=True) if len(self._buffer) else []
        transcripts += self._segment.finish(self._captured)
        self._prompt.extend(self._agreement.forget_before(math.inf))
        self._buffer.drop_before(self._buffer.end_sample)
        self._agreement = LocalAgreement()
        self._new_samples = 0
        self._last_pass_seconds = 0.0
        return transcripts

    def _begin(self, start_sample: int) -> None:
        # Right after a cut the buffer is empty too, and then no silence lies between.
        if start_sample - self._buffer.end_sample > LONG_SILENCE * SAMPLE_RATE:
            self._prompt.clear()
        self._buffer.restart(start_sample)

    def _step_samples(self) -> int:
        """New sound that triggers a pass: on a slow machine as much as the last pass took, so lag does not grow."""
        step = self._settings.step
        if self._settings.adaptive:
            step = max(step, self._last_pass_seconds)
        return max(round(step * SAMPLE_RATE), 1)

    def _wanted_samples(self) -> int:
        """How much of a chunk to take before looking whether a pass is due.

        All that fits, so that a listener who was busy catches up in one pass; but where passes may not depend on the
        machine's speed, exactly up to the next step, so that they do not depend on the chunks' sizes either.
        """
        if self._settings.adaptive:
            return self._buffer.room
        return min(self._step_samples() - self._new_samples, self._buffer.room)

    def _pass(self, final: bool) -> list[Transcript]:
        began = self._clock.now()
        samples: NDArray[np.float32] = self._buffer.samples.astype(np.float32) / np.float32(_FULL_SCALE)
        hypothesis = self._recogniser.recognise(samples, prompt=self._prompt.text, final=final)
        self._last_pass_seconds = self._clock.now() - began
        stats = RecognitionStats(len(samples) / SAMPLE_RATE, self._last_pass_seconds)
        self._new_samples = 0
        newly = self._agreement.update(self._source_words(hypothesis), self._buffer.start)
        if final:
            newly += self._agreement.commit(len(self._agreement.tail))
        elif self._buffer.length > self._settings.trim_after:
            newly += self._trim(hypothesis.segment_ends)
        self._segment.take(newly, self._agreement.tail, stats)
        return self._segment.update(self._settings, self._captured, final)

    def _source_words(self, hypothesis: Hypothesis) -> tuple[Word, ...]:
        """The hypothesis in source time, within the buffer, fit to be shown, without loops."""
        start, end = self._buffer.start, self._buffer.end
        words: list[Word] = []
        for word in hypothesis.words:
            text = clean_text(word.text)
            if text:
                first = min(max(start + word.start, start), end)
                words.append(Word(text, first, min(max(start + word.end, first), end), word.probability))
        return drop_loops(words)

    def _trim(self, segment_ends: Sequence[float]) -> tuple[Word, ...]:
        """Shorten the buffer; returns words that had to be committed without agreement because it is full."""
        forced: tuple[Word, ...] = ()
        cut = self._trimming_point(segment_ends)
        if cut is None and self._buffer.full:
            forced = self._agreement.commit(self._forced_words())
            cut = self._trimming_point(()) or self._buffer.start + MAXIMUM_BUFFER / 2
        if cut is not None:
            self._prompt.extend(self._agreement.forget_before(cut))
            self._buffer.drop_before(round(cut * SAMPLE_RATE))
        return forced

    def _trimming_point(self, segment_ends: Sequence[float]) -> float | None:
        """Where everything before is committed: the end of a recogniser's segment, else of the last committed word."""
        committed_end, start = self._agreement.committed_end, self._buffer.start
        if committed_end is None or committed_end <= start + self._settings.step:
            return None
        # The recogniser's last segment is still growing, so its end is no boundary yet.
        ends = [start + end for end in segment_ends[:-1] if self._settings.step < end <= committed_end - start]
        if ends:
            return ends[-1]
        following = self._agreement.tail[0].start if self._agreement.tail else committed_end
        return max(committed_end, min((committed_end + following) / 2, committed_end + 0.2))

    def _forced_words(self) -> int:
        """All uncommitted words but the last, which may still be cut off, unless it ended long ago."""
        tail = self._agreement.tail
        last_is_old = bool(tail) and tail[-1].end < self._buffer.start + MAXIMUM_BUFFER / 2
        return len(tail) if last_is_old else max(len(tail) - 1, 0)


class _Buffer:
    """The sound that the next pass reads: at most 28 s, in source samples."""

    def __init__(self) -> None:
        self._store = np.zeros(round(MAXIMUM_BUFFER * SAMPLE_RATE), dtype=np.int16)
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


class _Prompt:
    """The last committed characters whose sound has left the buffer."""

    def __init__(self, maximum_characters: int) -> None:
        self._maximum = maximum_characters
        self._words: tuple[Word, ...] = ()
        self.text = ""

    def extend(self, words: Iterable[Word]) -> None:
        if self._maximum <= 0:
            return
        # Loops that were committed in pieces are seen only here; the recogniser would take them up again.
        kept = drop_loops([*self._words, *words])
        while kept and len(words_text(kept)) > self._maximum:
            kept = kept[1:]
        self._words = kept
        self.text = words_text(kept)

    def clear(self) -> None:
        self._words, self.text = (), ""


@dataclass
class _OpenSegment:
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
