"""The promises on the network and on what is written, by watching every call that a run makes to the system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]

WATCHED = """
import json, os, sys

changed = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(77)
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"):
        names = arguments[: 2 if event == "os.rename" else 1]
        changed.extend(str(name) for name in names if isinstance(name, (str, os.PathLike)))

sys.addaudithook(watch)
from livetrans.cli import run
for command in json.loads(sys.argv[1]):
    assert run(command) == 0, command
print(json.dumps(changed))
"""


def _files(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, translator_path: Path, recogniser_path: Path) -> list[Path]:
    """Every path that a replay, its export and `resume` change, `~` the home folder; none of them uses the network.

    Native libraries call the system without Python's knowledge: what one of them writes is found afterwards, as are
    the reports of its use that onnxruntime keeps until they are sent.
    """
    home, here, temporary = (tmp_path_factory.mktemp(name) for name in ("home", "here", "temporary"))
    commands = [
        ["replay", str(TREE / "recordings" / "demo.flac"), "--end", "9", "--offline", "--keep-audio"],
        ["resume"],
        ["export", "--format", "srt"],
    ]
    silent = ("CI", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY")  # With one of them onnxruntime reports nothing.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_") and name not in silent}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, json.dumps(commands)],
        env=kept | {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(here.iterdir()) == _files(temporary) == []
    assert [path for path in _files(home) if "livetrans" not in path.parts] == []
    paths = [Path(path) for path in json.loads(done.stdout.splitlines()[-1]) if path != os.devnull]
    return [Path("~") / path.relative_to(home) if path.is_relative_to(home) else path for path in paths]


def test_captions_need_no_network(written: list[Path]) -> None:
    assert any(path.name == "audio.wav" for path in written), "the process was not ended by its hook"


def test_nothing_is_written_outside_of_the_users_folders(written: list[Path]) -> None:
    home = Path("~")
    files = [path for path in written if path.suffix]
    assert {"events.jsonl", "checked-models.json"} <= {path.name for path in files}
    assert [path for path in written if home not in path.parents] == []
    assert [path for path in files if "livetrans" not in path.parts] == []
