"""A comparison's table says what was measured, in ratios within a repeat."""

from __future__ import annotations

import pytest

from livetrans.events import Caption, DecodingStats, Transcript, Translation
from livetrans.metrics.comparison import MethodRun, compare


def _run(method: str, outputs: list[tuple[int, ...]], seconds: float, accepted: int = 0) -> MethodRun:
    """One segment whose updates wrote `outputs`; each took a second of prompt and `seconds` of decoding."""
    run = MethodRun(method)
    for revision, tokens in enumerate(outputs):
        final = revision == len(outputs) - 1
        stats = DecodingStats(
            draft_tokens=accepted and 4,
            accepted_tokens=accepted,
            output_tokens=len(tokens),
            prompt_seconds=1.0,
            decoding_seconds=seconds,
        )
        transcript = Transcript(0, revision, "", "source", final, 0.0, 0.0)
        text = " ".join(map(str, tokens))
        shown = tokens if final else tokens[:-1]
        run.add(
            Translation(transcript, text, tokens, stats),
            Caption(transcript, text, shown),
        )
    return run


def test_rows_hold_the_measured_ratios() -> None:
    outputs = [(1, 2, 3), (1, 5, 6, 7)]
    base, fast = compare([[_run("rt", outputs, 3.0), _run("ssbd", outputs, 1.0, accepted=1)]])
    assert base.speedup == 1.0
    assert base.accepted_per_draft is None
    assert fast.speedup == pytest.approx(8.0 / 4.0)
    assert fast.generation_speedup == pytest.approx(3.0)
    assert fast.tokens_per_second == pytest.approx(7 / 2.0)
    assert fast.accepted_per_draft == pytest.approx(2 / 8)
    assert fast.accepted_per_output == pytest.approx(2 / 7)
    assert fast.ne_raw == pytest.approx(2 / 4)
    assert fast.ne_shown == pytest.approx(1 / 4)
    assert (fast.equal_finals, fast.finals) == (1, 1)


def test_the_median_is_of_ratios_taken_within_a_repeat() -> None:
    outputs = [(1, 2), (1, 2, 3)]
    repeats = [
        [_run("rt", outputs, 3.0), _run("ssbd", outputs, 1.0)],  # 8 / 4
        [_run("rt", outputs, 39.0), _run("ssbd", outputs, 19.0)],  # a slow machine: 80 / 40
        [_run("rt", outputs, 3.0), _run("ssbd", outputs, 7.0)],  # a disturbed one: 8 / 16
    ]
    assert compare(repeats)[1].speedup == pytest.approx(2.0)


def test_other_finals_are_counted() -> None:
    rows = compare([[_run("rt", [(1, 2)], 1.0), _run("cd", [(1, 3)], 1.0)]])
    assert rows[1].equal_finals == 0
