"""A live run in threads over scripted speech: its source, gate, recogniser and translator may fail on schedule."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.languages import parse_language
from livetrans.config import Settings, TranscriberSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, Caption, Record, SpeechChunk, Transcript, Word
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.run.listening import Listening, OnAudio, Stages, TrackStages
from livetrans.run.opening import from_tracks, reloading_once
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish
from livetrans.run.speedup import SpeedupSampler
from livetrans.run.tracks import QueuedSource, Track
from livetrans.run.translating import Lane, Translating
from livetrans.speech.transcriber import Transcriber
from livetrans.translation.presenter import Presenter
from livetrans.translation.prompting import Prompts
from livetrans.translation.translator import Translator
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, word_by_word_rule
from tests.speech.scripted import ScriptedRecogniser, speak

from .faults import FaultyModel, FaultyRecogniser, FaultySource, ScaledClock, Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPEED = 20.0
"""The run's clock against the machine's: a minute of speech takes three seconds."""
CHUNK = 0.1
PAUSE = 0.6
PROMPT = Prompt("plain", (BEGIN, SOURCE), (TARGET,), False)


def sentences(count: int, words: int = 6) -> list[Word]:
    """Words of 0.3 s; a full stop and a pause after each sentence."""
    spoken, at = [], 0.2
    for number in range(count):
        for index in range(words):
            spoken.append(Word(f"w{number}x{index}" + ("." if index == words - 1 else ""), at, at + 0.3))
            at += 0.3
        at += PAUSE + 0.3
    return spoken


def finals_of(words: list[Word]) -> list[str]:
    """Return what a run shows of them."""
    return [line.strip() + "." for line in " ".join(word.text for word in words).upper().split(".") if line.strip()]


def updates(texts: list[str]) -> list[Transcript]:
    """Every text word by word, then its final."""
    transcripts = []
    for segment, text in enumerate(texts):
        words, start = text.split(), segment * 9.0
        for count in range(1, len(words) + 1):
            committed, partial = " ".join(words[: count - 1]), words[count - 1]
            transcripts.append(Transcript(segment, count - 1, committed, partial, False, start, start + count))
        transcripts.append(Transcript(segment, len(words), text, "", True, start, start + len(words)))
    return transcripts


def scripted_translating(
    model: LanguageModel, language: str | None = None, sampler: SpeedupSampler | None = None
) -> Translating:
    """The translating side of a run over a scripted model."""
    return Translating([scripted_lane(model, PROMPT, language)], {}, model.close, sampler)


def scripted_lane(model: LanguageModel, prompt: Prompt, language: str | None = None) -> Lane:
    """A lane with one prompt."""
    prompts = Prompts(model, prompt, (parse_language("en"), parse_language(language or "de")), room=0)
    prompts.choose = lambda transcript, terms=None: prompt  # type: ignore[method-assign]
    return Lane((Translator(model), prompts, Presenter(text_of_tokens(model))), language)


def scripted_lanes(model: LanguageModel, languages: Sequence[str]) -> list[Lane]:
    """A lane for each language, whose prompts have its code behind their beginning."""
    lanes = []
    for number, code in enumerate(languages):
        context = model.another_context() if number else model
        prompt = Prompt("chat", (BEGIN, *context.tokenize(code), SOURCE), (TARGET,), False)
        lanes.append(scripted_lane(context, prompt, code))
    return lanes


def into_languages(
    model: ScriptedModel, context: Sequence[int], *, certainty: float = 6.0, unsure_of_last: bool = False
) -> NDArray[np.float32]:
    """A rule for `scripted_lanes`: each word with the code of the language behind it."""
    code = model.word(context[1])
    rule = word_by_word_rule(lambda word: f"{word}~{code}", certainty=certainty, unsure_of_last=unsure_of_last)
    return rule(model, context)


def sound_of(words: Sequence[Word], length: float) -> NDArray[np.int16]:
    """Return the words' sound, to `length` seconds."""
    return speak(words, words[-1].end + 2.0)[: round(length * SAMPLE_RATE)]


class Played:
    """A source of samples, as fast as they are taken; it may fail behind them."""

    skipped = 0.25

    def __init__(self, samples: NDArray[np.int16], chunk: int = 1600, failure: Exception | None = None) -> None:
        self.samples, self._chunk, self._failure = samples, chunk, failure
        self.duration = len(samples) / SAMPLE_RATE

    def __iter__(self) -> Iterator[AudioChunk]:
        for start in range(0, len(self.samples), self._chunk):
            yield AudioChunk(self.samples[start : start + self._chunk], start)
        if self._failure:
            raise self._failure

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None: ...


class Spoken:
    """A source of live sound: a chunk when the clock reaches its end, whoever listens."""

    skipped = 0.0

    def __init__(self, words: list[Word], clock: Clock) -> None:
        self._samples = speak(words, words[-1].end + 1.0)
        self._clock = clock
        self._closed = False
        self.duration = len(self._samples) / SAMPLE_RATE

    def __iter__(self) -> Iterator[AudioChunk]:
        began = self._clock.now()
        length = round(CHUNK * SAMPLE_RATE)
        for start in range(0, len(self._samples), length):
            samples = self._samples[start : start + length]
            due = began + (start + len(samples)) / SAMPLE_RATE
            self._clock.sleep(due - self._clock.now())
            if self._closed:
                return
            yield AudioChunk(samples, start, due)

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None:
        self._closed = True


