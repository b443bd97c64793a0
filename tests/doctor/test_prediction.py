"""The predicted lag and load of a run, against what a run with such costs does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import GateSettings, TranscriberSettings
from livetrans.doctor.prediction import NEWEST_WORD_AGE, PAUSE_BEGINS, Costs, Load, predict_load

STEP, PAUSE = TranscriberSettings().step, GateSettings().pause
SECONDS = st.floats(0, 5)
COSTS = st.builds(Costs, SECONDS, SECONDS)


def predicted(passes: Costs, updates: Costs, contention: float = 1.0) -> Load:
    return predict_load(passes, updates, TranscriberSettings(), GateSettings(), contention)


def test_a_machine_of_no_cost_has_the_lag_of_speech_alone() -> None:
    load = predicted(Costs(0, 0), Costs(0, 0))
    assert load == Load(0, 0, NEWEST_WORD_AGE, PAUSE_BEGINS + PAUSE)
    assert load.keeps_up and load.advice is None


def test_the_busier_stage_is_named() -> None:
    assert "recogniser takes 2.0 times its step" in (predicted(Costs(2 * STEP, 1), Costs(0.1, 0.1)).advice or "")
    slow = predicted(Costs(0.1, 0.1), Costs(1.8 * STEP, 1))
    assert "translator takes 1.8 times" in (slow.advice or "")
    assert not slow.keeps_up


def test_long_passes_leave_the_translator_more_time() -> None:
    updates = Costs(STEP, STEP)
    assert predicted(Costs(2 * STEP, 2), updates).translator == pytest.approx(0.5)


def test_a_stretch_of_speech_that_takes_longer_than_it_lasts_is_never_caught_up_with() -> None:
    quick = Costs(0.1, 0.1)
    assert not predicted(Costs(1.5, 1.5), quick).falls_behind
    assert predicted(Costs(2.3, 2.3), quick).falls_behind
    assert not predicted(quick, Costs(9.0, 1.0)).falls_behind, "partials are dropped"
    assert predicted(quick, Costs(1.0, 9.0)).falls_behind


def test_a_long_final_pass_delays_the_captions_of_the_next_stretch() -> None:
    """Growing captions of a replay with passes of 1.05 and 2.7 s came after 2.40 s (docs/LOG.md, 2026-11-21)."""
    updates = Costs(0.01, 0.01)
    assert predicted(Costs(1.05, 1.05), updates).lag == pytest.approx(1.29, abs=0.01)
    assert predicted(Costs(1.05, 2.7), updates).lag == pytest.approx(2.40, abs=0.1)


@given(COSTS, COSTS, st.floats(1, 3))
def test_captions_come_after_their_pass_and_their_update(passes: Costs, updates: Costs, contention: float) -> None:
    load = predicted(passes, updates, contention)
    assert load.lag >= NEWEST_WORD_AGE + passes.partial + updates.partial
    assert load.final_lag >= PAUSE_BEGINS + PAUSE + passes.final + updates.final


@given(COSTS, COSTS, st.floats(1, 3), st.floats(1, 3))
def test_a_slower_machine_is_never_ahead(passes: Costs, updates: Costs, factor: float, contention: float) -> None:
    load = predicted(passes, updates, contention)
    slower = predicted(passes.slowed(factor), updates.slowed(factor), contention)
    tolerance = 1e-9
    assert slower.lag >= load.lag - tolerance and slower.final_lag >= load.final_lag - tolerance
    assert slower.recogniser >= load.recogniser - tolerance


@given(COSTS, COSTS)
def test_stages_that_share_no_core_do_not_slow_each_other(passes: Costs, updates: Costs) -> None:
    alone = predicted(passes, updates)
    assert alone.recogniser == passes.partial / STEP
    together = predicted(passes, updates, 2.0)
    assert together.lag >= alone.lag
    if updates.partial == 0:
        assert together.recogniser == alone.recogniser


@given(st.floats(0.05, 3), st.floats(0.05, 3))
def test_the_lag_is_that_of_updates_passed_on_one_by_one(pass_seconds: float, update_seconds: float) -> None:
    """Passes one after the other on the step, a translator that always takes the newest: the mean of a long run."""
    load = predicted(Costs(pass_seconds, 0), Costs(update_seconds, update_seconds))
    lags, ready, free, begin = [], [], 0.0, 0.0
    for _ in range(400):
        ready.append((begin, begin + pass_seconds))
        begin += max(STEP, pass_seconds)
    while waiting := [(heard, at) for heard, at in ready if at <= free] or ready[:1]:
        heard, at = waiting[-1]
        ready = [update for update in ready if update[0] > heard]
        free = max(free, at) + update_seconds
        lags.append(NEWEST_WORD_AGE + free - heard)
    mean = sum(lags) / len(lags)
    assert mean == pytest.approx(load.lag, abs=max(STEP, pass_seconds) / 2 + 1e-6)
