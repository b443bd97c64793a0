"""The case study rebuilds every text; the cost of passes is measured fairly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livetrans.base.clock import ProcessorClock
from livetrans.base.errors import UsageError
from livetrans.bench.case import case_of, marked
from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, measure_cost
from livetrans.bench.run import clock_for
from livetrans.bench.runfile import RunFile
from livetrans.events import Span
from tests.bench.runs import METHODS
from tests.lm.scripted import ScriptedModel, hashed_rule


def test_marks_stand_around_what_is_new_and_nothing_else_changes(run: RunFile) -> None:
    for segment in run.segments:
        case = case_of(run, segment.segment_id, METHODS.split(","))
        updates = run.units[0, segment.segment_id, "rt"]
        assert [_bare(text) for text in case[segment.name]] == [update.source for update in updates]
        assert case["reference"] == [segment.reference]
        for method in METHODS.split(","):
            for text, update in zip(case[method], run.units[0, segment.segment_id, method], strict=True):
                assert _bare(text) == update.text
                kept = "".join(part.rpartition("]")[2] for part in text.split("["))
                assert len(kept.split()) == update.stats.accepted_tokens


def _bare(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def test_marks_say_where_text_is_from() -> None:
    spans = [Span(0, 4), Span(8, 13, "small")]
    assert marked("das alte Haus  ", spans) == "das [alte] <Haus>  "


def test_the_papers_three_methods_are_shown(run: RunFile) -> None:
    for methods in (run.header.methods, run.header.methods[::-1]):
        shown = case_of(replace(run, header=replace(run.header, methods=methods)), 0)
        assert list(shown) == ["source.en:1", "rt", "ssbd@0.2", "cd", "reference"]


def test_what_is_not_there_is_refused(run: RunFile) -> None:
    for segment_id, methods in ((99, []), (-1, []), (0, ["ssbd@0.7"])):
        with pytest.raises(UsageError):
            case_of(run, segment_id, methods)


def test_a_pass_costs_what_the_model_says() -> None:
    """A pass of 10 ms and 1 ms a token: the cache holds the context, so that only new tokens count."""
    model = ScriptedModel(hashed_rule(), maximum_rows=max(SIZES), seconds_per_pass=0.01, seconds_per_token=0.001)
    passes = 0

    def on_pass() -> None:
        nonlocal passes
        passes += 1

    seconds = measure_cost(model, 3, on_pass=on_pass)
    assert passes == 4 * len(SIZES) and list(seconds) == list(SIZES)
    for size, spread, ratio, each, least in cost_table(seconds, "").rows:
        assert spread == pytest.approx((10 + size,) * 3) and each == pytest.approx((10 + size) / size)
        assert (ratio, least) == pytest.approx(((10 + size) / 11,) * 2)
    assert CONTEXT_TOKENS + max(SIZES) <= model.context_tokens


def test_processor_time_is_of_one_thread() -> None:
    assert isinstance(clock_for("cpu", 1), ProcessorClock)
    with pytest.raises(UsageError):
        clock_for("cpu", 2)
    clock_for("wall", 2)
    clock = ProcessorClock()
    before = clock.now()
    clock.sleep(1000.0)
    sum(range(100_000))
    assert before < clock.now() < before + 100.0
