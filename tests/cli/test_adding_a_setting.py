"""The setting of docs/adding.md works, and its field, its option and its use are all that the program needs of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from tests.session.examples import transcript, write_session

TREE = Path(__file__).parents[2]
SECTION = (TREE / "docs" / "adding.md").read_text(encoding="utf-8").partition("## A setting")[2].partition("\n## ")[0]
FIELD, OPTION, USE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package to which the setting was added as the document says."""
    package = tmp_path / "livetrans"
    shutil.copytree(TREE / "livetrans", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in (
        ("config.py", "    k: int = 3\n", f"    k: int = 3\n{indent(FIELD, ' ' * 4)}"),
        ("cli/options.py", "\n]\n\n_LISTENING", f"\n{OPTION.strip()},\n]\n\n_LISTENING"),
        ("run/translating.py", "        publish(captions[-1])\n", indent(USE, " " * 8)),
    ):
        text = (package / file).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (package / file).write_text(text.replace(old, new), encoding="utf-8")
    return tmp_path


def test_its_field_its_option_and_its_use_are_all_that_the_program_needs(copy: Path) -> None:
    heard = [transcript(0, count, "", "good morning"[: 4 * count], final=count == 3) for count in (1, 2, 3)]
    stream = write_session(copy / "talk.jsonl", *heard)
    file = copy / "config.toml"
    file.write_text("finals-only = true")
    environment = {**os.environ, "PYTHONPATH": str(copy), "HOME": str(copy), "LIVETRANS_DEBUG": "1"}

    def livetrans(*words: str) -> str:
        command = [sys.executable, "-c", "from livetrans.__main__ import main; main()", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=copy)
        assert done.returncode == 0, done.stderr
        return done.stdout

    mt = str(next((TREE / "models").glob("livetrans-en-de*.gguf")))
    livetrans("replay", str(stream), "--mt", mt, "--speed", "max", "--session", "kept", "--finals-only")
    events = [json.loads(line) for line in (copy / "kept" / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    [started] = (event for event in events if event["event"] == "run_started")
    assert started["settings"]["mask"]["finals_only"] is True
    assert [event["final"] for event in events if event["event"] == "caption"] == [True]
    assert [event["final"] for event in events if event["event"] == "translation"] == [False, False, True]
    assert re.search("finals-only +file +true", livetrans("config", "--config", str(file)))
