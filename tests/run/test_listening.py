"""Listening as one row of stages: the speech so far is finished, whatever happens to the source."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from livetrans.base.clock import ManualClock
from livetrans.base.errors import SourceError
from livetrans.config import TranscriberSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, Event, SourceProgress, Word
from livetrans.run.listening import Hearing, ListeningState, Stages, TrackStages, listen
from livetrans.run.listening import sound_of as heard_from
from livetrans.run.opening import on_battery
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.transcriber import Transcriber
from tests.speech.scripted import ScriptedRecogniser

from .scripted_run import Played, SilenceGate, sound_of

WORDS = (Word("nothing", 0.1, 0.5), Word("is", 0.5, 0.7), Word("lost.", 0.7, 1.2))


@pytest.mark.parametrize("failing", [None, "source", "filter"])
def test_what_was_heard_is_finished_and_progress_and_sound_pass_by(failing: str | None) -> None:
    failure = SourceError("unplugged; plug it in") if failing else None

    class Passing:
        def feed(self, chunk: AudioChunk) -> tuple[AudioChunk, ...]:
            return (chunk,)

        def flush(self) -> tuple[AudioChunk, ...]:
            if failure and failing == "filter":
                raise failure
            return ()

    source = Played(sound_of(WORDS, 1.5), SAMPLE_RATE // 4, failure if failing == "source" else None)
    recogniser = ScriptedRecogniser(WORDS)
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), ManualClock())
    events: list[Event] = []
    heard: list[AudioChunk] = []
    stages = Stages(SilenceGate(), transcriber, recogniser)  # type: ignore[arg-type]
    track = TrackStages(source, stages, events.append, Passing())
    transcripts = listen(heard_from(source, track, heard.append), [track], ListeningState(ManualClock()))
    finals: list[str] = []
    with pytest.raises(SourceError, match="unplugged") if failure else nullcontext():
        for transcript in transcripts:
            if transcript.final:
                finals.append(transcript.text)
    # Behind a filter that fails the last words are those of the last pass.
    assert finals == (["nothing is lo"] if failing == "filter" else ["nothing is lost."])
    np.testing.assert_array_equal(np.concatenate([chunk.samples for chunk in heard]), source.samples)
    progress = [event for event in events if isinstance(event, SourceProgress)]
    assert events[-1] == progress[-1]
    assert [one.heard for one in progress] == sorted(one.heard for one in progress)
    assert (progress[-1].heard, progress[-1].total, progress[-1].skipped) == (1.5, 1.5, 0.25)
    assert 0 < max(one.level for one in progress) <= 1
    assert [one.finished for one in progress] == [False] * (len(progress) - 1) + [failing != "filter"]


@pytest.mark.parametrize("in_last", [False, True])
def test_a_run_that_is_ended_in_its_last_pass_has_come_to_the_end_of_its_source(in_last: bool) -> None:
    class Ending(ScriptedRecogniser):
        def recognise(self, samples: np.ndarray, *, final: bool = False, **others: Any) -> Hypothesis:
            if final == in_last:
                listening.close()
            return super().recognise(samples, final=final, **others)

    source, recogniser, clock = Played(sound_of(WORDS, 1.2), SAMPLE_RATE // 4), Ending(WORDS), ManualClock()
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), clock)
    stages = Stages(SilenceGate(), transcriber, recogniser)  # type: ignore[arg-type]
    track = TrackStages(source, stages, lambda event: None)
    listening = Hearing(heard_from(source, track), [track], clock, source)
    list(listening.transcripts)
    assert listening.came_to_the_end == in_last


def test_a_run_that_ends_waits_for_its_last_pass_alone() -> None:
    class Ending(ScriptedRecogniser):
        """The run is ended in its second pass."""

        def recognise(
            self, samples: np.ndarray, *, prompt: str = "", final: bool = False, language: str | None = None
        ) -> Hypothesis:
            if len(self.passes) == 1:
                state.close()
            return super().recognise(samples, prompt=prompt, final=final)

    recogniser, state = Ending(WORDS), ListeningState(ManualClock())
    source = Played(sound_of(WORDS, 4.0), SAMPLE_RATE // 4)
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False), ManualClock())
    track = TrackStages(source, Stages(SilenceGate(), transcriber, recogniser), lambda event: None)  # type: ignore[arg-type]
    transcripts = listen(heard_from(source, track), [track], state)
    finals = [transcript.text for transcript in transcripts if transcript.final]
    assert finals == ["nothing is lost."]
    assert [final for _, _, final in recogniser.passes] == [False, False, True]


@pytest.mark.parametrize(("error", "plugged", "is_on"), [(None, False, True), (None, None, False), (OSError, 0, False)])
def test_a_battery_that_cannot_be_read_is_none(
    error: type[Exception] | None, plugged: bool | None, is_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """psutil raises where a system has no folder of power supplies, as in some containers."""
    read = Mock(side_effect=error, return_value=SimpleNamespace(power_plugged=plugged))
    monkeypatch.setattr("psutil.sensors_battery", read, raising=False)
    assert on_battery() is is_on
    monkeypatch.delattr("psutil.sensors_battery")
    assert on_battery() is False
