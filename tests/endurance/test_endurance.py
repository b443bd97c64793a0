"""Hours of sound and killed runs: a minute and three of them here, and the whole by `make endurance`."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from .kills import kill
from .soak import soak

HOURS = float(os.environ.get("ENDURANCE_HOURS", 0))
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("translator_path", "recogniser_path")]


@pytest.mark.parametrize("number", range(50 if HOURS else 3))
def test_a_killed_run_leaves_a_whole_session_that_can_be_finished(number: int, tmp_path: Path) -> None:
    done = kill(number, random.Random(number), tmp_path)
    print(done)
    assert done.broken == []


def test_hours_of_sound_lose_no_final_and_memory_and_queues_stay_small(tmp_path: Path) -> None:
    watched, broken = soak(3600 * HOURS or 60.0, 1, 0.8 if HOURS else 4.0, tmp_path / "session")
    print(watched.told())
    assert broken == []
    assert watched.finals_shown > 5
