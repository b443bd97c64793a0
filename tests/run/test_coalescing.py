"""The newest partial wins, finals are never dropped, order is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from livetrans.events import Transcript
from livetrans.run.backpressure import LatestPerSegment


def _segments(lengths: list[int]) -> list[Transcript]:
    return [
        Transcript(segment, revision, f"s{segment} r{revision}", "", revision == length - 1, 0.0, 1.0)
        for segment, length in enumerate(lengths)
        for revision in range(length)
    ]


@given(st.lists(st.integers(1, 5), max_size=6), st.data())
def test_everything_is_taken_or_reported_as_replaced(lengths: list[int], data: st.DataObject) -> None:
    updates = _segments(lengths)
    queue = LatestPerSegment()
    taken: list[Transcript] = []
    replaced: list[tuple[int, int]] = []
    for update in updates:
        gone = queue.put(update)
        if gone:
            replaced.append((gone.segment_id, gone.revision))
        while len(queue) and data.draw(st.booleans()):
            taken.append(queue.take())
    while len(queue):
        taken.append(queue.take())
    assert [u for u in updates if u.final] == [u for u in taken if u.final]
    keys = [(u.segment_id, u.revision) for u in taken]
    assert keys == sorted(keys)
    assert sorted(keys + replaced) == [(u.segment_id, u.revision) for u in updates]


def test_no_more_than_one_partial_of_a_segment_waits() -> None:
    queue = LatestPerSegment()
    for update in _segments([50])[:-1]:
        queue.put(update)
    assert len(queue) == 1
    assert queue.take().revision == 48
