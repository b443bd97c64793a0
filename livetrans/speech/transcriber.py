"""Streaming recognition: passes over a growing buffer, LocalAgreement, segments with ids and revisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from livetrans.base.clock import Clock
from livetrans.base.errors import ModelError, UsageError
from livetrans.base.text import one_line
from livetrans.config import TranscriberSettings
from livetrans.events import FULL_SCALE, SAMPLE_RATE, RecognitionStats, SpeechChunk, Transcript, Word
from livetrans.names.repair import TrackNames
from livetrans.speech.agreement import LocalAgreement
from livetrans.speech.between import WAITING_STEP, Conversation
from livetrans.speech.recogniser import Hypothesis, Recogniser
from livetrans.speech.words import OpenSegments, drop_loops, is_spoken, sure_length, words_text

LONG_SILENCE = 5.0
"""Seconds of silence after which the subject may have changed: the prompt starts empty."""
STALL = 3.0
"""Seconds of sound without a new word after which recognition has stopped, unless the gate's pause is longer."""
COLLAPSED, LEAST_HEARD = 1 / 3, 6
"""A pass with less than that share of the words heard before has lost words, if those were at least so many."""

SHORTEST_STEP, LONGEST_STEP = 0.4, 0.8
"""Seconds of new sound in a pass where the step follows the machine."""
STEP_PASSES = 5
"""Length of such a step in passes between the two: passes take a fifth of the time."""
SMOOTHING = 0.2
"""Weight of the newest pass in the mean cost of a pass."""

ONLY_LAST_PASSES = 1 << 20
"""A step's factor that no sound reaches: passes come at pauses, where the buffer is full, and at the end."""


