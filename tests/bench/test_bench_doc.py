"""docs/bench.md names every field of the run file and no other, and no column that there is not."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from livetrans.bench.cost import COST_COLUMNS
from livetrans.bench.runfile import Header, Segment, Update
from livetrans.bench.tables import FIGURES, METHOD, TABLES, WORDS

TEXT = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^#{2,3} (.*?)\n(.*?)(?=^#{2,3} |\Z)", TEXT, re.M | re.S))
ITEM = re.compile(r"^- ((?:`[^`]+`(?:, )?)+):", re.M)


def named(section: str) -> list[str]:
    """Return the names that begin the items of a section."""
    return re.findall(r"`([^`]+)`", " ".join(ITEM.findall(SECTIONS[section])))


@pytest.mark.parametrize(("section", "kind"), [("`header`", Header), ("`segment`", Segment), ("`update`", Update)])
def test_every_field_is_documented_and_no_other(section: str, kind: type) -> None:
    assert sorted(named(section)) == sorted(field.name for field in fields(kind))


def test_every_figure_is_in_a_table() -> None:
    shown = {name for kind in TABLES.values() for name in kind.figures}
    assert shown == set(FIGURES)


def test_documented_columns_exist_and_are_explained_in_a_line_of_a_terminal() -> None:
    columns = (METHOD, WORDS, *FIGURES.values(), *COST_COLUMNS)
    assert set(named("Columns")) <= {column.name for column in columns}
    for column in columns:
        assert 0 < len(f"{column.name}: {column.meaning}") <= 100