class SilenceGate:
    """Lets everything but silence through; `PAUSE` seconds of silence end a stretch."""

    def __init__(self) -> None:
        self._silent = PAUSE

    def feed(self, chunk: AudioChunk) -> list[SpeechChunk]:
        length = round(CHUNK * SAMPLE_RATE)
        chunks = []
        for begin in range(0, len(chunk.samples), length):
            samples, start = chunk.samples[begin : begin + length], chunk.start_sample + begin
            end = start + len(samples)
            at = None if chunk.captured_at is None else chunk.captured_at - (chunk.end - end / SAMPLE_RATE)
            was_open = self._silent < PAUSE
            self._silent = 0.0 if samples.any() else self._silent + len(samples) / SAMPLE_RATE
            if self._silent < PAUSE:
                chunks.append(SpeechChunk(samples, start, False, at))
            elif was_open:
                chunks.append(SpeechChunk(np.zeros(0, np.int16), start, True, at))
        return chunks

    def flush(self) -> list[SpeechChunk]:
        return []


class Collected:
    """A sink that collects records, and may fail at an event of some kind."""

    def __init__(self, fail_at: type | None = None, error: BaseException | None = None) -> None:
        self.records: list[Record] = []
        self.closed = 0
        self._fail_at = fail_at
        self._error = error
        self.changed = threading.Condition()

    def write(self, record: Record) -> None:
        if self._error and self._fail_at and isinstance(record.event, self._fail_at):
            raise self._error
        with self.changed:
            self.records.append(record)
            self.changed.notify_all()

    def close(self) -> None:
        self.closed += 1

    def of(self, kind: type | tuple[type, ...]) -> list:  # type: ignore[type-arg]
        return [record.event for record in self.records if isinstance(record.event, kind)]

    def wait_for(self, kind: type) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.of(kind), 20), f"no {kind.__name__} came"


class Stalled(Collected):
    """A sink on a disk that stalls at the first record until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.stalls, self.released = threading.Event(), threading.Event()

    def write(self, record: Record) -> None:
        self.stalls.set()
        assert self.released.wait(20)
        super().write(record)


@dataclass
class ScriptedRun:
    """A live run of `words`, with a schedule of faults for each stage."""

    words: list[Word]
    clock: Clock = field(default_factory=lambda: ScaledClock(SystemClock(), SPEED))
    source: Schedule | None = None
    recogniser: Schedule | None = None
    translator: Schedule | None = None
    settings: Settings = field(default_factory=Settings)
    collected: Collected = field(default_factory=Collected)
    likelihood: Callable[[str], float] | None = None
    """What the recogniser tells of other texts."""

    def __post_init__(self) -> None:
        self.source = self.source or Schedule(self.clock)
        self.recogniser = self.recogniser or Schedule(self.clock)
        self.translator = self.translator or Schedule(self.clock)
        self.pipeline = Pipeline(self.settings, self._listening, self._translating, self.clock, [self.collected])

    def run(self) -> None:
        """Run to the end.

        Raises:
            BaseException: what made the run fail.
        """
        self.pipeline.start()
        assert self.pipeline.join(60), "the run did not end"

    @property
    def heard(self) -> list[str]:
        """Finals of the recogniser, in order."""
        return [event.text.upper() for event in self.collected.of(Transcript) if event.final]

    @property
    def shown(self) -> list[str]:
        """Finals of the screen, in order."""
        return [event.text for event in self.collected.of(Caption) if event.final]

    def _listening(self, publish: Publish, on_audio: OnAudio) -> Listening:
        assert self.source and self.recogniser
        change = threading.Condition()
        speaker = FaultySource(Spoken(self.words, self.clock), self.source)
        source = QueuedSource(speaker, publish, on_audio, change=change)
        schedule = self.recogniser
        scripted = ScriptedRecogniser(self.words)
        scripted.likelihood = self.likelihood
        recogniser = FaultyRecogniser(scripted, schedule)
        reload = reloading_once("recogniser", [recogniser], publish)
        transcriber = Transcriber(recogniser, TranscriberSettings(), self.clock, reload=reload)
        stages = Stages(SilenceGate(), transcriber, recogniser)  # type: ignore[arg-type]
        track = Track(source, TrackStages(source, stages, publish))
        return from_tracks([track], change, self.clock, publish)

    def _translating(self, publish: Publish) -> Translating:
        assert self.translator
        model = FaultyModel(ScriptedModel(word_by_word_rule(unsure_of_last=False)), self.translator)
        return replace(scripted_translating(model), reload=reloading_once("translator", [model], publish))


def no_thread_left() -> bool:
    """Return whether the run's threads have ended, or do soon."""
    names = {"listening", "translating", "capturing", "watching", "ending"}
    for thread in threading.enumerate():
        if thread.name in names:
            thread.join(20)
    return not any(thread.name in names for thread in threading.enumerate())
