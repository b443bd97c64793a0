"""A hall in trouble: short ones here, and twenty whole ones by `make endurance`."""

from __future__ import annotations

import os

import pytest

from livetrans.serve import hub as module
from tests.serve.browser import Browser
from tests.serve.conftest import browser  # noqa: F401
from tests.serve.nginx import SECRET, running_hub

from .chaos import trouble

WHOLE = bool(float(os.environ.get("ENDURANCE_HOURS", 0)))
RUNS = int(os.environ.get("CHAOS_RUNS", 20 if WHOLE else 2))
SHORT = 0.12


@pytest.mark.long
def test_a_page_has_every_line_once_whatever_happens(
    browser: Browser,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(module.SECRET, SECRET)
    if not WHOLE:  # What is away for seconds has to miss as many files.
        monkeypatch.setattr(module, "TAIL_SECONDS", 12 * SHORT)
        for name in ("now", "all"):
            monkeypatch.setitem(module.EVERY, name, module.EVERY[name] * SHORT)
    with running_hub() as hub:
        found = {seed: broken for seed in range(RUNS) if (broken := trouble(hub, browser, seed, 1 if WHOLE else SHORT))}
    print(f"{RUNS - len(found)} of {RUNS} runs without a fault")
    assert not found
