"""A whole talk through the real recogniser and a translator that takes ten times as long as it should, and more."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from livetrans.audio.file import AudioFile
from livetrans.audio.source import Part
from livetrans.base.clock import SystemClock
from livetrans.config import LanguageModelSettings, RecogniserSettings, Settings
from livetrans.events import Caption, SourceProgress, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.run import opening
from livetrans.run import pipeline as live
from livetrans.run.backpressure import LEVELS
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import open_audio
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish
from livetrans.tui.panel import draw

from .faults import FaultyModel, ScaledClock, Schedule, Slow
from .scripted_run import Collected, no_thread_left

TALK = Path(__file__).parents[2] / "recordings" / "talk.flac"
SPEED = 40.0
"""The run's clock against the machine's: the small models cost on it what large ones cost on the machine's. Most
of a second for each evaluation makes the translator too slow on every machine."""


class SlowTranslator(FaultyModel):
    threads = 1


@pytest.mark.long
@pytest.mark.parametrize(("seconds", "recogniser"), [(30.0, "cpp_recogniser_path"), (83.0, "recogniser_path")])
def test_the_talk_ends_with_every_final_translated_and_each_step_was_on_the_panel(
    seconds: float,
    recogniser: str,
    request: pytest.FixtureRequest,
    translator_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ScaledClock(SystemClock(), SPEED)
    open_model = opening.open_model

    def open_slow_model(*arguments: object) -> SlowTranslator:
        return SlowTranslator(open_model(*arguments), Schedule(clock, always=Slow(10.0, seconds=0.8)))  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "open_model", open_slow_model)
    # This machine may stand still for a moment, which is long on the run's clock.
    monkeypatch.setattr(live, "STANDSTILL_SECONDS", live.STANDSTILL_SECONDS * SPEED)
    settings = Settings(
        RecogniserSettings(request.getfixturevalue(recogniser), threads=1),
        LanguageModelSettings(translator_path, threads=1),
    )

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        return open_audio(
            AudioFile(TALK, clock, real_time=True, part=Part(0.0, seconds)), settings, clock, publish, on_audio
        )

    collected = Collected()
    translate = partial(opening.open_translating, settings, clock)
    pipeline = Pipeline(settings, open_listening, translate, clock, [collected])
    shown: list[Snapshot] = []
    pipeline.start()
    end = time.monotonic() + 120
    while not pipeline.join(0.01):
        assert time.monotonic() < end
        shown.append(pipeline.monitor.snapshot())

    heard = [event.text for event in collected.of(Transcript) if event.final]
    captions = [event for event in collected.of(Caption) if event.final]
    assert [caption.source for caption in captions] == heard
    assert len(heard) > seconds / 10 and all(caption.text for caption in captions)
    assert collected.of(SourceProgress)[-1].heard == pytest.approx(seconds, abs=0.1)
    assert collected.of(SourceProgress)[-1].skipped == 0
    steps = list(dict.fromkeys(snapshot.pressure for snapshot in shown))
    assert steps[: len(LEVELS)] == [step.name for step in LEVELS]
    panels = [draw(snapshot, "people", 22, 24).plain for snapshot in shown]
    assert all(any(step.name in panel for panel in panels) for step in LEVELS[1:])
    most = max(snapshot.behind_seconds for snapshot in shown)
    lag = max(record.at - record.event.captured_at for record in collected.records
              if isinstance(record.event, Caption) and record.event.final)  # fmt: skip
    assert most == pytest.approx(lag, rel=0.25)
    assert no_thread_left()
