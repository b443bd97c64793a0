"""An empty home folder for all tests, fixtures for what may be absent, and hypothesis's profiles."""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Before a library reads it: tests run side by side, and threads that spin make each other several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from livetrans.base import installation
from tests import environment

# Tests must neither use the models and settings of the user, nor write into his folders.
HOME = tempfile.mkdtemp(prefix="livetrans-tests-home-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ["HOME"] = HOME
for variable in (*environment.SETTINGS, *environment.MODELS, "COLUMNS"):
    os.environ.pop(variable, None)
# matplotlib lists the fonts in seconds: once for all processes.
os.environ.setdefault("MPLCONFIGDIR", os.path.join(tempfile.gettempdir(), "livetrans-tests-matplotlib"))

_IN_CI = bool(os.environ.get("CI"))
settings.register_profile("fast", deadline=None, max_examples=20, derandomize=_IN_CI)
settings.register_profile("whole", deadline=None, derandomize=_IN_CI)  # .ci/run: --hypothesis-profile=whole
settings.register_profile("hours", deadline=None, max_examples=20_000)  # make endurance
settings.load_profile("fast")


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from walking over all modules and tests: a quarter of the time of a screen."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


@pytest.fixture(autouse=True)
def without_gpu_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is chosen by default does not depend on the machine that runs the tests."""
    monkeypatch.setattr("livetrans.models.chosen.has_gpu_engine", lambda: False)
    monkeypatch.setattr("livetrans.models.chosen.has_nvidia", lambda: False)
    monkeypatch.setattr("livetrans.speech.speed.pass_seconds", lambda threads: 0.63)


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
    """The embedded English-German translator."""
    return installation.data_folder("models") / "livetrans-en-de.q8_0.gguf"


@pytest.fixture(scope="session")
def double_path() -> Path:
    """The double-token translator of the tree."""
    return installation.data_folder("models") / "double" / "livetrans-double-en-de.q8_0.gguf"


@pytest.fixture(scope="session")
def cpp_recogniser_path(recogniser_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded recogniser as a file for whisper.cpp."""
    pytest.importorskip("_pywhispercpp", reason="whisper.cpp is not installed: the extra `metal`")
    path = installation.data_folder("models") / "recipes" / "recogniser" / "ggml.py"
    recipe = runpy.run_path(str(path))
    file = tmp_path_factory.mktemp("ggml") / f"{recogniser_path.name}.bin"
    recipe["convert"](recogniser_path, file)
    return file


@pytest.fixture(scope="session", params=["faster-whisper", "whisper.cpp"])
def either_path(request: pytest.FixtureRequest) -> Path:
    """The embedded recogniser for each of the two engines."""
    name = "recogniser_path" if request.param == "faster-whisper" else "cpp_recogniser_path"
    path: Path = request.getfixturevalue(name)
    return path


@pytest.fixture(scope="session")
def recogniser_path() -> Path:
    """The embedded recogniser of English."""
    return installation.data_folder("models") / "livetrans-recogniser-en"
