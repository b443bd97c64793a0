"""Finishing a session: what was recognised and not translated, then sound that was recorded and not recognised.

An interrupted segment is done again from its beginning, silently up to what was shown: its draft grows as it did.
Recognition begins again at the last pause before which everything is recorded: there its state is known, the number of
segments and the words before. The gate is fed from the beginning, because its detector adapts to what it has heard. So
the finals equal an uninterrupted run's if its passes fell on the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from typing import TYPE_CHECKING

from livetrans.audio.bleed import BleedFilter
from livetrans.events import SAMPLE_RATE, AudioChunk, Caption, Event, Transcript, Translation, Word
from livetrans.run.listening import Listening, OnAudio, Stages, TrackStages
from livetrans.run.publisher import Publish
from livetrans.run.runner import PlainLoop
from livetrans.run.translating import Translating
from livetrans.session.recorded import Unfinished
from livetrans.speech.transcriber import LONG_SILENCE

if TYPE_CHECKING:
    from livetrans.speech.gate import VoiceActivityGate

_SAME_END = 0.3
"""Seconds: a final that ends this near to the last one that was shown is the same one."""
_ROUNDING = 1e-3
"""Seconds; times in a session are rounded."""

_AHEAD = 0.5
"""Seconds by which what was played is known before what the microphone heard."""

OpenSound = Callable[[], Iterator[AudioChunk]]
OpenStages = Callable[[Publish], Stages]
"""Loads the recogniser; called only where there is sound to recognise."""
OpenGate = Callable[[], "VoiceActivityGate"]


class Resuming(PlainLoop):
    """A plain loop that publishes the finals that were not shown; all other updates only prepare their drafts."""

    remainder: Remainders
    """Set before the run starts."""

    def _take(self, transcript: Transcript, translating: Translating) -> None:
        if not transcript.final or transcript.segment_id in self.remainder.silent:
            translating.translate(transcript, self.settings, lambda event: None)
            return
        shown_in = self.remainder.shown_in.get(transcript.segment_id, ())

        def publish(event: Event) -> None:
            if not (isinstance(event, Translation | Caption) and event.language in shown_in):
                self.publish(event)

        publish(transcript)
        translating.translate(transcript, self.settings, publish)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """Where recognition begins again."""

    sample: int
    """First sample of the stretch of speech."""
    previous_end: int
    """Last sample of the stretch before."""
    context_from: float
    """Source time since which no silence was long enough to change the subject."""


class Remainder:
    """What a session of one track lacks, or one track of a session."""

    def __init__(
        self,
        unfinished: Unfinished,
        open_gate: OpenGate,
        open_stages: OpenStages,
        fresh: Iterator[int] | None = None,
    ) -> None:
        """`fresh` gives the ids of new segments, where tracks share one."""
        self._unfinished = unfinished
        self._fresh = fresh
        self._open_gate = open_gate
        self._open_stages = open_stages
        self.duration, self.skipped = unfinished.total, 0.0
        self.is_closed = False
        self.silent = set(unfinished.captioned)
        """Segments that only prepare the translator."""
        self.shown_in = dict(unfinished.shown_in)
        """Of the others, the languages in which their finals were shown."""
        shown = [final for final in unfinished.finals if final.segment_id in unfinished.captioned]
        self._last_shown = shown[-1] if shown else None
        self._next_number = max(unfinished.captioned, default=-1)

    @property
    def is_empty(self) -> bool:
        """Whether the session lacks nothing."""
        return self._beginning is None and all(update.segment_id in self.silent for update in self._updates())

    def _updates(self) -> Iterator[Transcript]:
        until = math.inf if self._beginning is None else self._beginning.sample / SAMPLE_RATE
        return self._unfinished.updates(until)

    def transcripts(self, publish: Publish) -> Iterator[Transcript]:
        """Yield the updates to translate, until the end or until `is_closed` is set."""
        for update in self._updates():
            if self.is_closed:
                return
            yield update
        if self._beginning is not None:
            yield from self._recognised(self._beginning, publish)

    @cached_property
    def _beginning(self) -> _Beginning | None:
        """The first stretch of speech whose end was not heard; None where all was."""
        if self._unfinished.sound is None:
            return None
        heard = self._unfinished.heard + _ROUNDING
        gate = self._open_gate()
        open_from: int | None = None
        previous_end, context_from = 0, 0.0
        sample = 0
        for chunk in self._unfinished.sound():
            for speech in gate.feed(chunk):
                if len(speech.samples) and open_from is None:
                    open_from = speech.start_sample
                    if open_from - previous_end > LONG_SILENCE * SAMPLE_RATE:
                        context_from = open_from / SAMPLE_RATE
                if speech.pause and chunk.end <= heard:
                    open_from, previous_end = None, speech.start_sample + len(speech.samples)
            sample = chunk.start_sample + len(chunk.samples)
            if chunk.end > heard and open_from is not None:
                break
        if open_from is None:
            return None
        if self._unfinished.ended and sample / SAMPLE_RATE <= heard:
            return None  # The end of the source ended the stretch.
        return _Beginning(open_from, previous_end, context_from)

    def _recognised(self, beginning: _Beginning, publish: Publish) -> Iterator[Transcript]:
        """Yield the updates of the sound from there on, as soon as finals say which of their segments were shown."""
        stages = self._open_stages(publish)
        before = [final for final in self._unfinished.finals if final.end * SAMPLE_RATE <= beginning.sample]
        words = [
            Word(word, final.start, final.end)
            for final in before
            if final.start >= beginning.context_from
            for word in final.text.split()
        ]
        first_id = max((final.segment_id for final in before), default=-1) + 1
        stages.transcriber.restore(self._ids_after(first_id - 1), words, beginning.previous_end)
        updates: list[Transcript] = []
        numbers: dict[int, int] = {}
        for transcript in self._heard_again(stages, beginning.sample, publish):
            updates.append(transcript)
            if transcript.final:
                numbers[transcript.segment_id] = self._number(transcript)
            if all(update.segment_id in numbers for update in updates):
                yield from (replace(update, segment_id=numbers[update.segment_id]) for update in updates)
                updates = []

    def _heard_again(self, stages: Stages, begin: int, publish: Publish) -> Iterator[Transcript]:
        at_work = TrackStages(self, stages, publish, begin=begin)
        assert self._unfinished.sound is not None
        for chunk in self._unfinished.sound():
            if self.is_closed:
                return
            yield from at_work.take(chunk)
        yield from at_work.end()

    def _ids_after(self, number: int) -> Iterator[int]:
        """Return the ids of the session's segments after this one, then new ones."""
        if self._fresh is None:
            return count(number + 1)
        return chain(sorted(one for one in self._unfinished.segments if one > number), self._fresh)

    def _number(self, final: Transcript) -> int:
        """Return the id of a segment that was recognised again: a new one where it was not shown before."""
        last = self._last_shown
        if last is not None and final.end <= last.end + _SAME_END:
            number = min(final.segment_id, last.segment_id)
            self.silent.add(number)
        elif last is not None and final.start < last.end - _SAME_END:
            # Where passes were not on the step, a final that ends later may hold words of the last one: it replaces it.
            number = last.segment_id
            self.silent.discard(number)
        else:
            number = final.segment_id
            if number <= self._next_number:
                number = next(self._ids_after(self._next_number))
            self._next_number = number
        if not any((one.segment_id, one.text) == (number, final.text) for one in self._unfinished.finals):
            self.shown_in.pop(number, None)  # Other words were recognised now: they are shown in every language.
        return number


