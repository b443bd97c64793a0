"""One run on the scripted model for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from livetrans.bench.measures import MeasuredRun, MeasureSettings
from livetrans.bench.runfile import RunFile, read_run
from tests.bench.runs import corpus_of, header_of, run_to


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    folder = tmp_path_factory.mktemp("run")
    corpus = corpus_of(folder)
    run_to(folder / "run.jsonl", corpus, header_of(corpus, repeats=3))
    return read_run(folder / "run.jsonl")


@pytest.fixture(scope="session")
def measured(run: RunFile) -> MeasuredRun:
    return MeasuredRun(run, MeasureSettings("word", (3, 5)))


@pytest.fixture
def run_file(run: RunFile, tmp_path: Path) -> Path:
    """A copy of the run, with its source beside it."""
    copy = tmp_path / "run.jsonl"
    copy.write_bytes(run.path.read_bytes())
    corpus_of(tmp_path)
    return copy
