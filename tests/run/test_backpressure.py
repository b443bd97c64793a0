"""The ladder reaches every level, never flaps, and is monotone in the load."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.run.backpressure import CALM_SECONDS, LEVELS, Ladder

TICK = 0.25
LOADS = st.lists(st.floats(0, 40), max_size=400)


def levels(loads: list[float]) -> list[int]:
    """The level after each load, four a second."""
    ladder = Ladder()
    taken = []
    for number, load in enumerate(loads):
        ladder.update(load, number * TICK)
        taken.append(ladder.level)
    return taken


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_a_load_at_its_threshold_reaches_each_step_through_those_before_it(level: int) -> None:
    taken = levels([LEVELS[level].enter] * 100)
    assert taken[-1] == level
    assert set(taken) == set(range(min(level, 1), level + 1))


def test_without_load_it_comes_down_step_by_step() -> None:
    taken = levels([40.0] * 40 + [0.0] * 200)
    assert taken[39:41] == [4, 4]
    assert list(dict.fromkeys(taken[39:])) == [4, 3, 2, 1, 0]


@given(LOADS)
def test_it_moves_one_step_at_a_time_and_down_only_after_calm(loads: list[float]) -> None:
    taken = [0, *levels(loads)]
    assert all(abs(after - before) <= 1 for before, after in pairwise(taken))
    downs = [number for number, (before, after) in enumerate(pairwise(taken)) if after < before]
    assert all((later - earlier) * TICK >= CALM_SECONDS for earlier, later in pairwise(downs))
    for number in downs:
        calm = loads[number - int(CALM_SECONDS / TICK) : number + 1]
        assert max(calm) < LEVELS[taken[number]].enter / 2


@given(st.lists(st.tuples(st.floats(0, 40), st.floats(0, 20)), max_size=400))
def test_more_load_never_gives_a_lower_step(loads: list[tuple[float, float]]) -> None:
    less = levels([load for load, _ in loads])
    more = levels([load + added for load, added in loads])
    assert all(low <= high for low, high in zip(less, more, strict=True))
