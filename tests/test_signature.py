"""What the signature says of the machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from livetrans import signature


def test_the_processor_of_a_mac_is_named_by_sysctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`platform.processor()` says "arm" on every one of them."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("PATH", f"{Path(__file__).parent / 'mac' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert signature.machine()["processor"] == "Apple M3 Pro"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert signature.machine()["processor"]
