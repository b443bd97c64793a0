"""The listening side of a run: sources, and the stages that make transcripts of their sound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from livetrans.audio.capture import level_of
from livetrans.base.clock import Clock
from livetrans.base.languages import parse_language
from livetrans.events import SAMPLE_RATE, AudioChunk, Origin, SourceProgress, SpeechChunk, Transcript
from livetrans.names.repair import NameRepairs
from livetrans.run.publisher import Publish
from livetrans.speech.transcriber import ONLY_LAST_PASSES

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource
    from livetrans.speech.between import Conversation
    from livetrans.speech.gate import VoiceActivityGate
    from livetrans.speech.recogniser import Recogniser
    from livetrans.speech.transcriber import Transcriber

Item = TypeVar("Item")
OnAudio = Callable[[AudioChunk], None]
Sound = Iterable[tuple["TrackStages", AudioChunk | None]]
"""Chunks of all tracks with the stages of their track; None after the last chunk of a track that ends first."""


class Filter(Protocol):
    """A filter of the sound of a track, before its gate."""

    def feed(self, chunk: AudioChunk) -> Iterable[AudioChunk]:
        """Take sound; return what is ready of it."""

    def flush(self) -> Iterable[AudioChunk]:
        """Return the sound that is still held: the source has ended."""


PROGRESS_INTERVAL = 0.5
"""Source time between two progress events: often enough for a level meter."""


class ListeningState:
    """Progress of listening and what it leaves out; shared by its thread and the one that watches the run."""

    def __init__(self, clock: Clock, oldest_waiting: Callable[[], float | None] = lambda: None) -> None:
        """`oldest_waiting` returns the capture time of the oldest live sound that waits in a queue."""
        self._clock, self._oldest_waiting = clock, oldest_waiting
        self._change = threading.Condition()
        self._holds = False
        self.closed = False
        self.in_hand: float | None = None
        """Clock time at which the sound that is being recognised was captured; None without any that is live."""
        self.pass_factor = 1
        """Factor on the new sound that the recogniser takes per pass."""

    @property
    def step_factor(self) -> int:
        """The factor in force: in a run that ends, the recogniser makes only the last passes."""
        return ONLY_LAST_PASSES if self.closed else self.pass_factor

    @property
    def behind(self) -> float:
        """Age in seconds of the oldest sound that waits for the recogniser; 0 for sound that is not live."""
        now = self._clock.now()
        instants = (self.in_hand, self._oldest_waiting())
        return max(0.0, now - min((instant for instant in instants if instant is not None), default=now))

    def hold(self, holds: bool) -> None:
        """Take no more sound, or go on; the sound waits meanwhile."""
        with self._change:
            self._holds = holds
            self._change.notify_all()

    def close(self) -> None:
        """Never hold again, and make no partial passes."""
        with self._change:
            self.closed = True
            self._change.notify_all()

    def wait_while_held(self) -> None:
        with self._change:
            self._change.wait_for(lambda: self.closed or not self._holds)


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages that make transcripts of the sound of a track."""

    gate: VoiceActivityGate
    transcriber: Transcriber
    recogniser: Recogniser
    """All tracks share it."""
    track: str | None = None
    """Name of the track; None in a run of one."""
    language: str | None = None
    """Code, written into transcripts that have none."""
    speakers: Mapping[str, str] = field(default_factory=dict)
    """Of a conversation: who speaks, by language; it names the tracks of transcripts."""
    conversation: Conversation | None = None


