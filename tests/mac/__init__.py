"""A Mac rehearsed on Linux, as far as a program can tell: `python -m pytest -p tests.mac PATH ...`, or `make mac`.

`process/sitecustomize.py` says what a process of livetrans sees; its folder on PYTHONPATH gives it to every process
that a test starts. It cannot show Metal, Core Audio, permissions, APFS or a real terminal.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROCESS = str(HERE / "process")

UNFIT: dict[str, str] = {}
"""Tests that cannot run under the rehearsal, by a part of their id; and why."""


def _rehearse() -> None:
    os.environ["PATH"] = os.pathsep.join((str(HERE / "bin"), os.environ["PATH"]))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (PROCESS, os.environ.get("PYTHONPATH"))))
    os.environ |= {"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}
    for variable in ("COLORTERM", "DISPLAY", "WAYLAND_DISPLAY", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ.pop(variable, None)
    multiprocessing.set_start_method("spawn", force=True)
    sys.path.insert(0, PROCESS)
    importlib.import_module("sitecustomize")


if sys.platform != "linux":
    raise pytest.UsageError("a Mac is rehearsed on Linux; here the tests run on the system itself")
if find_spec("mypy") is None:
    raise pytest.UsageError("the rehearsal takes the names that macOS lacks from mypy; run `make check` first")
if "livetrans" in sys.modules:
    raise pytest.UsageError("the rehearsal comes before livetrans is imported: python -m pytest -p tests.mac ...")
if PROCESS not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    _rehearse()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is unfit, with its reason."""
    for item in items:
        for part, reason in UNFIT.items():
            if part in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=f"Mac rehearsal: {reason}"))
