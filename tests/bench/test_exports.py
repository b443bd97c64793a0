"""The log that simulstream reads, from a run's updates."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from livetrans.bench.runfile import RunFile
from livetrans.bench.updates import simulstream_log
from livetrans.errors import UsageError
from tests.bench.runs import METHODS


def test_taking_back_and_adding_rebuilds_every_output(run: RunFile) -> None:
    for method in METHODS.split(","):
        written: dict[int, list[str]] = {}
        rebuilt = []
        for text in simulstream_log(run, method, "char"):
            assert text.endswith("\n") and text.count("\n") == 1 and text.isascii()
            line = json.loads(text)
            if "metadata" in line:
                assert line["id"] not in written
                written[line["id"]] = []
                continue
            before, deleted = written[line["id"]], line["deleted_tokens"]
            kept = before[: len(before) - len(deleted)]
            assert [*kept, *deleted] == before
            # Nothing is taken back that is written again at once.
            assert not deleted or deleted[:1] != line["generated_tokens"][:1]
            written[line["id"]] = kept + line["generated_tokens"]
            rebuilt.append("".join(written[line["id"]]))
        outputs = [update.text for units in run.units_of(method, run.segments) for update in units]
        assert rebuilt == [output.replace(" ", "") for output in outputs]


def test_a_recorded_update_is_timed_in_its_segment_and_a_text_by_what_was_read(run: RunFile) -> None:
    [*_, last] = map(json.loads, simulstream_log(run, "rt", "word"))
    assert last["total_audio_processed"] == len(run.segments[-1].source.split())
    [*_, update] = run.units[0, run.segments[-1].segment_id, "rt"]
    assert last["computation_time"] == update.update_seconds
    segments = tuple(replace(segment, name="talks/one:3", start=10.0) for segment in run.segments)
    units = {unit: [replace(one, end=11.5) for one in updates] for unit, updates in run.units.items()}
    first, second, *_ = map(json.loads, simulstream_log(replace(run, segments=segments, units=units), "rt", "word"))
    assert first["metadata"] == {"wav_name": "talks_one:3.wav"} and second["total_audio_processed"] == 1.5


def test_what_is_not_there_is_refused(run: RunFile) -> None:
    for method, unit in (("ssbd@0.7", "word"), ("rt", "furlong")):
        with pytest.raises(UsageError):
            list(simulstream_log(run, method, unit))