class TrackStages:
    """The gate and transcriber of a track at work, with its progress."""

    def __init__(self, source: AudioSource, stages: Stages, publish: Publish, passing: Filter | None = None) -> None:
        """`passing` filters the sound first."""
        self.name, self.stages = stages.track, stages
        self._source = source
        self._publish = publish
        self._filter = passing
        self._heard = 0.0
        self._reported = -1.0
        self._speaking = False
        self._has_rest = False
        """Whether a failure left sound of a chunk unheard."""

    def take(self, chunk: AudioChunk, step_factor: int = 1) -> Iterator[Transcript]:
        self.stages.transcriber.step_factor = step_factor
        self._has_rest = True
        for passed in self._filter.feed(chunk) if self._filter else (chunk,):
            yield from self._take(passed)
        self._has_rest = False

    def finish(self, step_factor: int) -> Iterator[Transcript]:
        """Yield the last updates; where the recogniser fails, the speech so far is finished without it.

        Raises:
            Exception: what the recogniser raised, after that.
        """
        self.stages.transcriber.step_factor = step_factor
        try:
            yield from self.end()
        except Exception:
            yield from self.end(recognise=False)
            raise

    def end(self, *, recognise: bool = True) -> Iterator[Transcript]:
        """Yield the last updates; without `recognise` the words of the last pass become final.

        Nothing is heard after sound that was not: resuming goes on where the finals end.
        """
        finishes = recognise and not self._has_rest
        if finishes:
            for rest in self._filter.flush() if self._filter else ():
                yield from self._take(rest)
            yield from self._heard_in(self.stages.gate.flush())
        yield from self._named(self.stages.transcriber.flush(recognise=recognise))
        self._speaking = False
        self._publish(self._progress(finished=finishes))

    def _take(self, chunk: AudioChunk) -> Iterator[Transcript]:
        self._heard = chunk.end
        yield from self._heard_in(self.stages.gate.feed(chunk))
        if self._heard - self._reported >= PROGRESS_INTERVAL:
            self._reported = self._heard
            self._publish(self._progress(level_of(chunk.samples)))

    def _heard_in(self, chunks: Iterable[SpeechChunk]) -> Iterator[Transcript]:
        for speech in chunks:
            self._speaking = not speech.pause
            yield from self._named(self.stages.transcriber.feed(speech))

    def _named(self, transcripts: list[Transcript]) -> Iterable[Transcript]:
        if speakers := self.stages.speakers:
            return [with_speaker(transcript, speakers) for transcript in transcripts]
        if self.name is None:
            return transcripts
        return [
            replace(transcript, track=self.name, language=transcript.language or self.stages.language)
            for transcript in transcripts
        ]

    def _progress(self, level: float = 0.0, *, finished: bool = False) -> SourceProgress:
        transcriber = self.stages.transcriber
        return SourceProgress(
            heard=self._heard,
            total=self._source.duration,
            speaking=self._speaking,
            level=level,
            skipped=self._source.skipped,
            passes=transcriber.passes,
            recognition_seconds=transcriber.recognition_seconds,
            step=transcriber.step,
            track=self.name,
            finished=finished,
        )


def with_speaker(transcript: Transcript, speakers: Mapping[str, str]) -> Transcript:
    """Return a conversation's transcript in the code of its pair, with who speaks; a third language is its own name."""
    if transcript.language is None:
        return transcript
    language = parse_language(transcript.language)
    pair = (code for code in speakers if parse_language(code).whisper_code == language.whisper_code)
    code = next(pair, language.code)
    return replace(transcript, language=code, track=speakers.get(code, language.name))


def sound_of(source: Iterable[AudioChunk], stages: TrackStages, on_audio: OnAudio = lambda chunk: None) -> Sound:
    """Yield the sound of one source; `on_audio` gets each chunk before it is recognised."""
    for chunk in source:
        on_audio(chunk)
        yield stages, chunk


def listen(sound: Sound, tracks: Sequence[TrackStages], state: ListeningState) -> Iterator[Transcript]:
    """Yield the transcripts of all tracks, in order; if a source or the recogniser fails, finish the speech so far.

    Raises:
        Exception: what failed, after that.
    """
    failure: Exception | None = None
    unfinished = list(tracks)
    try:
        state.wait_while_held()
        for stages, chunk in sound:
            if chunk is None:
                unfinished.remove(stages)
                yield from stages.finish(state.step_factor)
                continue
            seconds = len(chunk.samples) / SAMPLE_RATE
            state.in_hand = None if chunk.captured_at is None else chunk.captured_at - seconds
            yield from stages.take(chunk, state.step_factor)
            state.in_hand = None
            state.wait_while_held()
    except Exception as error:
        failure = error
    for stages in unfinished:
        try:
            yield from stages.finish(state.step_factor)
        except Exception as error:
            failure = failure or error
    if failure:
        raise failure


