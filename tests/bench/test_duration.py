"""A run says how long it will take, from its first units, and marks what was only a quick look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.cli.bench_progress import ENOUGH_SECONDS, Expectation, in_words, show_progress, work_of
from livetrans.clock import ManualClock
from tests.bench.runs import corpus_of, header_of
from tests.terminal import as_standard_error


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30),
    st.floats(0.01, 30.0),
    st.integers(1, 200),
)
def test_a_steady_machine_is_predicted_exactly_and_once(units: list[int], pace: float, sample: int) -> None:
    clock = ManualClock()
    expectation = Expectation(clock, sum(units), sample)
    told, done = [], 0
    for work in units:
        clock.advance(pace * work)
        done += work
        seconds = expectation.add(work)
        if seconds is not None:
            assert done >= sample or clock.now() >= ENOUGH_SECONDS
            told.append(seconds)
    assert told == pytest.approx([pace * sum(units)] if done >= sample or clock.now() >= ENOUGH_SECONDS else [])


def test_durations_have_no_more_digits_than_an_estimate() -> None:
    seconds = (0.1, 42, 94, 100, 13 * 60 + 20, 95 * 60, 9000)
    assert [in_words(each) for each in seconds] == ["5 s", "40 s", "95 s", "2 min", "13 min", "1.6 h", "2.5 h"]


def test_work_is_the_text_of_all_updates(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ["a b c d", "e f"], step=3)
    assert work_of(corpus.segments) == len("a b c") + len("a b c d") + len("e f")


def test_a_bar_begins_at_the_share_done_and_makes_room_for_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, terminal = ManualClock(), as_standard_error(monkeypatch)
    monkeypatch.setattr("livetrans.cli.bench_progress.SystemClock", lambda: clock)
    corpus = corpus_of(tmp_path, ["a b c d e f"] * 40)
    header = header_of(corpus, "rt,cd", repeats=1)
    done = {(0, number, method) for number in range(20) for method in ("rt", "cd")}
    with pytest.raises(KeyboardInterrupt), show_progress(corpus, header, done) as advance:
        for _ in range(20):
            clock.advance(30.0)
            advance(corpus.segments[0])
        raise KeyboardInterrupt
    shown = terminal.getvalue()
    frame = re.search(r"40 of 80 steps (━+)", shown)
    assert frame is not None and 18 <= len(frame[1]) <= 22
    assert re.search(r"(\n|\x1b\[2K)this takes about 20 min; [^\n\x1b]*\n", shown)
    assert shown.endswith("\x1b[1A\x1b[2K")


def test_a_finished_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = corpus_of(tmp_path, ["a b c"])
    header = header_of(corpus, "rt,cd", repeats=1)
    with show_progress(corpus, header, {(0, 0, "rt"), (0, 0, "cd")}):
        pass
    assert capsys.readouterr().err == "all 2 steps were done already\n"


def test_a_long_run_says_how_long_and_what_is_quicker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = ManualClock()
    monkeypatch.setattr("livetrans.cli.bench_progress.SystemClock", lambda: clock)
    corpus = corpus_of(tmp_path, ["a b c d e f"] * 40)
    header = header_of(corpus, "rt,ssbd@0.2", repeats=3)
    done = {(0, number, "rt") for number in range(3)}
    for already in (set[tuple[int, int, str]](), done):
        with show_progress(corpus, header, already) as advance:
            for _ in range(3 * 2 * 40 - len(already)):
                clock.advance(2.0)
                advance(corpus.segments[0])
        said = capsys.readouterr().err
        assert f"this takes about {in_words(2.0 * (240 - len(already)))}" in said
        assert ("3 of 240 steps were done; continuing" in said) == bool(already)
        # 20 of 40 sentences, 2 of 3 repeats.
        assert ("--quick takes about 3 min" in said) == (not already)
        assert said.count("this takes") == 1
