"""The short form of what `soak.py` and `kills.py` do for hours."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .kills import kill
from .soak import soak

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("translator_path", "recogniser_path")]


@pytest.mark.parametrize("number", range(3))
def test_a_killed_run_leaves_a_whole_session_that_can_be_finished(number: int, tmp_path: Path) -> None:
    assert kill(number, random.Random(number), tmp_path).broken == []


def test_a_minute_of_sound_loses_no_final_and_queues_stay_short(tmp_path: Path) -> None:
    watched, broken = soak(60.0, 1, 4.0, tmp_path / "session")
    assert broken == []
    assert watched.finals_shown > 5
