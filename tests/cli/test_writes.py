"""What a run writes lies in the user's folders for livetrans."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from livetrans.installation import data_folder

PROGRAM = """
import os, sys
changed = []
def note(event, arguments):
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"):
        names = arguments[: 2 if event == "os.rename" else 1]
        changed.extend(str(name) for name in names if isinstance(name, (str, os.PathLike)))
sys.addaudithook(note)
from livetrans.cli import run
code = run(sys.argv[1:])
print(*dict.fromkeys(changed), sep="\\n")
sys.exit(code)
"""


@pytest.mark.usefixtures("translator_path")
def test_nothing_is_written_outside_of_the_users_folders(tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "replay", "--speed", "max", str(data_folder("recordings") / "demo.jsonl")],
        env=kept | {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    )
    written = [line for line in done.stdout.splitlines() if line.startswith("/") and line != os.devnull]
    assert any(path.endswith("events.jsonl") for path in written)
    assert any(path.endswith("checked-models.json") for path in written)
    files = [path for path in written if not Path(path).is_dir()]
    assert [path for path in written if not path.startswith(f"{home}/")] == []
    assert [path for path in files if "/livetrans/" not in path.removeprefix(str(home))] == []
    assert list(here.iterdir()) == []
