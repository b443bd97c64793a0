"""Events as JSON lines: exact round trip, safe lines, times recognised by name, bad files reported in one sentence.

docs/events.md names every event and field, and which are measured.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import SessionError
from livetrans.config import UNNAMED, BetweenSettings, OutputSettings, Settings
from livetrans.events import Caption, Event, Gap, GapReason, Notice, Record, RunStarted, Translation
from livetrans.session import codec
from livetrans.session.codec import from_dict, read_records, to_dict, to_line

from .examples import EVENTS, write_session

SECONDS = st.integers(-(10**12), 10**12).map(lambda count: count / 10**6)
st.register_type_strategy(float, SECONDS)
st.register_type_strategy(Path, st.sampled_from([UNNAMED, Path("whisper-small"), Path("süß.gguf")]))
CODES = st.lists(st.text(), min_size=1).map(tuple)
PAIRS = st.sampled_from([("en", "de"), ("pt-BR", "zh-Hant")])
st.register_type_strategy(BetweenSettings, st.builds(BetweenSettings, PAIRS, st.sampled_from([(), ("Ana", "Ben")])))
PARTS = {field.name: ... for field in fields(Settings)} | {"output": st.just(OutputSettings())}
st.register_type_strategy(Settings, st.builds(Settings, **PARTS | {"sources": CODES, "targets": CODES}))
WRITTEN = [to_dict(Record(float(at), event)) for at, event in enumerate(EVENTS)]
RECORDS = st.builds(Record, at=SECONDS, event=st.one_of(*(st.from_type(kind) for kind in get_args(Event))))


@given(RECORDS)
def test_every_event_survives_its_line(record: Record) -> None:
    line = to_line(record)
    read = from_dict(json.loads(line))
    assert from_dict(json.loads(to_line(record, ascii_only=True))) == read
    assert to_line(read) == line
    if not isinstance(record.event, RunStarted | Translation | Caption):  # Whose lines leave something out.
        assert read == record
    assert line.splitlines() == [line]
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in line)


def test_every_event_has_a_name() -> None:
    assert set(codec.EVENTS.values()) == set(get_args(Event))
    assert {type(event) for event in EVENTS} == set(get_args(Event))


def test_letters_stay_readable_and_escapes_do_not() -> None:
    line = to_line(Record(0.0, Notice("info", "Grüße, 日本 \x1b[31m \x9b31m \u202e \ud800")))
    assert "Grüße, 日本" in line
    assert line.isprintable()
    line.encode("utf-8")


def test_the_line_says_event_and_instant_first_and_rounds() -> None:
    values = to_dict(Record(1.23456789, EVENTS[3]))
    assert list(values)[:2] == ["event", "at"]
    assert (values["event"], values["at"]) == ("transcript", 1.234568)


def test_unknown_fields_are_ignored_and_new_ones_take_their_default() -> None:
    record = Record(0.0, EVENTS[5])
    values = to_dict(record) | {"mood": "good"}
    del values["stats"]["truncated"]
    assert from_dict(values) == from_dict(to_dict(record))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"event": "shout"}, "'shout' is not a kind of event"),
        ({"segment_id": "one"}, r"Expected `int`, got `str` - at `\$.segment_id`"),
        ({"segment_id": True}, r"Expected `int`, got `bool` - at `\$.segment_id`"),
        ({"committed": None}, r"Expected `str`, got `null` - at `\$.committed`"),
        ({"at": None}, r"Expected `float`, got `null` - at `\$.at`"),
        ({"end": 10**400}, r"out of range - at `\$.end`"),
        ({"recognition": 3}, r"got `int` - at `\$.recognition`"),
    ],
)
def test_what_is_not_an_event_is_named(change: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        from_dict(to_dict(Record(0.0, EVENTS[3])) | change)


def test_a_folder_and_its_file_are_the_same_session(tmp_path: Path) -> None:
    file = write_session(tmp_path / "events.jsonl", *EVENTS)
    assert list(read_records(tmp_path)) == list(read_records(file))
    assert [to_dict(record) for record in read_records(file)] == WRITTEN


@given(cut=st.integers(1, 400))
def test_a_crash_costs_at_most_the_line_it_cut(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    file = write_session(tmp_path_factory.mktemp("cut") / "events.jsonl", *EVENTS)
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    notices: list[Notice] = []
    read = [to_dict(record) for record in read_records(file, notices.append)]
    assert read == WRITTEN[: len(read)]
    # A line of which only the line end is missing is whole.
    complete = len(whole[:-cut].splitlines()) - len(notices)
    assert len(read) == complete
    assert all(notice.level == "warning" and str(file) in notice.text for notice in notices)
    assert len(notices) <= 1


NO_FLOATS = [
    f'{{"event": "notice", "level": "info", "text": "x", "at": {at}}}' for at in ("1e999", "-1e999", "9" * 400)
]
DAMAGE = ("{broken", "[1]", "\udcff", "{}", '{"event": "x"}', '{"at": NaN}', "[" * 99999, *NO_FLOATS)


def test_a_damaged_line_is_reported_with_its_number(tmp_path: Path) -> None:
    file = write_session(tmp_path / "s.jsonl", *EVENTS[:2])
    whole = file.read_bytes()
    for damage in DAMAGE:
        file.write_bytes(whole + damage.encode(errors="surrogateescape") + b"\n" + whole)
        with pytest.raises(SessionError, match=r"^line 3 of .*s\.jsonl is not "):
            list(read_records(file))


def test_blank_lines_are_ignored(tmp_path: Path) -> None:
    file = write_session(tmp_path / "s.jsonl", *EVENTS)
    file.write_bytes(b"\n" + file.read_bytes().replace(b"\n", b"\n\n"))
    assert [to_dict(record) for record in read_records(file)] == WRITTEN


@pytest.mark.parametrize(("version", "reason"), [(1, "update livetrans"), (-1, "record it again")])
def test_another_format_is_refused_and_ours_is_written(tmp_path: Path, version: int, reason: str) -> None:
    values = to_dict(Record(0.0, RunStarted({})))
    assert values["version"] == codec.VERSION
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(values | {"version": codec.VERSION + version}) + "\n")
    with pytest.raises(SessionError, match=reason):
        list(read_records(file))


def test_a_missing_session_is_reported_in_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(SessionError, match="There is no session at"):
            list(read_records(path))
    sound = tmp_path / "sound.wav"
    sound.write_bytes(b"RIFF\x00\x01\x02\xff" * 100)
    with pytest.raises(SessionError, match="is not a session: `livetrans sessions`"):
        list(read_records(sound))


DOC = Path(__file__).parents[2] / "docs" / "events.md"
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", DOC.read_text(encoding="utf-8"), re.M | re.S))
ITEM = re.compile(r"^- ((?:`\w+`(?:, )?)+):", re.M)


def test_every_event_is_documented_and_no_other() -> None:
    assert list(SECTIONS) == list(codec.EVENTS)


@pytest.mark.parametrize("name", codec.EVENTS)
def test_every_field_is_documented_and_no_other(name: str) -> None:
    documented = sorted(re.findall(r"\w+", " ".join(ITEM.findall(SECTIONS[name]))))
    written = {key for event in EVENTS for key in to_dict(Record(0.0, event)) if type(event) is codec.EVENTS[name]}
    assert documented == sorted(written - {"event", "at"})


def test_every_reason_of_a_gap_is_documented_and_no_other() -> None:
    reasons = SECTIONS["gap"].partition("`reason`")[2].partition("\n- ")[0]
    assert sorted(re.findall(r"`([\w ]+)`", reasons)) == sorted(GapReason)
    for reason in GapReason:
        line = json.dumps(to_dict(Record(0.0, Gap(1.0, 2.0, reason))))
        assert from_dict(json.loads(line)).event == Gap(1.0, 2.0, reason)


@pytest.mark.parametrize("name", ["transcript", "caption"])
def test_every_example_is_what_the_codec_writes(name: str) -> None:
    examples = re.findall(r"^```json\n(.*?)\n```$", SECTIONS[name], re.M | re.S)
    assert examples
    for example in examples:
        values = json.loads(" ".join(example.split()))
        assert values["event"] == name
        assert to_dict(from_dict(values)) == values
        assert list(to_dict(from_dict(values))) == list(values)
