"""A hub on this machine, an empty home, and nothing of the machine's own models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from livetrans import config
from livetrans.models import find
from tests.models.hub import Hub, serving

VARIABLES = (
    "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "LLAMA_CACHE", "XDG_CACHE_HOME",
    find.MODELS_VARIABLE, config.RECOGNISER_VARIABLE, config.TRANSLATOR_VARIABLE,
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / ".cache/huggingface/hub"))
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[Hub]:
    """A hub that serves."""
    with serving(Hub()) as hub:
        yield hub


@pytest.fixture
def hub(server: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """An empty hub, which the library uses."""
    fresh = Hub(url=server.url, storage=server.url.replace("127.0.0.1", "localhost"))
    vars(server).clear()
    vars(server).update(vars(fresh))
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return server
