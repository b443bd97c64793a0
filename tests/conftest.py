"""Fixtures for what may be absent, and hypothesis's habits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Before a library reads it: tests run side by side, and threads that spin make each other several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from livetrans import catalogue
from livetrans.errors import ModelError

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


SHARED = Path(os.environ.get("LIVETRANS_SHARED") or Path(__file__).parents[2] / "shared")
"""Corpora and speech that are not committed: LIVETRANS_SHARED, or `../shared` beside the checkout."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of `speech_name` runs once for every recording; without them one name stands for all, and is skipped."""
    if "speech_name" in metafunc.fixturenames:
        paths = sorted(SHARED.glob("speech/*.wav"))
        names = [pytest.param(path.name, marks=_length_marks(path)) for path in paths]
        metafunc.parametrize("speech_name", names or ["none_empty.wav"])


def _length_marks(path: Path) -> list[pytest.MarkDecorator]:
    """`long` for a recording over ten seconds (16 kHz mono 16 bit), which takes up to a minute to recognise."""
    return [pytest.mark.long] if path.stat().st_size > 10 * 32_000 else []


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder."""
    if not SHARED.is_dir():
        pytest.skip("no shared folder: set LIVETRANS_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def translator_path() -> Path:
    """The small English-German translator."""
    try:
        return catalogue.find_translator(source="en", target="de").path
    except ModelError as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def recogniser_path() -> Path:
    """The small English recogniser."""
    try:
        return catalogue.find_recogniser(language="en").path
    except ModelError as fault:
        pytest.skip(str(fault))
