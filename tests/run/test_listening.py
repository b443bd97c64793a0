"""Listening as one row of stages: the speech so far is finished, whatever happens to the source."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from livetrans.clock import ManualClock
from livetrans.config import TranscriberSettings
from livetrans.errors import SourceError
from livetrans.events import SAMPLE_RATE, AudioChunk, Event, SourceProgress, SpeechChunk, Word
from livetrans.run.listening import listen
from livetrans.speech.transcriber import Transcriber
from tests.speech.scripted import ScriptedRecogniser, speak

WORDS = (Word("nothing", 0.1, 0.5), Word("is", 0.5, 0.7), Word("lost.", 0.7, 1.2))


class Wide:
    """A gate that lets everything through."""

    def feed(self, chunk: AudioChunk) -> list[SpeechChunk]:
        return [SpeechChunk(chunk.samples, chunk.start_sample, captured_at=chunk.captured_at)]

    def flush(self) -> list[SpeechChunk]:
        return []


class Spoken:
    """A source of spoken words that may fail after its last chunk."""

    duration = 1.5
    skipped = 0.25

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure

    def __iter__(self) -> Iterator[AudioChunk]:
        samples = speak(WORDS, 1.5)
        for start in range(0, len(samples), SAMPLE_RATE // 4):
            yield AudioChunk(samples[start : start + SAMPLE_RATE // 4], start)
        if self._failure:
            raise self._failure

    def pause(self, paused: bool) -> None: ...

    def close(self) -> None: ...


def _listen(source: Spoken, events: list[Event], heard: list[AudioChunk]) -> Iterator[str]:
    transcriber = Transcriber(ScriptedRecogniser(WORDS), TranscriberSettings(adaptive=False), ManualClock())
    for transcript in listen(source, Wide(), transcriber, events.append, heard.append):
        if transcript.final:
            yield transcript.text


def test_what_was_heard_is_finished_before_the_failure_is_raised() -> None:
    events: list[Event] = []
    finals: list[str] = []
    with pytest.raises(SourceError, match="unplugged"):
        for text in _listen(Spoken(SourceError("unplugged; plug it in")), events, []):
            finals.append(text)
    assert finals == ["nothing is lost."]
    assert isinstance(events[-1], SourceProgress)
    assert events[-1].heard == 1.5


def test_progress_and_sound_pass_by() -> None:
    events: list[Event] = []
    heard: list[AudioChunk] = []
    assert list(_listen(Spoken(), events, heard)) == ["nothing is lost."]
    np.testing.assert_array_equal(np.concatenate([chunk.samples for chunk in heard]), speak(WORDS, 1.5))
    progress = [event for event in events if isinstance(event, SourceProgress)]
    assert [one.heard for one in progress] == sorted(one.heard for one in progress)
    assert progress[-1].skipped == 0.25
    assert progress[-1].passes == 2
    assert 0 < max(one.level for one in progress) <= 1