def without_bleed(played: OpenSound, heard: OpenSound) -> Iterator[AudioChunk]:
    """Yield the recorded sound of the microphone as the run heard it: without what the computer played."""
    bleed = BleedFilter()
    theirs, end = played(), 0.0
    for chunk in heard():
        while end < chunk.end + _AHEAD and (other := next(theirs, None)):
            bleed.feed_played(other)
            end = other.end
        yield from bleed.feed(chunk)
    yield from bleed.flush()


class Remainders:
    """What a session lacks, of one track after the other, as the listening side of a run."""

    def __init__(self, parts: Sequence[Remainder]) -> None:
        self._parts = parts
        self.is_empty = all(part.is_empty for part in parts)
        # One of each for all: ids are unique over tracks, and each part goes on adding and removing its own.
        self.silent = set(chain.from_iterable(part.silent for part in parts))
        self.shown_in = {segment: codes for part in parts for segment, codes in part.shown_in.items()}
        for part in parts:
            part.silent, part.shown_in = self.silent, self.shown_in

    def open_listening(self, publish: Publish, on_audio: OnAudio) -> Listening:
        transcripts = chain.from_iterable(part.transcripts(publish) for part in self._parts)
        return Listening(transcripts, lambda paused: None, self._close)

    def _close(self) -> None:
        for part in self._parts:
            part.is_closed = True
