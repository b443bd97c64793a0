"""Whatever a stage does, each final that was heard is shown once, in order; what cannot be translated is counted."""

from __future__ import annotations

import threading
import time
from itertools import cycle
from pathlib import Path
from unittest.mock import Mock

import pytest

from livetrans.base.clock import SystemClock
from livetrans.events import BackPressure, Caption, Event, Notice, RunEnded, SourceProgress, Transcript, Word
from livetrans.run import pipeline
from livetrans.run.backpressure import LEVELS, Ladder
from livetrans.run.pipeline import Pipeline
from livetrans.session.recorded import Unfinished

from .faults import Fault, Garbage, Hang, Raise, ScaledClock, Schedule, Slow
from .scripted_run import SPEED, ScriptedRun, finals_of, no_thread_left, sentences

WORDS = sentences(4)


def warnings(run: ScriptedRun) -> list[str]:
    return [notice.text for notice in run.collected.of(Notice) if notice.level == "warning"]


def schedule(fault: Fault | None = None, **faults: Fault) -> Schedule:
    """One fault always, or `n3=` at call 3."""
    clock = ScaledClock(SystemClock(), SPEED)
    return Schedule(clock, {int(name[1:]): one for name, one in faults.items()}, fault)


def test_a_translator_that_cannot_keep_up_takes_every_step_and_shows_every_final() -> None:
    words = sentences(10)
    run = ScriptedRun(words, translator=schedule(Slow(seconds=1.2)))
    run.run()
    assert run.shown == run.heard == finals_of(words)
    behind = run.collected.of(BackPressure)
    assert list(dict.fromkeys(event.level for event in behind)) == [level.name for level in LEVELS[1:]]
    assert len([text for text in warnings(run) if "try a smaller one with --mt" in text]) == 1
    finals = [record.at - record.event.captured_at for record in run.collected.records
              if isinstance(record.event, Caption) and record.event.final]  # fmt: skip
    # The lag shown is the lag there was: a final waits for its own passes too.
    assert max(event.behind_seconds for event in behind) == pytest.approx(max(finals), abs=8.0)
    assert run.collected.of(SourceProgress)[-1].skipped == 0


def test_a_slow_recogniser_hears_everything_and_sentences_go_on_growing() -> None:
    run = ScriptedRun(WORDS, recogniser=schedule(Slow(seconds=3.0)))
    run.run()
    level, growing = LEVELS[0].name, set()
    for record in run.collected.records:
        level = record.event.level if isinstance(record.event, BackPressure) else level
        growing |= {level} if isinstance(record.event, Caption) and not record.event.final else set()
    assert LEVELS[1].name in growing, "nothing else waits for the translator"
    assert run.shown == run.heard == finals_of(WORDS)
    assert run.collected.of(BackPressure)
    assert run.collected.of(SourceProgress)[-1].skipped == 0


@pytest.mark.parametrize("fault", [Raise(MemoryError()), Garbage()])
@pytest.mark.parametrize("stage", ["recogniser", "translator"])
def test_a_stage_that_fails_once_is_loaded_again_and_loses_nothing(stage: str, fault: Fault) -> None:
    run = ScriptedRun(WORDS, **{stage: schedule(n4=fault)})  # type: ignore[arg-type]
    run.run()
    assert run.shown == run.heard == finals_of(WORDS)
    assert [text for text in warnings(run) if f"The {stage} failed" in text and "loaded again" in text]
    assert no_thread_left()


@pytest.mark.parametrize("stage", ["recogniser", "translator"])
def test_a_stage_that_fails_twice_ends_the_run_with_all_that_it_did_and_leaves_the_rest_to_resume(stage: str) -> None:
    faults = schedule(n4=Raise(RuntimeError("one")), n5=Raise(RuntimeError("two")))
    run = ScriptedRun(WORDS, **{stage: faults})  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="two"):
        run.run()
    assert run.heard and run.heard[: len(run.shown)] == run.shown
    if stage == "recogniser":
        assert run.shown == run.heard
        last = [event for event in run.collected.of(Transcript) if not event.final][-1]
        assert run.heard[-1].startswith(last.committed.upper())
    left = len(run.heard) - len(run.shown)
    assert [text for text in warnings(run) if "livetrans resume" in text] or not left
    assert run.collected.of(RunEnded)[0].reason == "failed"
    assert no_thread_left()


