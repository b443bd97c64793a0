"""The stages in a row, without threads: what the pipeline runs in two threads and `--speed max` in one plain loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from livetrans.errors import ContextError
from livetrans.events import AudioChunk, Caption, Event, Notice, SourceProgress, SpeechChunk, Transcript, Translation

if TYPE_CHECKING:
    from livetrans.audio.source import AudioSource

Publish = Callable[[Event], None]

PROGRESS_INTERVAL = 0.5
"""Source time between two reports of how much was heard: often enough for a level meter."""
_FULL_SCALE = 32768.0


class Gate(Protocol):
    """What listening needs of the voice-activity gate."""

    def feed(self, chunk: AudioChunk) -> list[SpeechChunk]: ...

    def flush(self) -> list[SpeechChunk]: ...


class Transcribing(Protocol):
    """What listening needs of the transcriber."""

    passes: int
    recognition_seconds: float

    def feed(self, chunk: SpeechChunk) -> list[Transcript]: ...

    def flush(self) -> list[Transcript]: ...


class Translating(Protocol):
    """What translating needs of the translator."""

    def feed(self, transcript: Transcript) -> list[Translation]: ...


class Presenting(Protocol):
    """What translating needs of the presenter."""

    def feed(self, translation: Translation, transcript: Transcript) -> list[Caption]: ...


def listen(
    source: AudioSource,
    gate: Gate,
    transcriber: Transcribing,
    publish: Publish,
    on_audio: Callable[[AudioChunk], None] | None = None,
) -> Iterator[Transcript]:
    """Transcripts of a source, in order; whatever was heard is finished even when the source fails."""

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

    failure: BaseException | None = None
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


def translate(translator: Translating, presenter: Presenting, transcript: Transcript, publish: Publish) -> None:
    """Translate and present one update; a final that does not fit in the model's context is shown as it was said."""
    try:
        translations = translator.feed(transcript)
    except ContextError as error:
        if transcript.final:
            publish(Notice("warning", f"Shown untranslated: {error}."))
            publish(_untranslated(transcript))
        return
    for translation in translations:
        publish(translation)
        for caption in presenter.feed(translation, transcript):
            publish(caption)


def _untranslated(transcript: Transcript) -> Caption:
    return Caption(
        segment_id=transcript.segment_id,
        revision=transcript.revision,
        final=transcript.final,
        text=transcript.text,
        source=transcript.text,
        committed_source=transcript.committed,
        tokens=(),
        accepted_characters=0,
        masked_tokens=0,
        start=transcript.start,
        end=transcript.end,
        captured_at=transcript.captured_at,
    )
