"""The ladder reaches every level, never flaps and grows with the load; the newest partial wins, finals are kept."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Gap, Transcript
from livetrans.run.backpressure import CALM_SECONDS, LEVELS, Backlog, Ladder, LatestPerSegment

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
def test_a_load_at_its_threshold_reaches_each_step_through_those_before_it_and_leaves_them(level: int) -> None:
    taken = levels([LEVELS[level].enter] * 100 + [0.0] * 200)
    assert set(taken[:100]) == set(range(min(level, 1), level + 1))
    assert list(dict.fromkeys(taken[99:])) == list(range(level, -1, -1))


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


def segments(lengths: list[int]) -> list[Transcript]:
    return [
        Transcript(segment, revision, f"s{segment} r{revision}", "", revision == length - 1, 0.0, 1.0)
        for segment, length in enumerate(lengths)
        for revision in range(length)
    ]


@given(st.lists(st.integers(1, 5), max_size=6), st.data())
def test_everything_is_taken_or_reported_as_replaced(lengths: list[int], data: st.DataObject) -> None:
    updates = segments(lengths)
    queue = LatestPerSegment()
    taken: list[Transcript | Gap | None] = []
    replaced: list[tuple[int, int]] = []
    for update in updates:
        gone = queue.put(update)
        if gone:
            replaced.append((gone.segment_id, gone.revision))
        partials = [one.segment_id for one in queue if isinstance(one, Transcript) and not one.final]
        assert len(partials) == len(set(partials))
        while queue.first() and data.draw(st.booleans()):
            taken.append(queue.take())
    while queue.first():
        taken.append(queue.take())
    assert [u for u in updates if u.final] == [u for u in taken if isinstance(u, Transcript) and u.final]
    keys = [(u.segment_id, u.revision) for u in taken if isinstance(u, Transcript)]
    assert keys == sorted(keys)
    assert sorted(keys + replaced) == [(u.segment_id, u.revision) for u in updates]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=20))
def test_finals_are_taken_in_the_order_in_which_they_came(steps: list[tuple[int, bool, bool]]) -> None:
    queue = LatestPerSegment()
    came: list[Transcript] = []
    taken: list[Transcript | Gap | None] = []
    for revision, (segment, final, take) in enumerate(steps):
        if segment in {update.segment_id for update in came}:
            continue
        update = Transcript(segment, revision, "words", "", final, 0.0, 1.0)
        queue.put(update)
        came += [update] if final else []
        taken += [queue.take()] if take else []
    taken += [queue.take() for _ in list(queue)]
    assert [update for update in taken if isinstance(update, Transcript) and update.final] == came


@given(st.lists(st.sampled_from(["me", "them"]), min_size=2, max_size=60))
def test_a_track_with_more_updates_does_not_put_off_the_other(tracks: list[str]) -> None:
    """What was left waiting when an update was taken is taken next, however often the other track is updated."""
    queue = LatestPerSegment()
    left: set[str | None] = set()
    for revision, track in enumerate(tracks):
        queue.put(Transcript(["me", "them"].index(track), revision, "", "words", False, 0.0, 1.0, track=track))
        if revision % 3 == 2:
            first = queue.take()
            assert first is not None
            assert not left or first.track in left
            left = {update.track for update in queue}


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12), st.data())
def test_a_backlog_is_empty_once_everything_is_translated_however_often_a_final_came(
    steps: list[tuple[int, bool]], data: st.DataObject
) -> None:
    """A session that was resumed holds finals twice."""
    backlog, waiting, now = Backlog(), list[Transcript](), 0.0
    for revision, (segment, final) in enumerate(steps):
        waiting.append(Transcript(segment, revision, "words", "", final, 0.0, 1.0))
        backlog.put(waiting[-1], now)
        now += 1.0
        while waiting and data.draw(st.booleans()):
            backlog.take(waiting.pop(0), now)
            assert 0.0 <= backlog.behind(now) <= now
            backlog.done(now)
    for update in waiting:
        backlog.take(update, now)
        backlog.done(now)
    assert (backlog.finals, backlog.behind(now)) == (0, 0.0)


def test_finals_are_taken_before_partials_that_are_left_out() -> None:
    queue = LatestPerSegment()
    partial, final = (Transcript(number, 0, "words", "", number == 1, 0.0, 1.0) for number in range(2))
    queue.put(partial)
    queue.put(final)
    assert queue.take(partials=False) == final
    assert queue.take(partials=False) is None
    assert queue.take() == partial
