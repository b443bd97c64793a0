"""Fixtures for what may be absent, and hypothesis's habits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from livetrans import catalogue
from livetrans.errors import ModelError

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of corpora, speech and prototypes: LIVETRANS_SHARED, or `../shared` beside the checkout."""
    folder = catalogue.shared_folder()
    if folder is None or not folder.is_dir():
        pytest.skip(f"no shared folder: set {catalogue.SHARED_VARIABLE}")
    return folder


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
