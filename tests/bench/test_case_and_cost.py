"""The case study splits texts without losing a letter; the cost of passes is measured fairly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pylatexenc import latexwalker

from livetrans.bench.case import Piece, as_latex, as_markdown, as_marks, case_of
from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_values, measure_cost, store_cost
from livetrans.bench.methods import clock_for
from livetrans.bench.runfile import Run, read_run
from livetrans.clock import ProcessorClock
from livetrans.errors import UsageError
from livetrans.events import Span
from tests.bench.runs import METHODS, corpus_of, header_of, run_to
from tests.lm.scripted import ScriptedModel, hashed_rule


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    corpus = corpus_of(folder)
    run_to(folder / "run.jsonl", corpus, header_of(corpus, repeats=1))
    return read_run(folder / "run.jsonl")


def test_pieces_make_the_whole_and_the_kept_part_was_there_before(run: Run) -> None:
    for segment in run.segments:
        case = case_of(run, segment.segment_id, METHODS.split(","))
        updates = run.unit(0, segment.segment_id, "rt")
        assert [_text(pieces) for pieces in case.source] == [update.source for update in updates]
        for method, texts in case.outputs.items():
            outputs = run.unit(0, segment.segment_id, method)
            assert [_text(pieces) for pieces in texts] == [update.text for update in outputs]
            for pieces, update in zip(texts, outputs, strict=True):
                kept = [piece.text for piece in pieces if piece.draft]
                assert len(" ".join(kept).split()) == update.stats.accepted_tokens
        for before, pieces in zip(updates, case.source[1:], strict=False):
            assert before.source.startswith(_text(piece for piece in pieces if piece.draft))


def _text(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def test_spans_of_several_drafts_are_told_apart(run: Run) -> None:
    [segment] = run.segments[1:2]
    update = run.unit(0, segment.segment_id, "rt")[-1]
    assert update.text == "TWO DOGS SLEEP ."
    spans = (Span(0, 1), Span(2, 3, "small"))
    changed = replace(run, updates=tuple(replace(one, accepted=spans) if one is update else one for one in run.updates))
    [pieces] = case_of(changed, segment.segment_id, ["rt"]).outputs["rt"][-1:]
    assert [(piece.text, piece.draft) for piece in pieces] == [
        ("TWO", "previous"), (" DOGS", ""), (" SLEEP", "small"), (" .", ""),
    ]  # fmt: skip


def test_an_older_run_has_its_accepted_tokens_in_front(run: Run) -> None:
    for update in run.updates:
        if update.method == "ssbd@0.2":
            assert replace(update, accepted=()).spans == update.spans


def test_the_papers_three_methods_are_shown(run: Run) -> None:
    assert list(case_of(run, 0).outputs) == ["rt", "ssbd@0.2", "cd"]


def test_markdown_shows_letters_that_markdown_would_act_on(run: Run) -> None:
    case = case_of(run, 0)
    assert "**THE OLD" in as_markdown(case) and "<u>the old man</u>" in as_markdown(case)
    wild = replace(case, segment=replace(case.segment, reference="<b>1*2</b> | [x]"))
    assert r"&lt;b>1\*2&lt;/b> \| \[x\]" in as_markdown(wild)


def test_marks_say_where_a_piece_is_from() -> None:
    pieces = (Piece("das ", "previous"), Piece("alte"), Piece(" Haus", "small"), Piece("  "))
    assert as_marks(pieces) == "das [alte] <Haus>  "


def test_latex_of_a_case_is_balanced(run: Run) -> None:
    case = case_of(run, 0)
    wild = replace(case, segment=replace(case.segment, reference="50 % of {x}_1 & \\more"))
    nodes, *_ = latexwalker.LatexWalker(as_latex(wild), tolerant_parsing=False).get_latex_nodes()
    assert [node.environmentname for node in nodes if node.isNodeType(latexwalker.LatexEnvironmentNode)] == ["table"]
    assert r"the old man \textbf{walks" in as_latex(case)


def test_what_is_not_there_is_refused(run: Run) -> None:
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

    costs = measure_cost(model, 3, on_pass=on_pass)
    assert passes == 4 * len(SIZES)
    assert [cost.new_tokens for cost in costs] == list(SIZES)
    for cost in costs:
        assert cost.seconds == pytest.approx(0.01 + 0.001 * cost.new_tokens)
        assert cost.least_seconds == pytest.approx(cost.seconds)
        assert (cost.ratio, cost.least_ratio) == pytest.approx(((10 + cost.new_tokens) / 11,) * 2)
    assert CONTEXT_TOKENS + max(SIZES) <= model.context_tokens


def test_costs_are_kept_for_each_model_and_machine(tmp_path: Path) -> None:
    costs = measure_cost(ScriptedModel(hashed_rule(), maximum_rows=2, seconds_per_pass=0.01), 1, (1, 2))
    paths: dict[Path, int] = {}
    for model in ("a.gguf", "b.gguf", "a.gguf"):
        about = {"model": model, "size_bytes": 1, "threads": 1, "time": "wall", "processor": "AMD EPYC / 1"}
        paths |= [store_cost(cost_values(costs, about | {"rounds": 1}), tmp_path / "cost")]
    assert len(paths) == 2 == len(list((tmp_path / "cost").iterdir()))
    for path in paths:
        values = json.loads(path.read_text(encoding="utf-8"))
        assert [cost["new_tokens"] for cost in values["cost"]] == [1, 2]


@pytest.mark.parametrize(("first", "then", "kept"), [(11, 1, 11), (1, 11, 11), (0, 2, 2)])
def test_figures_of_fewer_rounds_replace_none_of_more(tmp_path: Path, first: int, then: int, kept: int) -> None:
    about = {"model": "a.gguf", "size_bytes": 1, "threads": 1, "time": "wall", "processor": "AMD EPYC"}
    path, _ = store_cost(cost_values([], about | {"rounds": first}), tmp_path)
    if not first:
        path.write_text('{"rounds": ', encoding="utf-8")  # damaged
    assert store_cost(cost_values([], about | {"rounds": then}), tmp_path) == (path, kept)
    assert json.loads(path.read_text(encoding="utf-8"))["rounds"] == kept


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
