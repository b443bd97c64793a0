"""Figures come from the lines alone, and are what a reader would count by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import ModelError, UsageError
from livetrans.bench.measures import (
    Lagging,
    MeasuredRun,
    MeasureSettings,
    MethodUnits,
    measure_captions,
    measure_lagging,
    shown_captions,
)
from livetrans.bench.runfile import RunFile, Segment, Unit, Update
from livetrans.bench.tables import FIGURES, make_table
from livetrans.events import DecodingStats, Record, Transcript, Translation
from livetrans.metrics.captions import CaptionMeasures, erasure
from livetrans.metrics.monitor import Monitor
from livetrans.translation.presenter import Presenter
from tests.bench.runs import METHODS

WORD = MeasureSettings("word")


def figure(name: str, measured: MeasuredRun, label: str) -> Any:
    row = measured.row(label)
    assert row is not None
    return FIGURES[name].compute(row)


def notes_of(run: MeasuredRun) -> tuple[str, ...]:
    return make_table("3", [run]).notes


def of_method(run: RunFile, label: str, repeat: int = 0) -> list[Update]:
    return [
        update for unit, updates in run.units.items() if unit[0] == repeat and unit[2] == label for update in updates
    ]


def changed(run: RunFile, change: Callable[[Update], Update]) -> RunFile:
    return replace(run, units={unit: tuple(map(change, updates)) for unit, updates in run.units.items()})


@pytest.mark.parametrize("method", METHODS.split(","))
@pytest.mark.parametrize("unit", ["word", "char", "model"])
def test_erasure_is_counted_by_utterance_and_as_a_ratio_of_sums(run: RunFile, method: str, unit: str) -> None:
    k = 3 if "mask" in method else 0
    rates, erased_sum, final_sum = [], 0, 0
    for segment in run.segments:
        updates = run.units[0, segment.segment_id, method]
        texts = [update.without_last(0 if update.final else k).split() for update in updates]
        if unit == "char":
            texts = [list("".join(text)) for text in texts]
        erased = sum(erasure(before, after) for before, after in pairwise(texts))
        rates.append(erased / len(texts[-1]))
        erased_sum, final_sum = erased_sum + erased, final_sum + len(texts[-1])
    measured = MeasuredRun(run, MeasureSettings(unit))
    assert figure("NE sums", measured, method) == pytest.approx(erased_sum / final_sum)
    assert figure("NE", measured, method) == pytest.approx(sum(rates) / len(rates))


def test_acceptance_is_a_ratio_of_sums(run: RunFile, measured: MeasuredRun) -> None:
    stats = [update.stats for update in of_method(run, "ssbd@0.2")]
    accepted = sum(one.accepted_tokens for one in stats)
    assert figure("A/D %", measured, "ssbd@0.2") == pytest.approx(
        100 * accepted / sum(one.draft_tokens for one in stats)
    )
    assert figure("A/O %", measured, "ssbd@0.2") == pytest.approx(
        100 * accepted / sum(one.output_tokens for one in stats)
    )
    assert figure("A/D %", measured, "rt") is None


def test_speed_is_the_median_of_the_repeats_ratios(run: RunFile, measured: MeasuredRun) -> None:
    """Repeat 1 is made twice as slow for all and repeat 2 ten times as slow for one method: the medians stay."""

    def slower(update: Update) -> Update:
        factor = 2.0 if update.repeat == 1 else 10.0 if update.repeat == 2 and update.method == "cd" else 1.0
        stats = replace(
            update.stats,
            verification_seconds=update.stats.verification_seconds * factor,
            decoding_seconds=update.stats.decoding_seconds * factor,
        )
        return replace(update, stats=stats, update_seconds=update.update_seconds * factor)

    after = MeasuredRun(changed(run, slower), WORD)
    for label in METHODS.split(","):
        for name in ("speedup", "TPS ratio"):
            assert figure(name, after, label).median == pytest.approx(figure(name, measured, label).median)
        times_slower = figure("speedup", measured, label).median / figure("speedup", after, label).least
        assert times_slower == pytest.approx(10.0 if label == "cd" else 1.0, rel=0.2)
    assert figure("speedup", measured, "rt") == figure("TPS ratio", measured, "rt") == (1.0, 1.0, 1.0)


def test_speedup_is_the_ratio_of_update_times(run: RunFile, measured: MeasuredRun) -> None:
    """The whole update counts: twice the time outside the model halves the speedup and leaves tokens per second."""

    def seconds(method: str, repeat: int) -> float:
        return sum(update.update_seconds for update in of_method(run, method, repeat))

    least, middle, most = sorted(seconds("rt", repeat) / seconds("ssbd@0.2", repeat) for repeat in range(3))
    assert figure("speedup", measured, "ssbd@0.2") == pytest.approx((middle, least, most))
    slow = MeasuredRun(changed(run, lambda one: replace(one, update_seconds=2 * one.update_seconds)
                               if one.method == "ssbd@0.2" else one), WORD)  # fmt: skip
    assert figure("speedup", slow, "ssbd@0.2") == pytest.approx((middle / 2, least / 2, most / 2))
    assert figure("TPS ratio", slow, "ssbd@0.2") == figure("TPS ratio", measured, "ssbd@0.2")


def test_tokens_per_second_leave_the_prompts_own_pass_out(run: RunFile, measured: MeasuredRun) -> None:
    for label in METHODS.split(","):
        stats = [update.stats for update in of_method(run, label)]
        seconds = sum(one.verification_seconds + one.decoding_seconds for one in stats)
        expected = sum(one.output_tokens for one in stats) / seconds
        assert figure("TPS", measured, label).median == pytest.approx(expected)


def test_of_a_verifying_pass_the_drafts_share_can_be_counted_alone(run: RunFile, measured: MeasuredRun) -> None:
    def rate(method: str) -> float:
        tokens, seconds = 0, 0.0
        for stats in (update.stats for update in of_method(run, method)):
            new = stats.prompt_tokens - stats.reused_tokens + stats.draft_tokens
            tokens += stats.output_tokens
            seconds += stats.decoding_seconds + stats.verification_seconds * stats.draft_tokens / new
        return tokens / seconds

    for label in METHODS.split(","):
        shared = figure("TPS ratio*", measured, label)
        assert shared.median == pytest.approx(rate(label) / rate("rt"))
        assert shared >= figure("TPS ratio", measured, label)


def test_a_pass_over_a_frozen_drafts_rest_has_no_share_of_the_prompt(run: RunFile) -> None:
    """The prompt was evaluated with the move of the cells, in a pass of its own."""
    stats = DecodingStats(
        prompt_tokens=20, draft_tokens=12, frozen_tokens=9, output_tokens=12, verification_seconds=1.0
    )
    frozen = MeasuredRun(changed(run, lambda one: replace(one, stats=stats) if one.method == "cd" else one), WORD)
    assert figure("TPS ratio*", frozen, "cd") == figure("TPS ratio", frozen, "cd")


def test_a_display_only_mask_changes_erasure_and_nothing_else(measured: MeasuredRun) -> None:
    rows = [measured.row(label) for label in ("rt", "rt:display=3", "rt:display=5")]
    values = [{name: one.compute(row) for name, one in FIGURES.items()} for row in rows if row]
    for masked in values[1:]:
        differing = {name for name in masked if masked[name] != values[0][name]}
        assert differing <= {"NE", "NE sums"} and "NE" in differing
    shown = [one["NE sums"] for one in values]
    assert shown == sorted(shown, reverse=True)


def test_continuous_decoding_takes_nothing_back(measured: MeasuredRun) -> None:
    for label in ("cd", "ssbd@0.5"):
        assert figure("NE", measured, label) == figure("NE sums", measured, label) == 0.0
        assert figure("A/D %", measured, label) == 100.0


def test_quality_is_of_finals_against_references_and_set_beside_re_translations(
    run: RunFile, measured: MeasuredRun
) -> None:
    assert [figure(name, measured, "rt") for name in ("BLEU", "chrF")] == pytest.approx([100.0, 100.0])
    assert figure("chrF - rt", measured, "rt") is None
    assert figure("chrF - rt", measured, "ssbd@0") == figure("BLEU - rt", measured, "ssbd@0") == (0.0, 0.0, 0.0)
    value, low, high = figure("chrF - rt", measured, "cd")
    assert value == pytest.approx(figure("chrF", measured, "cd") - 100.0)
    assert low <= value <= high and value < 0
    signatures = [score.signature for score in measured.scores(measured.baseline.finals).values()]
    assert all(one.startswith(("BLEU|", "chrF2|")) and "|bs:1000|seed:12345|" in one for one in signatures)
    bare = replace(run, segments=tuple(replace(segment, reference=None) for segment in run.segments))
    unscored = MeasuredRun(bare, WORD)
    assert all(figure(name, unscored, "cd") is None for name in ("chrF", "chrF - rt", "BLEU", "BLEU - rt"))


def test_a_stream_is_scored_whole_where_its_reference_is(run: RunFile) -> None:
    """The same finals in one stream with one reference are one sentence, and the best text still gets 100."""
    whole = " ".join(segment.reference or "" for segment in run.segments)
    last = len(run.segments) - 1
    segments = tuple(
        replace(segment, reference=None, stream="talk", stream_reference=whole if number == last else None)
        for number, segment in enumerate(run.segments)
    )
    measured = MeasuredRun(replace(run, segments=segments), WORD)
    assert figure("BLEU", measured, "rt") == pytest.approx(100.0)
    # One text alone has no interval.
    assert figure("BLEU - rt", measured, "cd") is None
    # The reference of all says nothing about a part.
    part = MeasuredRun(replace(run, segments=segments), WORD, among=[last])
    assert figure("BLEU", part, "rt") is None


def test_partials_as_they_are_shown_are_set_beside_re_translations(measured: MeasuredRun, run: RunFile) -> None:
    assert figure("chrF partials", measured, "rt") is None
    assert figure("chrF partials", measured, "ssbd@0") == (100.0, 100.0, 100.0)
    value, low, _ = figure("chrF partials", measured, "cd")
    assert low <= value < 100
    # An output that ends where its caption does, as one that was stopped early, is no worse.
    captions = {seen.update: seen.caption for stream in measured.methods["ssbd@0"].streams for seen in stream}

    def only_shown(update: Update) -> Update:
        if update not in captions or update.final:
            return update
        caption = captions[update]
        count = len(caption.tokens)
        return replace(update, text=caption.text, tokens=caption.tokens, ends=update.ends[:count], hidden_tokens=0)

    assert figure("chrF partials", MeasuredRun(changed(run, only_shown), WORD), "ssbd@0") == (100.0, 100.0, 100.0)


def test_an_unfinished_run_is_measured_on_what_every_method_did(run: RunFile) -> None:
    # One method of the last segment is missing in the first repeat, the whole last repeat too.
    gone: Unit = (0, len(run.segments) - 1, "cd")
    units = {unit: updates for unit, updates in run.units.items() if unit != gone and unit[0] != 2}
    part = MeasuredRun(replace(run, units=units), WORD)
    assert {len(method.finals) for method in part.methods.values()} == {len(run.segments) - 1}
    assert any("not finished" in note for note in notes_of(part))
    with pytest.raises(UsageError):
        MeasuredRun(replace(run, units={}), WORD)


def test_outputs_that_differ_between_repeats_are_noted(run: RunFile) -> None:
    index = (1, 0, "cd")
    first, *others = run.units[index]
    other = replace(first, tokens=(*first.tokens[:-1], 99))
    twice = replace(run, units={**run.units, index: (other, *others)})
    assert any("1 outputs differ" in note for note in notes_of(MeasuredRun(twice, WORD)))


def test_times_of_repeats_that_differ_are_noted(run: RunFile, measured: MeasuredRun) -> None:
    slower = {
        unit: tuple(replace(update, update_seconds=2 * update.update_seconds) for update in updates)
        for unit, updates in run.units.items()
        if unit[0] == 1 and unit[2] == "rt"
    }
    busy = MeasuredRun(replace(run, units={**run.units, **slower}), WORD)
    assert not any("busy" in note for note in notes_of(measured))
    assert any("busy" in note and "--time cpu" in note for note in notes_of(busy))


@pytest.mark.parametrize("settings", [MeasureSettings("furlong"), MeasureSettings("word", comet=Path("no"))])
def test_what_is_not_there_is_refused(run: RunFile, settings: MeasureSettings) -> None:
    with pytest.raises((UsageError, ModelError)):
        figure("COMET", MeasuredRun(run, settings), "rt")


def test_figures_of_a_draft_model_are_ratios_of_sums(run: RunFile) -> None:
    first = {"output_tokens": 9, "proposed_tokens": 12, "accepted_proposals": 7, "rejected_proposals": 2}
    other = {"output_tokens": 10, "accepted_tokens": 5, "proposed_tokens": 3, "accepted_proposals": 1, "fallbacks": 4}
    stats = [
        DecodingStats(**first, forward_passes=3, draft_seconds=1.0, verification_seconds=3.0),  # type: ignore[arg-type]
        DecodingStats(**other, forward_passes=5, truncated=True),  # type: ignore[arg-type]
        DecodingStats(output_tokens=3, forward_passes=1, stopped=True),
        DecodingStats(output_tokens=3, accepted_tokens=3),  # Its prompt had not changed.
    ]
    methods = "rt", "spec:gamma=2"
    empty = Update(0, 0, "", 0, 0, False, "a", (), "", (), DecodingStats(output_tokens=1, forward_passes=1), 1.0)
    units = {
        (0, 0, "rt"): (*[empty] * 3, replace(empty, final=True)),
        (0, 0, "spec:gamma=2"): tuple(replace(empty, stats=one, final=one is stats[-1]) for one in stats),
    }
    header = replace(run.header, methods=methods, repeats=1)
    drafted = MeasuredRun(RunFile(run.path, header, run.segments[:1], units), WORD)
    alpha = 8 / 10
    written = 9 + 1 + 10 - 5 + 3  # with the end of the first, without what was accepted from the previous output
    expected = {
        "alpha %": 100 * alpha, "tokens/pass": written / 9, "fallback %": 400 / written, "rollback %": 200 / written,
    }  # fmt: skip
    assert {name: figure(name, drafted, "spec:gamma=2") for name in expected} == pytest.approx(expected)
    assert all(figure(name, drafted, "rt") is None for name in expected)


def unit_of(
    segment_id: int, *texts: str, stream: str = "talk", recogniser: float = 0.0
) -> tuple[Segment, list[Update]]:
    """A segment whose words end at 1, 2, 3 ... s, each an update that came a little after; a word is a token."""
    updates = [
        Update(
            repeat=0,
            segment_id=segment_id,
            method="rt",
            update=number,
            order=number,
            final=number == len(texts) - 1,
            source=text,
            tokens=tuple(range(len(text.split()))),
            text=text,
            ends=tuple(len(" ".join(text.split()[:count])) for count in range(1, len(text.split()) + 1)),
            stats=DecodingStats(),
            update_seconds=0.5,
            end=number + 1.0,
            captured=number + 1.0,
            due=number + 1.0 + recogniser,
        )
        for number, text in enumerate(texts)
    ]
    return Segment(segment_id, str(segment_id), texts[-1], stream=stream, start=0.0), updates


def seconds_of(units: MethodUnits, seconds: float) -> dict[int, list[float]]:
    return {segment.segment_id: [seconds] * len(updates) for segment, updates in units}


def lagging(units: MethodUnits, seconds: float = 0.5) -> Lagging:
    streams = shown_captions(units, 0, "de")
    return measure_lagging(
        streams, seconds_of(units, seconds), lambda update: update.text.split(), lambda segment: None
    )


def viewed(units: MethodUnits, mask_k: int = 0, seconds: float = 0.5) -> CaptionMeasures:
    return measure_captions(shown_captions(units, mask_k, "de"), seconds_of(units, seconds))


def lags(units: MethodUnits, seconds: float) -> list[float]:
    return [*viewed(units, seconds=seconds).lags._values]


def test_lag_waits_for_the_recogniser_and_the_translator() -> None:
    units = [unit_of(0, "a", "a b", "a b c", recogniser=0.25)]
    assert lags(units, 0.5) == pytest.approx((0.75, 0.75, 0.75))
    assert (lagging(units).al, lagging(units).al_aware) == pytest.approx((1.0, 1.75))


def test_a_slow_translator_falls_behind() -> None:
    slow = [unit_of(0, "a", "a b", "a b c", recogniser=0.25)]
    assert lags(slow, 2.0) == pytest.approx((2.25, 3.25, 4.25))
    # What is retracted is late by the update that wrote it anew.
    rewritten = [unit_of(0, "a", "x b", "a b c", recogniser=0.25)]
    assert (lagging(rewritten, 2.0).al or 0.0) > (lagging(slow, 2.0).al or 0.0) > 0.0
    assert lags(rewritten, 2.0) == pytest.approx((6.25, 5.25, 4.25))


def test_text_has_no_latency(measured: MeasuredRun) -> None:
    assert measured.baseline.lagging == [Lagging()] * 3
    assert all(measures.lags.median is None for measures in measured.baseline.measures)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4).map(" ".join), min_size=1, max_size=6))
def test_being_aware_of_computation_never_makes_it_earlier(outputs: list[str]) -> None:
    measured = lagging([unit_of(0, *outputs)])
    if measured.laal is not None and measured.laal_aware is not None:
        assert measured.laal_aware >= measured.laal


def test_lag_is_of_streams_that_were_recorded_in_real_time() -> None:
    """At full speed nobody waited for a recogniser; the lagging in source time is there all the same."""
    segment, live = unit_of(0, "a", "a b", "a b c")
    fast = [replace(update, captured=None, due=update.end) for update in live]
    assert viewed([(segment, live)]).lags.percentile(1.0) is not None and viewed([(segment, fast)]).lags.median is None
    assert lagging([(segment, fast)]) == lagging([(segment, live)])
    assert (lagging([(segment, fast)]).al, lagging([(segment, fast)]).al_aware) == pytest.approx((1.0, 1.5))


def test_the_screen_is_all_captions_of_a_stream_as_one_text() -> None:
    units = [unit_of(0, "a b c d", "a b"), unit_of(1, "c d", "c d e")]
    assert viewed(units).screen.ratio == pytest.approx(2 / 5)
    second = [replace(update, order=update.order + 2) for update in units[1][1]]
    again = replace(units[0][1][-1], update=2, order=4, text="x")
    late = [(units[0][0], [*units[0][1], again]), (units[1][0], second)]
    assert viewed(late).screen.ratio == pytest.approx((2 + 5) / 4)


TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=8).map(" ".join), min_size=1, max_size=5)


@given(TEXTS, TEXTS, st.randoms(use_true_random=False), st.integers(0, 3))
def test_segments_that_overlap_are_measured_as_the_panel_measures_them(
    first: list[str], second: list[str], chance: Random, mask_k: int
) -> None:
    """The captions of one stream in the order of time, seen by the monitor of a live run and by the bench."""
    units = [unit_of(0, *first), unit_of(1, *second)]
    turns = [0] * len(first) + [1] * len(second)
    chance.shuffle(turns)
    updates = [iter(unit) for _, unit in units]
    stream = [
        replace(next(updates[turn]), order=order, due=order + 1.25, captured=order + 1.0)
        for order, turn in enumerate(turns)
    ]
    interleaved = [
        (segment, [update for update in stream if update.segment_id == segment.segment_id]) for segment, _ in units
    ]
    monitor, free = Monitor(memory=lambda: None), 0.0
    presenter = Presenter(lambda tokens: one.without_last(len(one.tokens) - len(tokens)))
    for one in stream:
        free = max(free, one.due or 0.0) + 1.5
        heard = Transcript(one.segment_id, one.update, one.source, "", one.final, 0.0, one.end or 0.0, one.captured)
        hidden = 0 if one.final else min(mask_k, len(one.tokens))
        translation = Translation(heard, one.text, one.tokens, one.stats, hidden_tokens=hidden)
        monitor.write(Record(free, presenter.present(translation)))
    panel, bench = monitor.snapshot(), viewed(interleaved, mask_k, seconds=1.5)
    assert (panel.ne_screen, panel.ne_shown) == (bench.screen.ratio, bench.caption_erasure.ratio_of_sums)
    assert (panel.lag_median, panel.lag_p95) == (bench.lags.median, bench.lags.percentile(0.95))
    assert panel.hidden_tokens == bench.hidden_per_caption


def test_the_mask_hides_nothing_of_a_sentence_that_has_ended() -> None:
    segment, (growing, final) = unit_of(0, "a b", "a b")
    assert viewed([(segment, [growing, final])], mask_k=1).hidden_per_caption == 0.5
    assert viewed([(segment, [replace(growing, ended=True), final])], mask_k=1).hidden_per_caption == 0


def test_shown_words_keep_their_forms_as_in_a_live_run() -> None:
    """A presenter of its own for each update would retract the capital's words, and again at the final."""
    unit = unit_of(0, "ja das Haus", "Ja das Haus ist", "Ja das Haus ist gut", "ja das Haus ist gut .")
    assert viewed([unit]).screen.ratio == 0.0


def test_the_mask_hides_what_is_taken_back() -> None:
    unit = unit_of(0, "a b c", "a b x y z")
    masked = viewed([unit], 1)
    assert (masked.screen.ratio, masked.hidden_per_caption) == (0.0, 0.5)
    assert viewed([unit]).screen.ratio == pytest.approx(1 / 5)
    deeper = viewed([unit_of(0, "a b c", "a x")], 1)
    assert (deeper.screen.ratio, deeper.caption_erasure.ratio_of_sums) == (0.5, 0.0)
