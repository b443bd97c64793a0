"""The listening side of a run: a source and what makes transcripts of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livetrans.audio.capture import level_of
from livetrans.clock import Clock
from livetrans.events import SAMPLE_RATE, AudioChunk, Gap, Notice, Origin, SourceProgress, SpeechChunk, Transcript
from livetrans.run.publisher import Publish
from livetrans.speech.transcriber import ONLY_LAST_PASSES

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource, Extent
    from livetrans.speech.gate import VoiceActivityGate
    from livetrans.speech.recogniser import Recogniser
    from livetrans.speech.transcriber import Transcriber

OnAudio = Callable[[AudioChunk], None]
Passing = Callable[[AudioChunk], Iterable[AudioChunk]]
"""Takes the sound of a track, and returns what goes on to the gate by now."""
Rest = Callable[[], Iterable[AudioChunk]]
"""Returns what has not gone on at the end."""

PROGRESS_INTERVAL = 0.5
"""Source time between two progress events: often enough for a level meter."""
_AWAITED_SECONDS = 0.5
"""Seconds after which a source that gives nothing has no sound that waits."""


class Listener:
    """How far the listening is, and what it leaves out; shared by its thread and the one that watches the run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._change = threading.Condition()
        self._holds = False
        self.closed = False
        self._heard_at: float | None = None
        self._awaited_at: float | None = None
        self.pass_factor = 1
        """Factor on the new sound that the recogniser takes per pass."""
        self.pass_began: Callable[[], float | None] = lambda: None
        """When the pass began that is not done yet; None between passes."""
        self.waits_from: Callable[[], float | None] = lambda: None
        """When the oldest sound was captured that waits in any of several tracks."""

    @property
    def step_factor(self) -> int:
        """The factor that holds: in a run that ends, the recogniser makes the last passes alone."""
        return ONLY_LAST_PASSES if self.closed else self.pass_factor

    @property
    def behind(self) -> float:
        """Seconds since the oldest sound was captured that waits for the recogniser; 0 for sound that is not live."""
        with self._change:
            now = self._clock.now()
            heard_at, waits_from = self._heard_at, self.waits_from()
            if self._awaited_at is not None and now - self._awaited_at > _AWAITED_SECONDS:
                heard_at = None
        return max(0.0, now - min((at for at in (heard_at, waits_from) if at is not None), default=now))

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

    def await_chunk(self) -> None:
        """Note that the listening thread waits for its source; while it is held, wait here."""
        with self._change:
            self._change.wait_for(lambda: self.closed or not self._holds)
            self._awaited_at = self._clock.now()

    def begin_chunk(self, chunk: AudioChunk) -> None:
        """Note the sound that the listening thread works on."""
        with self._change:
            self._awaited_at = None
            self._heard_at = None if chunk.captured_at is None else chunk.captured_at - len(chunk.samples) / SAMPLE_RATE

    def end_chunk(self, chunk: AudioChunk) -> None:
        """Note that all of this sound is recognised, or in the recogniser's buffer."""
        with self._change:
            self._heard_at = chunk.captured_at


@dataclass(frozen=True, slots=True)
class Listening:
    """The listening side, ready to run."""

    transcripts: Iterator[Transcript]
    """In order; ends when the source does, or soon after `close`."""
    pause: Callable[[bool], None]
    close: Callable[[], None]
    """Ends the source soon, from any thread, any number of times."""
    listener: Listener | None = None
    """None for a recorded stream, which has no sound to be behind with."""
    listen_for: Callable[[str | None], None] = lambda language: None
    """Expect a spoken language by its code, or detect it, from any thread; a recorded stream has none to choose."""
    origin: Origin | None = None


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


