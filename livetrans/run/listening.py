"""The listening side of a run: a source and what makes transcripts of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from livetrans.clock import Clock
from livetrans.config import Settings
from livetrans.errors import UsageError
from livetrans.events import AudioChunk, Gap, Notice, SourceProgress, Transcript
from livetrans.run.publisher import Publish

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource
    from livetrans.speech.gate import VoiceActivityGate
    from livetrans.speech.recorded import RecordedTranscripts
    from livetrans.speech.transcriber import Transcriber

OnAudio = Callable[[AudioChunk], None]

PROGRESS_INTERVAL = 0.5
"""Source time between two progress events: often enough for a level meter."""
_FULL_SCALE = 32768.0


@dataclass(frozen=True, slots=True)
class Listening:
    """The listening side, ready to run."""

    transcripts: Iterator[Transcript]
    """In order; ends when the source does, or soon after `close`."""
    pause: Callable[[bool], None]
    close: Callable[[], None]
    """Ends the source soon, from any thread, any number of times."""


def open_audio(
    source: AudioSource, settings: Settings, clock: Clock, publish: Publish, on_audio: OnAudio | None = None
) -> Listening:
    """Sound through the voice-activity gate and the recogniser, which is loaded here.

    Raises:
        ModelError: the recogniser cannot be used.
    """
    from livetrans.speech.gate import VoiceActivityGate
    from livetrans.speech.recogniser import open_recogniser
    from livetrans.speech.transcriber import Transcriber

    if settings.recogniser is None:
        raise UsageError("sound needs a recogniser; name one with --asr")
    publish(Notice("info", f"loading the recogniser {settings.recogniser.model.name} …"))
    try:
        recogniser = open_recogniser(settings.recogniser)
    except BaseException:
        source.close()
        raise
    gate, transcriber = VoiceActivityGate(settings.gate), Transcriber(recogniser, settings.transcriber, clock)
    return Listening(listen(source, gate, transcriber, publish, on_audio), source.pause, source.close)


def open_recorded(source: RecordedTranscripts, publish: Publish) -> Listening:
    """A recorded transcript stream, which needs no recogniser."""

    def transcripts() -> Iterator[Transcript]:
        for transcript in source:
            publish(SourceProgress(transcript.end, source.duration, not transcript.final))
            yield transcript

    return Listening(transcripts(), source.pause, source.close)


def listen(
    source: AudioSource,
    gate: VoiceActivityGate,
    transcriber: Transcriber,
    publish: Publish,
    on_audio: OnAudio | None = None,
) -> Iterator[Transcript]:
    """Transcripts of a source, in order; the speech so far is finished even when the source fails."""

    def progress(level: float = 0.0) -> SourceProgress:
        return SourceProgress(
            heard=heard,
            total=source.duration,
            speaking=speaking,
            level=level,
            skipped=source.skipped,
            passes=transcriber.passes,
            recognition_seconds=transcriber.recognition_seconds,
        )

    failure: Exception | None = None
    chunks = iter(source)
    heard = 0.0
    reported = -1.0
    speaking = False
    while True:
        try:
            chunk = next(chunks, None)
        except Exception as error:
            failure = error
            chunk = None
        if chunk is None:
            break
        if on_audio:
            on_audio(chunk)
        heard = chunk.end
        for speech in gate.feed(chunk):
            speaking = not speech.pause
            yield from transcriber.feed(speech)
        if heard - reported >= PROGRESS_INTERVAL:
            reported = heard
            publish(progress(_level(chunk)))
    for speech in gate.flush():
        yield from transcriber.feed(speech)
    yield from transcriber.flush()
    speaking = False
    publish(progress())
    if failure:
        raise failure


def _level(chunk: AudioChunk) -> float:
    if not len(chunk.samples):
        return 0.0
    return math.sqrt(float(np.mean(np.square(chunk.samples.astype(np.float32) / _FULL_SCALE))))


class PostponedNotices:
    """Keeps a source's notices and gaps until the run that publishes them begins: a source is opened before its run."""

    def __init__(self) -> None:
        self._waiting: list[Notice | Gap] = []
        self._publish: Publish | None = None

    def __call__(self, notice: Notice | Gap) -> None:
        if self._publish:
            self._publish(notice)
        else:
            self._waiting.append(notice)

    def publish_to(self, publish: Publish) -> None:
        self._publish = publish
        for notice in self._waiting:
            publish(notice)
        self._waiting.clear()
