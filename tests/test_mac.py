"""The rehearsal shows livetrans a Mac, and everything else the true system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "mac"


def seen(*codes: str, package: str = "livetrans", **variables: str) -> list[str]:
    """Return what a rehearsed process prints for each code as a module of the package, or the name of its error."""
    pytest.importorskip("mypy")
    if sys.platform != "linux":
        pytest.skip("a Mac is rehearsed on Linux")
    paths = os.pathsep.join((str(HERE / "process"), *filter(None, sys.path)))
    environment = os.environ | {"PYTHONPATH": paths, "PATH": f"{HERE / 'bin'}:{os.environ['PATH']}", **variables}
    run = f"""
for code in {codes!r}:
    try:
        exec(code, {{"__package__": {package!r}, "__name__": "{package}.code"}})
    except BaseException as error:
        print(type(error).__name__)
"""
    return subprocess.check_output([sys.executable, "-c", run], env=environment, text=True).splitlines()


def test_what_macos_lacks_is_not_there() -> None:
    answers = {
        "import os, sys; print(sys.platform, hasattr(os, 'memfd_create'), hasattr(os, 'fork'))": "darwin False True",
        "from select import epoll": "ImportError",
        "from pathlib import Path; Path('/proc/cpuinfo').read_text()": "FileNotFoundError",
        "from livetrans.signature import machine; print(machine()['processor'])": "Apple M3 Pro",
        "import platformdirs; print(platformdirs.user_data_path('livetrans', appauthor=False))": (
            "/home/u/Library/Application Support/livetrans"
        ),
    }
    assert seen(*answers, HOME="/home/u", XDG_DATA_HOME="") == list(answers.values())


def test_names_that_differ_in_case_alone_are_one_file(tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r}); open('Talk.srt', 'w'); print(open('talk.{{}}', 'w').name)"
    assert seen(code.format("srt"), code.format("vtt")) == ["AssertionError", "talk.vtt"]


def test_other_packages_see_the_true_system() -> None:
    codes = (
        "import os, sys; print(sys.platform, hasattr(os, 'memfd_create'))",
        "from pathlib import Path; print(bool(Path('/proc/cpuinfo').read_text()))",
    )
    assert seen(*codes, package="other") == ["linux True", "True"]
