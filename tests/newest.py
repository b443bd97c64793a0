"""The tests with the newest releases of all libraries, in `.venv-newest`: `make newest`.

Upper bounds of pyproject.toml and the versions of constraints.txt are ignored. What is printed last says which
libraries are newer than those that are tested, and whether the tests pass with them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-newest"


def lifted(project: dict[str, object]) -> list[str]:
    """Return what the program and its tests require, without upper bounds and without the project's own extras."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict) and isinstance(project["dependencies"], list)
    required = [*project["dependencies"], *extras["test"], *extras["bench"]]
    return sorted({re.sub(r",?\s*<=?[\w.]+", "", one) for one in required if not one.startswith("livetrans")})


def newer(installed: list[str], pinned: list[str]) -> list[str]:
    """Return the libraries whose installed version is not the pinned one; both are lines of `NAME==VERSION`."""
    versions = dict(line.lower().split("==") for line in pinned if "==" in line)
    now = dict(line.lower().split("==") for line in installed if "==" in line)
    return [
        f"{name} {versions[name]} -> {now[name]}"
        for name in versions
        if now.get(name, versions[name]) != versions[name]
    ]


def main() -> int:
    python = str(FOLDER / "bin/python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    with (ROOT / "pyproject.toml").open("rb") as stream:
        wanted = lifted(tomllib.load(stream)["project"])
    if not FOLDER.exists():
        venv.create(FOLDER, with_pip=True)
    for arguments in (
        ["install", "--upgrade", "--upgrade-strategy", "eager", *wanted],
        ["install", "--no-deps", "-r", "tests/outside-scorers.txt"],
        ["install", "--no-deps", "-e", "."],
    ):
        if subprocess.run([*pip, *arguments], cwd=ROOT, check=False).returncode:
            print("livetrans: the newest releases cannot be installed together; pip says above which.", file=sys.stderr)
            return 1
    tests = [python, "-m", "pytest", "--numprocesses", str(os.cpu_count() or 2), "--dist", "worksteal", *sys.argv[1:]]
    failed = subprocess.run(tests, cwd=ROOT, check=False).returncode
    freeze = subprocess.run([*pip, "freeze"], capture_output=True, text=True, check=True).stdout.splitlines()
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    changed = newer(freeze, pinned)
    print("Newer than constraints.txt:", *(changed or ["nothing"]), sep="\n  ")
    print("Tests fail with them; see above." if failed else "All tests pass with them.")
    return failed


if __name__ == "__main__":
    sys.exit(main())