class Source(Protocol):
    """What ends and pauses a listening side, from any thread."""

    def pause(self, paused: bool, /) -> None: ...

    def close(self) -> None:
        """End soon; any number of times."""


class Listening:
    """The listening side of a run, ready. This kind is of recorded transcripts; it hears no sound."""

    listener: ListeningState | None = None
    """What it leaves out and how far behind it is; None without sound."""

    def __init__(self, transcripts: Iterable[Transcript], *sources: Source, origin: Origin | None = None) -> None:
        self.transcripts: Iterator[Transcript] = self._to_the_end(transcripts)
        """In order, up to the end of the sources or soon after `close`."""
        self.origin = origin
        self.came_to_the_end = False
        """Whether the sources ended by themselves, before `close`."""
        self._sources = sources
        self._closed = False

    @property
    def pass_began(self) -> float | None:
        """When the unfinished pass of a recogniser began; None between passes."""
        return None

    def pause(self, paused: bool) -> None:
        for source in self._sources:
            source.pause(paused)

    def close(self) -> None:
        """End the sources soon, from any thread, any number of times."""
        self._closed = True
        for source in self._sources:
            source.close()

    def expect_language(self, language: str | None) -> None:
        """Expect a spoken language by its code, or detect it, from any thread."""

    def be_cautious(self, caution: float) -> None:
        """Show unsure words as the settings of a transcriber say, from any thread."""

    def expect_words(self, words: tuple[str, ...]) -> None:
        """Expect these terms from the next pass on, from any thread."""

    def repair_names(self, repairs: NameRepairs) -> None:
        """Repair names in the recognisers' prompts, and ask the recognisers about names, from the first pass on."""

    def force(self) -> str | None:
        """Force the other language of a conversation on the running stretch, from any thread.

        Return its code; None for one that is taken back, and without a conversation.
        """
        return None

    def _to_the_end(self, items: Iterable[Item]) -> Iterator[Item]:
        yield from items
        self.came_to_the_end = not self._closed


class Hearing(Listening):
    """The listening side of sound: the stages of each track, which share one recogniser."""

    listener: ListeningState

    def __init__(
        self,
        sound: Sound,
        tracks: Sequence[TrackStages],
        clock: Clock,
        *sources: Source,
        origin: Origin | None = None,
        oldest_waiting: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`oldest_waiting` returns the capture time of the oldest live sound that waits in a queue."""
        super().__init__((), *sources, origin=origin)
        self._tracks = tracks
        self.listener = ListeningState(clock, oldest_waiting)
        self.transcripts = listen(self._to_the_end(sound), tracks, self.listener)

    @property
    def pass_began(self) -> float | None:
        instants = (track.stages.transcriber.pass_began for track in self._tracks)
        return next((began for began in instants if began is not None), None)

    def close(self) -> None:
        super().close()
        self.listener.close()

    def expect_language(self, language: str | None) -> None:
        self._tracks[0].stages.recogniser.expect_language(language)

    def be_cautious(self, caution: float) -> None:
        for track in self._tracks:
            track.stages.transcriber.caution = caution

    def expect_words(self, words: tuple[str, ...]) -> None:
        self._tracks[0].stages.recogniser.expect_words(words)

    def repair_names(self, repairs: NameRepairs) -> None:
        for track in self._tracks:
            track.stages.transcriber.names = repairs.of_track(track.name)

    def force(self) -> str | None:
        conversation = self._tracks[0].stages.conversation
        return conversation.force() if conversation else None