class Transcriber:
    """The stage that turns speech into updates. At a pause and at `flush` every word becomes final."""

    def __init__(
        self,
        recogniser: Recogniser,
        settings: TranscriberSettings,
        clock: Clock,
        ids: Iterator[int] | None = None,
        reload: Callable[[Exception], None] | None = None,
        conversation: Conversation | None = None,
        names: TrackNames | None = None,
    ) -> None:
        """`ids` gives the ids of segments; None counts from 0. `conversation`: decides the language of each pass.

        `reload` loads a recogniser that failed again, or raises the failure. The pass is then tried again.
        """
        self._recogniser = recogniser
        self._reload = reload
        self._settings = settings
        self._clock = clock
        self._conversation = conversation
        self.names = names
        """What repairs names; None for nothing. May be set before the first chunk."""
        self._buffer = SoundBuffer(recogniser.maximum_length)
        self._trim_after = recogniser.trim_after if settings.trim_after is None else settings.trim_after
        self._agreement = LocalAgreement()
        self._segments = OpenSegments(ids or count(), settings)
        self._prompt = PromptText(settings.prompt_characters)
        self._new_samples = 0
        self._last_pass_seconds = 0.0
        self._mean_pass_seconds: float | None = None
        self._at_silence: tuple[tuple[int, int], Hypothesis, RecognitionStats] | None = None
        """The last pass at a silence, and the first and the last sample of its sound."""
        self.step_factor = 1
        """Factor on the new sound of a pass; may be set between chunks."""
        self.caution = settings.caution
        """That of the settings; may be set at any time, from any thread."""
        self.pass_began: float | None = None
        """Clock time at which the unfinished pass began; None between passes."""
        self.passes = 0
        self.recognition_seconds = 0.0

    @property
    def step(self) -> float:
        """Seconds of new sound in a pass: as set, or shorter where passes cost little. `step_factor` comes on top."""
        if self._settings.step is not None:
            return self._settings.step
        if not self._settings.adaptive or self._mean_pass_seconds is None:
            return LONGEST_STEP
        return min(max(STEP_PASSES * self._mean_pass_seconds, SHORTEST_STEP), LONGEST_STEP)

    def feed(self, chunk: SpeechChunk) -> list[Transcript]:
        transcripts: list[Transcript] = []
        if len(self._buffer) and len(chunk.samples) and chunk.start_sample != self._buffer.end_sample:
            transcripts += self.flush()  # Sound was lost in between: the two sides are not one utterance.
        if chunk.captured_at is not None:
            self._segments.captured = (chunk.end, chunk.captured_at)
        elif len(chunk.samples):
            self._segments.captured = None
        position = 0
        while position < len(chunk.samples):
            if not len(self._buffer):
                self._begin(chunk.start_sample + position)
            piece = chunk.samples[position : position + self._wanted_samples(len(chunk.samples) - position)]
            self._buffer.append(piece)
            self._new_samples += len(piece)
            position += len(piece)
            if self._new_samples >= self._step_samples() or self._buffer.full:
                transcripts += self._pass(final=False)
        if chunk.may_end and self._new_samples and self._keeps_up:
            transcripts += self._pass(final=False, may_end=True)
        if chunk.pause:
            transcripts += self.flush()
        return transcripts

    def flush(self, *, recognise: bool = True) -> list[Transcript]:
        """End the stretch of speech: one final pass, whose every word becomes final.

        `recognise=False` is for a recogniser that has failed: the words of its last pass become final.
        """
        transcripts = self._pass(final=True) if recognise and len(self._buffer) else []
        transcripts += self._segments.finish()
        self._prompt.extend(self._agreement.forget_before(math.inf))
        self._buffer.drop_before(self._buffer.end_sample)
        self._agreement = LocalAgreement()
        self._new_samples = 0
        self._last_pass_seconds = 0.0
        if self._conversation:
            self._conversation.end()
            self._segments.language = None
        return transcripts

    def _begin(self, start_sample: int) -> None:
        # Right after a cut the buffer is empty too, and then no silence lies between.
        silence = (start_sample - self._buffer.end_sample) / SAMPLE_RATE
        if self._conversation:
            self._conversation.begin(start_sample / SAMPLE_RATE, silence)
        if silence > LONG_SILENCE:
            self._prompt.clear()
        self._buffer.restart(start_sample)

    def _step_samples(self) -> int:
        """Return the samples of new sound that trigger a pass: a step, or as long as the last pass took if longer."""
        conversation = self._conversation
        step = min(self.step, WAITING_STEP) if conversation and conversation.waits else self.step
        if self._settings.adaptive:
            step = max(step, self._last_pass_seconds)
        samples = max(round(step * self.step_factor * SAMPLE_RATE), 1)
        if conversation and conversation.latest is not None:
            missing = round(conversation.latest * SAMPLE_RATE) - self._buffer.end_sample
            samples = min(samples, self._new_samples + missing) if missing >= 0 else samples
        return samples

    @property
    def _keeps_up(self) -> bool:
        """Whether there is time for a pass besides those at every step: more speech may follow the silence."""
        is_live = self._settings.adaptive and not self._conversation  # whose final is decided with its own odds
        return is_live and self.step_factor == 1 and self._last_pass_seconds < self.step

    def _wanted_samples(self, waiting: int) -> int:
        """Return how many of the waiting samples to take before the next check for a pass.

        Those up to the next step, so that passes do not depend on the sizes of chunks, nor on the speed of a machine
        that keeps up. If whole steps wait, all that fit, so that a machine that fell behind catches up at once.
        """
        step = self._step_samples()
        missing = max(step - self._new_samples, 1)
        if self._settings.adaptive and waiting >= missing + step:
            return self._buffer.room
        return min(missing, self._buffer.room)

    def _pass(self, final: bool, *, may_end: bool = False) -> list[Transcript]:
        extent = self._buffer.start_sample, self._buffer.end_sample
        if final and self._at_silence and self._at_silence[0] == extent:
            return self._take(*self._at_silence[1:], final=True)
        began = self.pass_began = self._clock.now()
        samples: NDArray[np.float32] = self._buffer.samples.astype(np.float32) / np.float32(FULL_SCALE)
        try:
            hypothesis = self._recognise(samples, final or may_end)
        finally:
            self.pass_began = None
        self._last_pass_seconds = self._clock.now() - began
        self.passes += 1
        self.recognition_seconds += self._last_pass_seconds
        mean = self._last_pass_seconds if self._mean_pass_seconds is None else self._mean_pass_seconds
        self._mean_pass_seconds = mean + SMOOTHING * (self._last_pass_seconds - mean)
        before = self._segments.language
        now = hypothesis.language or before
        self._prompt.go_on_in(now)
        if before not in (None, now):
            ended = self._end_committed()
            self._segments.language = now
            return ended + (self._pass(final, may_end=may_end) if len(self._buffer) else [])
        self._segments.language = now
        stats = RecognitionStats(len(samples) / SAMPLE_RATE, self._last_pass_seconds)
        if may_end:
            self._at_silence = extent, hypothesis, stats
        return self._take(hypothesis, stats, final=final, may_end=may_end)

    def _take(
        self, hypothesis: Hypothesis, stats: RecognitionStats, *, final: bool, may_end: bool = False
    ) -> list[Transcript]:
        self._new_samples = 0
        words = self._source_words(hypothesis)
        has_lost = self._has_lost_words(words)
        if self._conversation:
            words = self._conversation.settled(words, self._buffer.end, last=final or self._buffer.full)
        # A segment keeps its answers, also after a pass that wrote nothing.
        anew = self._agreement.is_new and not self._segments.shown
        # The names of committed words are repaired by the rules of their language.
        is_undecided = self._conversation is not None and self._conversation.decided is None
        newly: tuple[Word, ...] = ()
        if not has_lost:
            newly = self._agreement.update(words, self._buffer.start, commits=not is_undecided)
        heard = self._agreement.heard
        stopped = has_lost and self._buffer.end - heard[-1].end > STALL
        if final:
            newly += self._agreement.commit(len(self._agreement.tail))
        elif stopped:  # Cut there too; the last word may have been cut off.
            newly += self._agreement.commit(max(len(self._agreement.tail) - 1, 0))
        is_long = self._buffer.full or self._buffer.length > self._trim_after
        if not final and (is_long or stopped or self._stalled()):
            newly += self._trim(hypothesis.segment_ends)
        if self.names and hypothesis.likelihood and heard:
            growing = bool(self._agreement.tail) and not may_end
            began = self.pass_began = self._clock.now()
            try:
                language = self._segments.language
                self.names.judge(words_text(heard), hypothesis.likelihood, language, growing=growing, anew=anew)
            finally:
                self.pass_began = None
            took = self._clock.now() - began
            self._last_pass_seconds += took
            self.recognition_seconds += took
        tail = self._agreement.tail
        sure = None if final or may_end else sure_length(tail, self._recogniser.sure, self.caution)
        self._segments.take(newly, tail, stats, sure)
        return self._segments.update(final=final, may_end=may_end)

    def _recognise(self, samples: NDArray[np.float32], final: bool) -> Hypothesis:
        if self._conversation is None:
            return self._recognise_in(None, samples, final)
        attempt = partial(self._recognise_in, samples=samples, final=final)
        return self._conversation.recognise(attempt, self._buffer.end, final=final)

    def _recognise_in(self, language: str | None, samples: NDArray[np.float32], final: bool) -> Hypothesis:
        """Return what the recogniser hears, by a second try if it fails and can be loaded again."""

        def attempt() -> Hypothesis:
            prompt = self._prompt.text if language in (None, self._prompt.language) else ""
            if self.names:
                prompt = self.names.respelled(prompt, self._segments.language)
            hypothesis = self._recogniser.recognise(samples, prompt=prompt, final=final, language=language)
            if prompt and self._has_lost_words(hypothesis.words):
                hypothesis = self._recogniser.recognise(samples, final=final, language=language)
            times = [*hypothesis.segment_ends, *(time for word in hypothesis.words for time in (word.start, word.end))]
            if not all(map(math.isfinite, times)):
                raise ModelError("the recogniser gave words without times; choose another model with --asr")
            return hypothesis

        try:
            return attempt()
        except UsageError:
            raise
        except Exception as error:
            if self._reload is None:
                raise
            self._reload(error)
            return attempt()

    def _has_lost_words(self, words: Sequence[Word]) -> bool:
        """Return whether a pass has so few of the words that were heard that it does not replace them.

        Whisper sometimes writes a word or two of a long buffer, and goes on as before in the next pass, or never.
        """
        heard = len(self._agreement.heard)
        return heard >= LEAST_HEARD and len(words) < COLLAPSED * heard

    def _end_committed(self) -> list[Transcript]:
        """End the segment of another language with its committed words; the sound after them is recognised again."""
        end = self._agreement.committed_end
        transcripts = self._segments.finish_committed()
        self._agreement = LocalAgreement()
        if end is not None:
            self._buffer.drop_before(round(end * SAMPLE_RATE))
        return transcripts

    def _source_words(self, hypothesis: Hypothesis) -> tuple[Word, ...]:
        """Return the hypothesis in source time, within the buffer, without control characters and loops."""
        start, end = self._buffer.start, self._buffer.end
        words: list[Word] = []
        for word in hypothesis.words:
            text = one_line(word.text)
            if is_spoken(text):
                first = min(max(start + word.start, start), end)
                words.append(Word(text, first, min(max(start + word.end, first), end), word.probability))
        return drop_loops(words)

    def _stalled(self) -> bool:
        """Return whether speech goes on and the words have stopped; the buffer is then cut at their end.

        Whisper sometimes ends a window early, and every later pass over the same sound would do the same.
        """
        end = self._agreement.committed_end
        return end is not None and not self._agreement.tail and self._buffer.end - end > STALL

    def _trim(self, segment_ends: Sequence[float]) -> tuple[Word, ...]:
        """Shorten the buffer; return words that had to be committed without agreement because it is full."""
        forced: tuple[Word, ...] = ()
        cut = self._trimming_point(segment_ends)
        if cut is None and self._buffer.full:
            forced = self._agreement.commit(self._forced_words())
            cut = self._trimming_point(()) or self._buffer.start + self._recogniser.maximum_length / 2
        if cut is not None:
            self._prompt.extend(self._agreement.forget_before(cut))
            self._buffer.drop_before(round(cut * SAMPLE_RATE))
        return forced

    def _trimming_point(self, segment_ends: Sequence[float]) -> float | None:
        """Return a time before which all is committed: the end of a segment of the recogniser, or of the last word.

        It is earlier by the sound that the recogniser wants before what is not committed.
        """
        words = self._agreement.heard
        newest, start = self._agreement.committed_end or 0.0, self._buffer.start
        ends = [word.end for word in words if word.end <= newest - self._recogniser.left_context]
        committed_end = max(ends, default=0.0)
        if committed_end <= start + self.step:
            return None
        # The recogniser's last segment is still growing, so its end is no boundary yet.
        boundaries = [start + end for end in segment_ends[:-1] if self.step < end <= committed_end - start]
        if boundaries:
            return boundaries[-1]
        following = next((word.start for word in words if word.end > committed_end), committed_end)
        return max(committed_end, min((committed_end + following) / 2, committed_end + 0.2))

    def _forced_words(self) -> int:
        """Count the uncommitted words without the last, which may be cut off, unless it ended long ago."""
        tail = self._agreement.tail
        last_is_old = bool(tail) and tail[-1].end < self._buffer.start + self._recogniser.maximum_length / 2
        return len(tail) if last_is_old else max(len(tail) - 1, 0)


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
        self.language: str | None = None
        """Code of the text's language; None as long as it is unknown."""

    def go_on_in(self, language: str | None) -> None:
        """Take the language of the words to come; a text in another one is no prompt for them."""
        if language is not None:
            if self.language not in (None, language):
                self.clear()
            self.language = language

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
