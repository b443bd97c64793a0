"""The rehearsal shows livetrans a Mac, and everything else the true system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "mac"


def seen(code: str, package: str = "livetrans", **variables: str) -> str:
    """Return what a rehearsed process prints that runs the code as a module of the package."""
    pytest.importorskip("mypy")
    if sys.platform != "linux":
        pytest.skip("a Mac is rehearsed on Linux")
    paths = os.pathsep.join((str(HERE / "process"), *filter(None, sys.path)))
    environment = os.environ | {"PYTHONPATH": paths, "PATH": f"{HERE / 'bin'}:{os.environ['PATH']}", **variables}
    run = f"exec({code!r}, {{'__package__': {package!r}, '__name__': '{package}.code'}})"
    ended = subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, text=True, check=False)
    return (ended.stdout + ended.stderr.rpartition("\n\n")[2]).strip().rpartition("\n")[2]


def test_what_macos_lacks_is_not_there() -> None:
    assert seen("import os, sys; print(sys.platform, hasattr(os, 'memfd_create'), hasattr(os, 'fork'))") == (
        "darwin False True"
    )
    assert seen("from select import epoll").startswith("ImportError")
    assert seen("import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1))").startswith("ValueError")
    assert seen("from pathlib import Path; Path('/proc/cpuinfo').read_text()").startswith("FileNotFoundError")
    assert seen("from livetrans.signature import machine; print(machine()['processor'])") == "Apple M3 Pro"


def test_folders_are_those_of_a_mac() -> None:
    code = "import platformdirs; print(platformdirs.user_data_path('livetrans', appauthor=False))"
    assert seen(code, HOME="/home/u", XDG_DATA_HOME="") == "/home/u/Library/Application Support/livetrans"


def test_names_that_differ_in_case_alone_are_one_file(tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r}); open('Talk.srt', 'w'); open('talk.{{}}', 'w')"
    assert seen(code.format("srt")).startswith("AssertionError")
    assert seen(code.format("vtt")) == ""


def test_other_packages_see_the_true_system() -> None:
    assert seen("import os, sys; print(sys.platform, hasattr(os, 'memfd_create'))", "other") == "linux True"
    assert seen("from pathlib import Path; print(bool(Path('/proc/cpuinfo').read_text()))", "other") == "True"
