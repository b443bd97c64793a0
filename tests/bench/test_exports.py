"""The logs that other scorers read, from a run's updates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.exports import ExportedUpdate, exported, simulstream_lines, stream_lines
from livetrans.bench.runfile import Segment, Update
from livetrans.errors import UsageError
from livetrans.stats import DecodingStats

WORDS = st.lists(st.sampled_from(["das", "Haus", "ist", "alt"]), max_size=5).map(tuple)


def update(
    tokens: tuple[str, ...], segment: str = "talk:0", source: str = "the house", at: float = 1.0
) -> ExportedUpdate:
    return ExportedUpdate(segment, source, " ".join(tokens), tokens, at, 0.25)


def parsed(lines: Iterable[str]) -> list[dict[str, Any]]:
    read = list(lines)
    assert all(line.endswith("\n") and line.count("\n") == 1 and line.isascii() for line in read)
    return [json.loads(line) for line in read]


@given(st.lists(st.tuples(st.integers(0, 2), WORDS), max_size=12))
def test_taking_back_and_adding_rebuilds_every_output(stream: list[tuple[int, tuple[str, ...]]]) -> None:
    updates = [update(tokens, f"talk:{segment}") for segment, tokens in stream]
    written: dict[int, list[str]] = {}
    rebuilt = []
    for line in parsed(simulstream_lines(updates)):
        if "metadata" in line:
            assert line["id"] not in written
            written[line["id"]] = []
            continue
        own, deleted = written[line["id"]], line["deleted_tokens"]
        assert own[len(own) - len(deleted) :] == deleted
        written[line["id"]] = own[: len(own) - len(deleted)] + line["generated_tokens"]
        rebuilt.append(tuple(written[line["id"]]))
    assert rebuilt == [tokens for _, tokens in stream]


def test_nothing_is_taken_back_that_is_written_again_at_once() -> None:
    line = parsed(simulstream_lines([update(("das", "Haus")), update(("das", "Heim"))]))[-1]
    assert (line["deleted_tokens"], line["generated_tokens"]) == (["Haus"], ["Heim"])


def test_a_log_line_has_the_times_and_its_segment_is_a_sound_file() -> None:
    metadata, line = parsed(simulstream_lines([update(("das",), segment="talks/one:3", at=2.5)]))
    assert metadata == {"id": 0, "metadata": {"wav_name": "talks_one:3.wav"}}
    assert Path(metadata["metadata"]["wav_name"]).stem == "talks_one:3"
    assert (line["total_audio_processed"], line["computation_time"]) == (2.5, 0.25)


@pytest.mark.parametrize("token", ["", "ein Haus"])
def test_tokens_that_simulstream_would_count_otherwise_are_refused(token: str) -> None:
    with pytest.raises(UsageError, match="talk:0"):
        list(simulstream_lines([update((token,))]))


@given(st.lists(st.tuples(st.sampled_from(["b", "a"]), st.text(max_size=5)), min_size=1, max_size=8))
def test_a_stream_line_has_every_source_and_output_of_its_segment(stream: list[tuple[str, str]]) -> None:
    updates = [ExportedUpdate(name, f"{text}?", text, (), 0.0, 0.0) for name, text in stream]
    lines = parsed(stream_lines(updates))
    assert [line["id"] for line in lines] == list(dict.fromkeys(name for name, _ in stream))
    for line in lines:
        outputs = [text for name, text in stream if name == line["id"]]
        assert line["stream_outs"] == outputs
        assert line["stream_ins"] == [f"{text}?" for text in outputs]
        assert line["source"] == line["stream_ins"][-1]
        assert "segmentation" not in line


def test_a_stream_line_says_how_its_source_was_cut() -> None:
    assert parsed(stream_lines([update(())], {"policy": "interval", "n": 3}))[0]["segmentation"] == {
        "policy": "interval",
        "n": 3,
    }


def record(source: str, text: str, end: float | None = None) -> Update:
    return Update(0, 7, "rt", 0, True, source, (), text, (), DecodingStats(), 0.5, end=end)


def test_a_recorded_update_is_timed_in_its_segment_and_a_text_by_what_was_read() -> None:
    segment = Segment(7, "talk:7", "the old house", None, start=10.0)
    recorded = exported([record("the old", "das alte", end=11.5)], [segment], str.split)
    assert recorded == [ExportedUpdate("talk:7", "the old", "das alte", ("das", "alte"), 1.5, 0.5)]
    typed = [record("the old", "das alte")]
    assert exported(typed, [segment], str.split)[0].source_time == 2.0
    assert exported(typed, [segment], str.split, step_unit="characters")[0].source_time == 7.0
