"""How numbers are written."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from livetrans.base.text import duration
from livetrans.config import DecodingSettings, Settings
from livetrans.metrics.monitor import Snapshot
from livetrans.run.backpressure import LEVELS, Level
from livetrans.tui import panel as module
from livetrans.tui.panel import DASH, PEOPLE, RESEARCH, strip_text
from tests.tui.scripted import FULL

PANEL_WIDTH = 22
"""Cells of a line on a terminal of 80 columns."""


def draw(snapshot: Snapshot, panel: str, width: int, height: int) -> str:
    return module.draw(snapshot, panel, width, height).plain


def test_unmeasured_is_a_dash_and_zero_is_zero() -> None:
    for write in (module.ratio, module.percent, module.seconds, module.rate):
        assert write(None) == DASH
        assert write(0.0) != DASH
    assert module.memory(None) == DASH


@pytest.mark.parametrize(
    ("value", "written"), [(0.0, "0:00"), (83.9, "1:23"), (3600.0, "1:00:00"), (7384.0, "2:03:04")]
)
def test_duration(value: float, written: str) -> None:
    assert duration(value) == written


@pytest.mark.parametrize("level", [-1.0, 0.0, 1e-9, 0.001, 0.05, 0.5, 1.0, 2.0])
def test_the_meter_fills_its_cells_and_rises_with_the_level(level: float) -> None:
    full, empty = module.meter(level, 10)
    assert len(full + empty) == 10
    assert module.meter_share(level) <= module.meter_share(level * 2 if level > 0 else 0.1)


@pytest.mark.parametrize(
    "snapshot",
    [
        Snapshot(),
        FULL,
        replace(FULL, paused=True),
        replace(FULL, heard=3723.0, total=5400.0),
        replace(FULL, heard=363_723.0, total=365_400.0, speedup=1234.5, compared_updates=12345),
    ],
)
@pytest.mark.parametrize("panel", ["people", "research"])
@pytest.mark.parametrize("width", [PANEL_WIDTH, 28])
def test_every_row_of_the_panel_has_its_width(snapshot: Snapshot, panel: str, width: int) -> None:
    lines = [line for line in draw(snapshot, panel, width, 24).split("\n") if line]
    assert {len(line) for line in lines} == {width}
    assert len(lines) == 1 + (
        len(PEOPLE.metrics) + 1 if panel == "people" else sum(len(section.metrics) for section in RESEARCH)
    )


@pytest.mark.parametrize("panel", ["people", "research"])
@pytest.mark.parametrize("height", [24, 30, 40])
def test_the_panel_fits_its_terminal(panel: str, height: int) -> None:
    assert len(draw(FULL, panel, 21, height).split("\n")) <= height - 2


def test_settings_of_no_calm_setting_are_custom() -> None:
    snapshot = replace(FULL, settings=Settings(decoding=DecodingSettings(bias=0.3)))
    assert "custom" in draw(snapshot, "people", PANEL_WIDTH, 24)


@pytest.mark.parametrize("panel", ["people", "research"])
def test_the_strip_shows_whole_metrics_as_far_as_they_fit(panel: str) -> None:
    shown = [strip_text(FULL, panel, width) for width in range(8, 100)]
    assert all(len(text) <= width for text, width in zip(shown, range(8, 100), strict=True))
    assert all(longer.startswith(text) for text, longer in pairwise(shown))
    assert "NE 0.14, rt 1.14" in shown[60 - 4 - 8] and "speedup 2.4× (23)" in shown[80 - 4 - 8]
    assert not strip_text(FULL, "off", 60)


def test_captions_are_behind_from_three_seconds_on() -> None:
    written = [module.keeping_up(replace(FULL, delay=delay)) for delay in (None, 0.0, 2.9, 3.0, 12.4)]
    assert written == [DASH, "yes", "yes", "3 s behind", "12 s behind"]


@pytest.mark.parametrize("step", LEVELS[1:], ids=lambda step: step.name)
def test_the_panel_says_how_far_behind_a_run_is_and_what_it_leaves_out(step: Level) -> None:
    snapshot = Snapshot(pressure=step.name, behind_seconds=112.4)
    lines = draw(snapshot, "people", PANEL_WIDTH, 24).splitlines()
    assert [line for line in lines if step.name in line] == [f"{step.name}{'112 s':>{PANEL_WIDTH - len(step.name)}}"]


def test_the_meter_is_empty_while_paused() -> None:
    assert draw(replace(FULL, paused=True), "people", 21, 24).startswith("‖ paused ╌")
    assert "━" in draw(FULL, "people", 21, 24)


def test_the_panel_for_people_says_one_idea_once() -> None:
    """Erasure stands beside re-translation's, once there is one; what is left out is on the other panel."""
    rows = [line.split()[0] for line in draw(FULL, "people", PANEL_WIDTH, 24).split("\n") if line]
    assert rows == ["●", "lag", "keeping", "NE", "speedup", "calm", "p:"]
    alone = replace(FULL, ne_compared=None, ne_retranslation=None)
    assert "0.14, rt 1.14" in draw(FULL, "people", PANEL_WIDTH, 24)
    assert f"NE{0.12:>{PANEL_WIDTH - 2}}" in draw(alone, "people", PANEL_WIDTH, 24)
