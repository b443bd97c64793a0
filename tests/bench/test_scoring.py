"""Figures come from the lines alone, and are what a reader would count by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.rows import Quality
from livetrans.bench.runfile import Run, Segment, Update, read_run
from livetrans.bench.scoring import ScoredRun, ScoringSettings, partials_beside_baseline, score
from livetrans.bench.viewing import Latency, measure_latency, measure_screen
from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.rates import erasure
from livetrans.stats import DecodingStats
from tests.bench.runs import METHODS, corpus_of, header_of, run_to


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    corpus = corpus_of(folder)
    run_to(folder / "run.jsonl", corpus, header_of(corpus, repeats=3))
    return read_run(folder / "run.jsonl")


@pytest.fixture(scope="module")
def scored(run: Run) -> ScoredRun:
    return score(run, ScoringSettings("word", (3, 5)))


def _own(run: Run, method: str, repeat: int = 0) -> list[Update]:
    return [update for update in run.updates if update.method == method and update.repeat == repeat]


@pytest.mark.parametrize("method", METHODS.split(","))
@pytest.mark.parametrize("unit", ["word", "char", "model", "13a"])
def test_erasure_is_counted_by_utterance_and_as_a_ratio_of_sums(run: Run, method: str, unit: str) -> None:
    row = score(run, ScoringSettings(unit)).row(method)
    assert row is not None
    assert row.ne_unit == unit
    k = 3 if "mask" in method else 0
    rates, erased_sum, final_sum = [], 0, 0
    for segment in run.segments:
        texts = [
            update.without_last(0 if update.final else k).split() for update in run.unit(0, segment.segment_id, method)
        ]
        if unit == "char":
            texts = [list("".join(text)) for text in texts]
        erased = sum(erasure(before, after) for before, after in pairwise(texts))
        rates.append(erased / len(texts[-1]))
        erased_sum, final_sum = erased_sum + erased, final_sum + len(texts[-1])
    if unit in ("word", "model", "char"):
        assert row.ne_ratio == pytest.approx(erased_sum / final_sum)
        assert row.ne_mean == pytest.approx(sum(rates) / len(rates))


def test_acceptance_is_a_ratio_of_sums(run: Run, scored: ScoredRun) -> None:
    row = scored.row("ssbd@0.2")
    stats = [update.stats for update in _own(run, "ssbd@0.2")]
    accepted = sum(one.accepted_tokens for one in stats)
    assert row is not None
    assert row.accepted_per_draft == accepted / sum(one.draft_tokens for one in stats)
    assert row.accepted_per_output == accepted / sum(one.output_tokens for one in stats)
    assert scored.rows[0].accepted_per_draft is None


def _median(figure: Spread | None) -> float | None:
    return figure.median if figure else None


def test_speed_is_the_median_of_the_repeats_ratios(run: Run, scored: ScoredRun) -> None:
    """Repeat 1 is made twice as slow for all and repeat 2 ten times as slow for one method: the medians stay."""
    slow = []
    for update in run.updates:
        factor = 2.0 if update.repeat == 1 else 10.0 if update.repeat == 2 and update.method == "cd" else 1.0
        stats = replace(
            update.stats,
            verification_seconds=update.stats.verification_seconds * factor,
            decoding_seconds=update.stats.decoding_seconds * factor,
        )
        slow.append(replace(update, stats=stats, update_seconds=update.update_seconds * factor))
    changed = score(replace(run, updates=tuple(slow)), ScoringSettings("word"))
    for before, after in zip(score(run, ScoringSettings("word")).rows, changed.rows, strict=True):
        assert _median(after.speed.tps_ratio) == pytest.approx(_median(before.speed.tps_ratio))
        assert _median(after.speed.speedup) == pytest.approx(_median(before.speed.speedup))
        assert before.speed.speedup is not None and after.speed.speedup is not None
        times_slower = before.speed.speedup.median / after.speed.speedup.least
        assert times_slower == pytest.approx(10.0 if before.method.startswith("cd") else 1.0, rel=0.2)
    assert scored.rows[0].speed.speedup == scored.rows[0].speed.tps_ratio == (1.0, 1.0, 1.0)


def test_speedup_is_the_ratio_of_update_times(run: Run, scored: ScoredRun) -> None:
    """The whole update counts: twice the time outside the model halves the speedup and leaves tokens per second."""

    def seconds(method: str, repeat: int) -> float:
        return sum(update.update_seconds for update in _own(run, method, repeat))

    row = scored.row("ssbd@0.2")
    assert row is not None
    ratios = sorted(seconds("rt", repeat) / seconds("ssbd@0.2", repeat) for repeat in range(3))
    least, middle, most = ratios
    assert row.speed.speedup == pytest.approx((middle, least, most))
    slower = tuple(
        replace(update, update_seconds=2 * update.update_seconds) if update.method == "ssbd@0.2" else update
        for update in run.updates
    )
    after = score(replace(run, updates=slower), ScoringSettings("word")).row("ssbd@0.2")
    assert after is not None and row.speed.speedup is not None
    assert after.speed.speedup == pytest.approx([each / 2 for each in row.speed.speedup])
    assert after.speed.tps_ratio == row.speed.tps_ratio


def test_speed_counts_verification_and_leaves_the_prompts_own_pass_out(run: Run, scored: ScoredRun) -> None:
    for row in scored.rows:
        if row.mask == "display":
            continue
        own = _own(run, row.method)
        seconds = sum(update.stats.verification_seconds + update.stats.decoding_seconds for update in own)
        assert _median(row.speed.tokens_per_second) == pytest.approx(row.output_tokens / seconds)


def test_of_a_verifying_pass_the_drafts_share_can_be_counted_alone(run: Run, scored: ScoredRun) -> None:
    def rate(method: str) -> float:
        tokens, seconds = 0, 0.0
        for update in _own(run, method):
            stats = update.stats
            new = stats.prompt_tokens - stats.reused_tokens + stats.draft_tokens
            tokens += stats.output_tokens
            seconds += stats.decoding_seconds + stats.verification_seconds * stats.draft_tokens / new
        return tokens / seconds

    for row in scored.rows:
        if row.mask == "none":
            assert _median(row.speed.tps_ratio_shared) == pytest.approx(rate(row.method) / rate("rt"))
            assert row.speed.tps_ratio is not None and row.speed.tps_ratio_shared is not None
            assert row.speed.tps_ratio_shared >= row.speed.tps_ratio


def test_a_display_only_mask_changes_what_is_shown_and_nothing_else(scored: ScoredRun) -> None:
    plain = scored.row("ssbd@0.2")
    assert plain is not None and plain.ne_ratio is not None
    shown = [plain.ne_ratio]
    for k in (3, 5):
        masked = scored.row(f"ssbd@0.2+display{k}")
        assert masked is not None and masked.ne_ratio is not None
        shown.append(masked.ne_ratio)
        assert (masked.mask, masked.mask_k) == ("display", k)
        assert (
            replace(masked, method=plain.method, mask="none", mask_k=0, ne_mean=plain.ne_mean, ne_ratio=plain.ne_ratio)
            == plain
        )
    assert shown == sorted(shown, reverse=True)


def test_continuous_decoding_takes_nothing_back(scored: ScoredRun) -> None:
    for label in ("cd", "ssbd@0.5"):
        row = scored.row(label)
        assert row is not None
        assert row.ne_mean == row.ne_ratio == 0.0
        assert row.accepted_per_draft == 1.0


def test_quality_is_of_finals_against_references(run: Run, scored: ScoredRun) -> None:
    assert scored.rows[0].quality.bleu == pytest.approx(100.0)
    assert scored.rows[0].quality.chrf == pytest.approx(100.0)
    assert all(signature.startswith(("BLEU|", "chrF2|")) for signature in scored.signatures)
    segments = tuple(replace(segment, reference=None) for segment in run.segments)
    bare = score(replace(run, segments=segments), ScoringSettings("word"))
    assert bare.rows[0].quality.bleu is None
    assert not bare.signatures


def test_a_stream_is_scored_whole_where_its_reference_is(run: Run) -> None:
    """The same finals in one stream with one reference are one sentence, and the best text still gets 100."""
    whole = " ".join(segment.reference or "" for segment in run.segments)
    last = len(run.segments) - 1
    segments = tuple(
        replace(segment, reference=None, stream="talk", stream_reference=whole if number == last else None)
        for number, segment in enumerate(run.segments)
    )
    assert score(replace(run, segments=segments), ScoringSettings("word")).rows[0].quality.bleu == pytest.approx(100.0)


def test_an_unfinished_run_is_scored_on_what_every_method_did(run: Run) -> None:
    # The last method of the last segment is missing in the first repeat, the whole last repeat too.
    first = [update for update in run.updates if update.repeat == 0]
    gone = first[-1].unit
    kept = [update for update in run.updates if update.unit != gone and update.repeat != 2]
    part = score(replace(run, updates=tuple(kept)), ScoringSettings("word"))
    assert {row.finals for row in part.rows} == {len(run.segments) - 1}
    assert any("not finished" in note for note in part.notes)
    with pytest.raises(UsageError):
        score(replace(run, updates=()), ScoringSettings("word"))


def test_outputs_that_differ_between_repeats_are_noted(run: Run) -> None:
    index = next(number for number, update in enumerate(run.updates) if update.repeat == 1)
    changed = replace(run.updates[index], tokens=(*run.updates[index].tokens[:-1], 99))
    updates = (*run.updates[:index], changed, *run.updates[index + 1 :])
    assert any(
        note.startswith("1 output") for note in score(replace(run, updates=updates), ScoringSettings("word")).notes
    )


def test_an_unknown_unit_is_refused(run: Run) -> None:
    with pytest.raises(UsageError):
        score(run, ScoringSettings("furlong"))


def _recorded(outputs: list[str], *, seconds: float = 0.5, recogniser: float = 0.25) -> list[Update]:
    """A segment whose words end at 1, 2, 3 ... s, each an update that came a little after it was heard."""
    updates = []
    for number, text in enumerate(outputs):
        end = number + 1.0
        ids = tuple(range(len(text.split())))
        updates.append(
            Update(
                0, 0, "rt", number, number == len(outputs) - 1, "s", ids, text, ids, DecodingStats(), seconds,
                end=end, captured=end + 10, due=end + 10 + recogniser,
            )
        )  # fmt: skip
    return updates


def test_lag_waits_for_the_recogniser_and_the_translator() -> None:
    segment = Segment(0, "talk:1", "s", stream="talk", start=0.0)
    latency = measure_latency([(segment, _recorded(["a", "a b", "a b c"]))], lambda update: update.text.split(), _none)
    assert latency.lags == pytest.approx((0.75, 0.75, 0.75))
    assert latency.average_lagging == pytest.approx(1.0)
    assert latency.average_lagging_aware == pytest.approx(1.75)


def test_a_slow_translator_falls_behind() -> None:
    segment = Segment(0, "talk:1", "s", stream="talk", start=0.0)
    updates = _recorded(["a", "a b", "a b c"], seconds=2.0)
    latency = measure_latency([(segment, updates)], lambda update: update.text.split(), _none)
    assert latency.lags == pytest.approx((2.25, 3.25, 4.25))
    # What is taken back is late by the update that wrote it anew.
    rewritten = measure_latency(
        [(segment, _recorded(["a", "x b", "a b c"], seconds=2.0))], lambda update: update.text.split(), _none
    )
    assert rewritten.average_lagging is not None and latency.average_lagging is not None
    assert rewritten.average_lagging > latency.average_lagging
    assert rewritten.lags == latency.lags


def test_text_has_no_latency(scored: ScoredRun) -> None:
    row = scored.rows[0]
    assert row.latencies == (Latency(),) * 3


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4).map(" ".join), min_size=1, max_size=6))
def test_being_aware_of_computation_never_makes_it_earlier(outputs: list[str]) -> None:
    segment = Segment(0, "talk:1", "s", stream="talk", start=0.0)
    latency = measure_latency([(segment, _recorded(outputs))], lambda update: update.text.split(), _none)
    if latency.laal is not None and latency.laal_aware is not None:
        assert latency.laal_aware >= latency.laal


def _none(_segment: Segment) -> int | None:
    return None


def test_an_absent_comet_is_said(run: Run, tmp_path: Path) -> None:
    from livetrans.errors import ModelError

    with pytest.raises(ModelError):
        score(run, ScoringSettings("word", comet=tmp_path / "no"))


def _unit(segment_id: int, *texts: str, stream: str = "talk") -> tuple[Segment, list[Update]]:
    """Updates of a second each, a word a token; the last is final."""
    updates = [
        Update(
            repeat=0,
            segment_id=segment_id,
            method="rt",
            update=number,
            final=number == len(texts) - 1,
            source=text,
            tokens=tuple(range(len(text.split()))),
            text=text,
            ends=tuple(len(" ".join(text.split()[:count])) for count in range(1, len(text.split()) + 1)),
            stats=DecodingStats(),
            update_seconds=0.5,
            end=number + 1.0,
            captured=number + 1.0,
            due=number + 1.0,
        )
        for number, text in enumerate(texts)
    ]
    return Segment(segment_id, str(segment_id), texts[-1], stream=stream, start=0.0), updates


def test_the_screen_is_all_captions_of_a_stream_as_one_text() -> None:
    split = [_unit(0, "a b c d", "a b"), _unit(1, "c d", "c d e")]
    # What a split moves to the next segment of its stream is not taken back; in another stream it is lost.
    assert measure_screen([split], 0, spaced=True).erasure == 0.0
    apart = [split[0], _unit(1, "c d", "c d e", stream="other")]
    assert measure_screen([apart], 0, spaced=True).erasure == pytest.approx(2 / 5)


def test_the_mask_hides_what_is_taken_back() -> None:
    screen = measure_screen([[_unit(0, "a b c", "a b x y z")]], 1, spaced=True)
    assert (screen.erasure, screen.raw_erasure, screen.hidden_tokens) == (0.0, pytest.approx(1 / 5), 0.5)
    deeper = measure_screen([[_unit(0, "a b c", "a x")]], 1, spaced=True)
    assert (deeper.erasure, deeper.raw_erasure, deeper.segment_erasure) == (0.5, 1.0, 0.0)


def test_time_to_stability_needs_times() -> None:
    segment, updates = _unit(0, "a b", "a c")
    # Words at 1 and 2 s; the first stands since 1.5 s, the second since 2.5 s.
    assert measure_screen([[(segment, updates)]], 0, spaced=True).stability == pytest.approx((0.5, 0.5, 0.5))
    untimed = [replace(update, due=None) for update in updates]
    assert measure_screen([[(segment, untimed)]], 0, spaced=True).stability is None


def test_quality_is_set_beside_re_translations(run: Run, scored: ScoredRun) -> None:
    figures = {row.method: row.quality for row in scored.rows if row.mask != "display"}
    assert figures["rt"].chrf_difference is None and figures["rt"].chrf is not None
    same, worst = figures["ssbd@0"], figures["cd"]
    assert same.chrf_difference == same.bleu_difference == (0.0, 0.0, 0.0)
    assert worst.chrf is not None and worst.chrf_difference is not None
    assert worst.chrf_difference.value == pytest.approx(worst.chrf - figures["rt"].chrf)
    assert worst.chrf_difference.low <= worst.chrf_difference.value <= worst.chrf_difference.high
    assert worst.chrf_difference.value < 0
    assert all("|bs:1000|seed:12345|" in signature for signature in scored.signatures)
    assert score(run, ScoringSettings("word", (3, 5))).rows == scored.rows


def test_partials_are_set_beside_re_translations(run: Run) -> None:
    partials = partials_beside_baseline(run)
    assert set(partials) == set(METHODS.split(",")) - {"rt"}
    assert partials["ssbd@0"] == (100.0, 100.0, 100.0)
    assert partials["cd"].low <= partials["cd"].value < 100


def test_a_run_without_references_has_no_quality(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, references=False)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus, repeats=1))
    unscored = score(read_run(tmp_path / "run.jsonl"), ScoringSettings("word"))
    assert {row.quality for row in unscored.rows} == {Quality()}


def test_lag_is_of_streams_that_were_recorded_in_real_time() -> None:
    """At full speed nobody waited for a recogniser; the lagging in source time is there all the same."""
    segment = Segment(0, "talk:1", "s", stream="talk", start=0.0)
    live = _recorded(["a", "a b", "a b c"], recogniser=0.0)
    fast = [replace(update, captured=None, due=update.end) for update in live]
    figures = [
        measure_latency([(segment, updates)], lambda update: update.text.split(), _none) for updates in (live, fast)
    ]
    assert len(figures[0].lags) == 3 and figures[1] == replace(figures[0], lags=())
    assert figures[1].average_lagging == pytest.approx(1.0) and figures[1].average_lagging_aware == pytest.approx(1.5)
    shown = [measure_screen([[(segment, updates)]], 0, spaced=True) for updates in (live, fast)]
    assert shown[0].stability == shown[1].stability is not None
