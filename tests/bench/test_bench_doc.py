"""docs/bench.md names every field of the run file and no other, and no column that there is not."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from livetrans.bench.cost import COLUMNS
from livetrans.bench.figures import FIGURES, METHOD, WORDS, column_of
from livetrans.bench.runfile import Header, Segment, Update
from livetrans.bench.tables import COMPARISON, TABLES

TEXT = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^#{2,3} (.*?)\n(.*?)(?=^#{2,3} |\Z)", TEXT, re.M | re.S))
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|$", re.M)


def _names(kind: type, prefix: str = "") -> set[str]:
    found = set()
    for field, hint in get_type_hints(kind).items():
        found.add(prefix + field)
        for option in (hint, *get_args(hint)):
            # The other models have the fields of the translator.
            if is_dataclass(option) and isinstance(option, type) and field not in ("draft_model", "double_model"):
                found |= _names(option, f"{prefix}{field}.")
    return found


@pytest.mark.parametrize(("section", "kind"), [("`header`", Header), ("`segment`", Segment), ("`update`", Update)])
def test_every_field_is_documented_and_no_other(section: str, kind: type) -> None:
    assert set(dict(ROW.findall(SECTIONS[section]))) == _names(kind)


def test_every_figure_is_in_a_table() -> None:
    shown = {name for kind in (*TABLES.values(), COMPARISON) for name in kind.figures}
    assert shown == set(FIGURES)


def test_columns_are_documented_as_explain_says_them() -> None:
    """A column of which nothing more is to be said than its meaning has no row."""
    documented = dict(ROW.findall(SECTIONS["Columns"]))
    columns = (METHOD, WORDS, *map(column_of, FIGURES), *COLUMNS)
    assert set(documented) <= {column.name for column in columns}
    for column in columns:
        assert documented.get(column.name, f"{column.meaning}.").casefold().startswith(f"{column.meaning}.".casefold())
        # A line of a terminal, with the name in front.
        assert 0 < len(f"{column.name}: {column.meaning}") <= 100
