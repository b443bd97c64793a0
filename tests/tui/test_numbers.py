"""How numbers are written."""

from __future__ import annotations

import pytest

from livetrans.metrics.monitor import Snapshot
from livetrans.text import duration
from livetrans.tui import numbers
from livetrans.tui.numbers import DASH, GROUPS
from livetrans.tui.panel import draw, strip_text
from tests.tui.scripted import FULL


def test_unmeasured_is_a_dash_and_zero_is_zero() -> None:
    for write in (numbers.ratio, numbers.percent, numbers.seconds, numbers.rate, numbers.estimate):
        assert write(None) == DASH
        assert write(0.0) != DASH
    assert numbers.memory(None) == DASH


def test_an_estimate_says_so() -> None:
    assert numbers.estimate(1.62) == "~1.62×"


@pytest.mark.parametrize(
    ("value", "written"), [(0.0, "0:00"), (83.9, "1:23"), (3600.0, "1:00:00"), (7384.0, "2:03:04")]
)
def test_duration(value: float, written: str) -> None:
    assert duration(value) == written


@pytest.mark.parametrize("level", [-1.0, 0.0, 1e-9, 0.001, 0.05, 0.5, 1.0, 2.0])
def test_the_meter_fills_its_cells_and_rises_with_the_level(level: float) -> None:
    full, empty = numbers.meter(level, 10)
    assert len(full + empty) == 10
    assert numbers.meter_share(level) <= numbers.meter_share(level * 2 if level > 0 else 0.1)


@pytest.mark.parametrize("snapshot", [Snapshot(), FULL])
@pytest.mark.parametrize("width", [21, 28])
def test_every_row_of_the_panel_has_its_width(snapshot: Snapshot, width: int) -> None:
    lines = [line for line in draw(snapshot, width, 24).plain.split("\n") if line]
    assert {len(line) for line in lines} == {width}
    assert len(lines) == 1 + sum(len(group.numbers) for group in GROUPS)


@pytest.mark.parametrize("height", [24, 30, 40])
def test_the_panel_fits_its_terminal(height: int) -> None:
    assert len(draw(FULL, 21, height).plain.split("\n")) <= height - 2


def test_every_number_is_explained_in_a_sentence() -> None:
    for group in GROUPS:
        for number in group.numbers:
            assert number.meaning.endswith(".")


def test_the_strip_fits_60_columns() -> None:
    lines = strip_text(FULL).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 60
