"""The case study rebuilds every text; the cost of passes is measured fairly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, measure_cost
from livetrans.bench.run import clock_for
from livetrans.bench.runfile import RunFile
from livetrans.cli.bench_tables import Piece, as_marks, case_lines, case_of
from livetrans.clock import ProcessorClock
from livetrans.errors import UsageError
from livetrans.events import Span
from tests.bench.runs import METHODS
from tests.lm.scripted import ScriptedModel, hashed_rule


def test_pieces_make_the_whole_and_the_kept_part_was_there_before(run: RunFile) -> None:
    for segment in run.segments:
        case = case_of(run, segment.segment_id, METHODS.split(","))
        updates = run.units[0, segment.segment_id, "rt"]
        assert [_text(pieces) for pieces in case[segment.name]] == [update.source for update in updates]
        assert _text(case["reference"][0]) == segment.reference
        for method in METHODS.split(","):
            texts = case[method]
            outputs = run.units[0, segment.segment_id, method]
            assert [_text(pieces) for pieces in texts] == [update.text for update in outputs]
            for pieces, update in zip(texts, outputs, strict=True):
                kept = [piece.text for piece in pieces if piece.draft]
                assert len(" ".join(kept).split()) == update.stats.accepted_tokens
        for before, pieces in zip(updates, case[segment.name][1:], strict=False):
            assert before.source.startswith(_text(piece for piece in pieces if piece.draft))


def _text(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def test_spans_of_several_drafts_are_told_apart(run: RunFile) -> None:
    [segment] = run.segments[1:2]
    unit = (0, segment.segment_id, "rt")
    *before, update = run.units[unit]
    assert update.text == "TWO DOGS SLEEP ."
    spans = (Span(0, 1), Span(2, 3, "small"))
    changed = replace(run, units={**run.units, unit: (*before, replace(update, accepted=spans))})
    [pieces] = case_of(changed, segment.segment_id, ["rt"])["rt"][-1:]
    assert [(piece.text, piece.draft) for piece in pieces] == [
        ("TWO", "previous"), (" DOGS", ""), (" SLEEP", "small"), (" .", ""),
    ]  # fmt: skip


def test_the_papers_three_methods_are_shown(run: RunFile) -> None:
    for methods in (run.header.methods, run.header.methods[::-1]):
        shown = case_of(replace(run, header=replace(run.header, methods=methods)), 0)
        assert list(shown) == ["source.en:1", "rt", "ssbd@0.2", "cd", "reference"]


def test_colours_are_those_of_the_screen_and_marks_stand_in_for_them(run: RunFile) -> None:
    case = case_of(run, 1, ["rt", "cd"])
    coloured, marked = (list(case_lines(case, coloured=coloured)) for coloured in (True, False))
    assert " 2  two dogs sleep ." == coloured[2].plain
    assert [coloured[2].plain[span.start : span.end] for span in coloured[2].spans if span.style == "cyan"] == [" ."]
    assert " 2  two dogs sleep [.]" == marked[2].plain


def test_marks_say_where_a_piece_is_from() -> None:
    pieces = (Piece("das ", "previous"), Piece("alte"), Piece(" Haus", "small"), Piece("  "))
    assert as_marks(pieces) == "das [alte] <Haus>  "


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


def test_a_random_model_is_a_gguf_of_its_shape(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    from tests.benchmarks.random_gguf import shapes

    weights = 0
    for _, shape in shapes(28):
        size = 1
        for length in shape:
            size *= length
        weights += size
    assert 1.5e9 < weights < 2e9
