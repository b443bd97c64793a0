"""docs/events.md says what the codec writes: every event, every field, and which are measured."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from livetrans.config import Settings
from livetrans.session.codec import EVENTS, OF_TRANSCRIPT, from_dict, is_time, to_dict

DOC = Path(__file__).parents[2] / "docs" / "events.md"
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", DOC.read_text(encoding="utf-8"), re.M | re.S))
ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.M)


def names(kind: type, prefix: str = "") -> set[str]:
    """The event's fields as the document writes them: `stats.output_tokens` for a nested one."""
    found = {*OF_TRANSCRIPT.get(kind, ())}
    for field, hint in get_type_hints(kind).items():
        if kind in OF_TRANSCRIPT and field == "transcript":
            continue
        # docs/events.md names the fields of the settings in its example, and livetrans/config.py explains them.
        nested = [option for option in (hint, *get_args(hint)) if is_dataclass(option) and option is not Settings]
        found.add(prefix + field)
        for option in nested:
            assert isinstance(option, type) and fields(option)
            found |= names(option, f"{prefix}{field}.")
    return found


def test_every_event_is_documented_and_no_other() -> None:
    assert list(SECTIONS) == list(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_every_field_is_documented_with_its_unit_and_whether_it_is_measured(name: str) -> None:
    rows = {field: (unit, measured.strip(), text) for field, unit, measured, text in ROW.findall(SECTIONS[name])}
    assert rows.keys() == names(EVENTS[name]) | ({"version"} if name == "run_started" else set())
    for field, (unit, measured, text) in rows.items():
        assert unit.strip() and text.strip()
        assert measured == ("yes" if is_time(field.split(".")[-1]) else "no"), field


@pytest.mark.parametrize("name", EVENTS)
def test_every_example_is_what_the_codec_writes(name: str) -> None:
    examples = re.findall(r"^```json\n(.*?)\n```$", SECTIONS[name], re.M | re.S)
    assert examples
    for example in examples:
        assert "\n" not in example
        values = json.loads(example)
        assert values["event"] == name
        assert to_dict(from_dict(values)) == values
        assert list(to_dict(from_dict(values))) == list(values)