@pytest.mark.parametrize("stage", ["recogniser", "translator"])
def test_a_call_that_never_returns_is_reported_and_left_alone_at_the_end(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "HUNG_SECONDS", 5.0)
    hanging = schedule(n8=Hang())
    run = ScriptedRun(sentences(30), **{stage: hanging})  # type: ignore[arg-type]
    run.pipeline.start()
    assert hanging.hanging.wait(20)
    while not [text for text in warnings(run) if f"The {stage} has not answered" in text]:
        assert not run.pipeline.join(0.05)
    run.pipeline.stop()
    assert run.pipeline.join(20)
    assert run.heard
    if stage == "recogniser":
        assert run.shown == run.heard
    else:
        left = len(run.heard) - len(run.shown)
        assert [text for text in warnings(run) if "livetrans resume" in text and str(left) in text]
    assert isinstance(run.collected.records[-1].event, RunEnded)
    hanging.release()
    assert no_thread_left()
    assert isinstance(run.collected.records[-1].event, RunEnded)


def test_a_hung_pass_that_comes_back_as_the_run_ends_does_not_count_as_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words are left out, so its sound is heard again by `livetrans resume`."""
    monkeypatch.setattr(pipeline, "HUNG_SECONDS", 5.0)
    hanging = schedule(n8=Hang())
    run = ScriptedRun(sentences(30), recogniser=hanging)
    last_events = run.pipeline._last_events

    def come_back() -> list[Event]:
        hanging.release()
        for thread in threading.enumerate():
            if thread.name == "listening":
                thread.join(20)
        return last_events()

    monkeypatch.setattr(run.pipeline, "_last_events", come_back)
    run.pipeline.start()
    assert hanging.hanging.wait(20)
    while not [text for text in warnings(run) if "The recogniser has not answered" in text]:
        assert not run.pipeline.join(0.05)
    run.pipeline.stop()
    assert run.pipeline.join(20)
    unfinished = Unfinished(Path("session"))
    for record in run.collected.records:
        unfinished.note(record)
    last = run.collected.of(Transcript)[-1]
    assert last.final
    assert unfinished.rest(None, last.end + 10.0) == last.end


def test_a_watch_that_fails_ends_the_run_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(ladder: Ladder, behind: float, now: float) -> bool:
        raise ArithmeticError("the clock has gone")

    monkeypatch.setattr(Ladder, "update", fail)
    run = ScriptedRun(sentences(30))
    with pytest.raises(ArithmeticError, match="clock"):
        run.run()
    assert run.collected.of(RunEnded)[0].reason == "failed"
    assert no_thread_left() and not capsys.readouterr().err


def test_an_end_that_cannot_be_made_ends_the_run_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pipeline, "_last_events", Mock(side_effect=ArithmeticError("no end")))
    run = ScriptedRun(sentences(1))
    with pytest.raises(ArithmeticError, match="no end"):
        run.run()
    assert run.shown and run.collected.closed == 1 and no_thread_left()


def test_a_wall_clock_that_is_set_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ScriptedRun(WORDS)
    run.pipeline.start()
    run.collected.wait_for(Caption)
    now, days = time.time, cycle([86_400.0, -86_400.0])
    monkeypatch.setattr(time, "time", lambda: now() + next(days))
    assert run.pipeline.join(60)
    assert run.shown == run.heard == finals_of(WORDS)
    assert run.collected.of(BackPressure) == []
    instants = [record.at for record in run.collected.records]
    assert instants == sorted(instants) and instants[-1] < 3600
    assert no_thread_left()


def test_somebody_who_never_pauses_is_cut_and_keeps_every_word() -> None:
    spoken = [Word(f"w{number}", 0.3 * number, 0.3 * number + 0.3) for number in range(100)]
    run = ScriptedRun(spoken, translator=schedule(Slow(seconds=0.5)))
    run.run()
    assert run.shown == run.heard
    assert " ".join(run.shown).split() == [word.text.upper() for word in spoken]
    assert len(run.shown) >= 3