class Hearing:
    """One track at work: what its gate and transcriber make of its sound, with its progress."""

    def __init__(
        self,
        source: Extent,
        stages: Stages,
        publish: Publish,
        passing: Passing = lambda chunk: (chunk,),
        rest: Rest = tuple,
        begin: int = 0,
    ) -> None:
        """`begin`: the sample before which sound only prepares the gate, whose detector adapts to it."""
        self._source = source
        self._gate, self._transcriber = stages.gate, stages.transcriber
        self._track, self._language = stages.track, stages.language
        self._publish = publish
        self._passing, self._rest = passing, rest
        self._begin = begin
        self._heard = 0.0
        self._reported = -1.0
        self._speaking = False

    def take(self, chunk: AudioChunk, step_factor: int = 1) -> Iterator[Transcript]:
        """Take sound; yield the updates that follow."""
        self._transcriber.step_factor = step_factor
        for passed in self._passing(chunk):
            yield from self._take(passed)

    def finish(self, step_factor: int) -> Iterator[Transcript]:
        """Yield the last updates; where the recogniser fails, the speech so far is finished without it.

        Raises:
            Exception: what the recogniser raised, after that.
        """
        self._transcriber.step_factor = step_factor
        try:
            yield from self.end()
        except Exception:
            yield from self.end(recognise=False)
            raise

    def end(self, *, recognise: bool = True) -> Iterator[Transcript]:
        """Yield the last updates; without `recognise` the words of the last pass become final."""
        if recognise:
            for rest in self._rest():
                yield from self._take(rest)
            yield from self._heard_in(self._gate.flush())
        yield from self._named(self._transcriber.flush(recognise=recognise))
        self._speaking = False
        self._publish(self._progress())

    def _take(self, chunk: AudioChunk) -> Iterator[Transcript]:
        self._heard = chunk.end
        yield from self._heard_in(self._gate.feed(chunk))
        if chunk.start_sample >= self._begin and self._heard - self._reported >= PROGRESS_INTERVAL:
            self._reported = self._heard
            self._publish(self._progress(level_of(chunk.samples)))

    def _heard_in(self, chunks: Iterable[SpeechChunk]) -> Iterator[Transcript]:
        for speech in chunks:
            if speech.start_sample >= self._begin:
                self._speaking = not speech.pause
                yield from self._named(self._transcriber.feed(speech))

    def _named(self, transcripts: list[Transcript]) -> Iterable[Transcript]:
        if self._track is None:
            return transcripts
        return [
            replace(transcript, track=self._track, language=transcript.language or self._language)
            for transcript in transcripts
        ]

    def _progress(self, level: float = 0.0) -> SourceProgress:
        return SourceProgress(
            heard=self._heard,
            total=self._source.duration,
            speaking=self._speaking,
            level=level,
            skipped=self._source.skipped,
            passes=self._transcriber.passes,
            recognition_seconds=self._transcriber.recognition_seconds,
            track=self._track,
        )


def listen(
    source: AudioSource, hearing: Hearing, listener: Listener, on_audio: OnAudio = lambda chunk: None
) -> Iterator[Transcript]:
    """Yield the transcripts of a source, in order, as `listen_to_tracks` does; `on_audio` gets its sound before."""

    def sound() -> Iterator[tuple[Hearing, AudioChunk]]:
        for chunk in source:
            on_audio(chunk)
            yield hearing, chunk

    return listen_to_tracks(sound(), [hearing], listener)


def listen_to_tracks(
    sound: Iterable[tuple[Hearing, AudioChunk | None]], tracks: Sequence[Hearing], listener: Listener
) -> Iterator[Transcript]:
    """Yield the transcripts of all tracks; if a source or the recogniser fails, finish the speech so far.

    `sound` gives each chunk with its track, and None behind the last of a track that ends before the others.
    """
    failure: Exception | None = None
    unfinished = list(tracks)
    try:
        listener.await_chunk()
        for track, chunk in sound:
            if chunk is None:
                unfinished.remove(track)
                yield from track.finish(listener.step_factor)
                continue
            listener.begin_chunk(chunk)
            yield from track.take(chunk, listener.step_factor)
            listener.end_chunk(chunk)
            listener.await_chunk()
    except Exception as error:
        failure = error
    for track in unfinished:
        try:
            yield from track.finish(listener.step_factor)
        except Exception as error:
            failure = failure or error
    if failure:
        raise failure


class PostponedNotices:
    """A source's notices and gaps until the run that publishes them begins: a source is opened before its run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Notice | Gap] = []
        self._publish: Callable[[Notice | Gap], None] | None = None

    def __call__(self, notice: Notice | Gap) -> None:
        with self._lock:
            publish = self._publish
            if publish is None:
                self._waiting.append(notice)
        if publish is not None:
            publish(notice)

    def publish_to(self, publish: Callable[[Notice | Gap], None]) -> None:
        """Publish what waits, and from then on each notice as it comes."""
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, []
                if not waiting:
                    self._publish = publish
                    return
            for notice in waiting:
                publish(notice)
