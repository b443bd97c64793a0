"""The sink of docs/adding.md works, and its class, its field and its option are all that the program needs of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

from .examples import transcript, write_session

TREE = Path(__file__).parents[2]
SECTION = (TREE / "docs" / "adding.md").read_text(encoding="utf-8").partition("## A sink")[2].partition("\n## ")[0]
CLASS, OPENING, FIELD, OPTION = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


def test_its_class_its_field_and_its_option_are_all_that_the_program_needs(
    tmp_path: Path, translator_path: Path
) -> None:
    package = tmp_path / "livetrans"
    shutil.copytree(TREE / "livetrans", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, anchor, added in (
        ("session/sinks.py", "def open_records(", f"{CLASS}\n\n"),
        ("session/sinks.py", "        undo.pop_all()\n", indent(OPENING, " " * 8)),
        ("config.py", "    record_session: bool = True\n", indent(FIELD, " " * 4)),
        ("cli/options.py", "    config_option,\n]", f"    {OPTION.strip()},\n"),
    ):
        text = (package / file).read_text(encoding="utf-8")
        assert text.count(anchor) == 1
        (package / file).write_text(text.replace(anchor, f"{added}{anchor}"), encoding="utf-8")
    stream = write_session(tmp_path / "talk.jsonl", transcript(0, 0, "good morning", final=True))
    words = ["replay", str(stream), "--mt", str(translator_path), "--speed", "max", "--no-session", "--current", "now"]
    command = [sys.executable, "-c", "from livetrans.__main__ import main; main()", *words]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout and (tmp_path / "now").read_text(encoding="utf-8") == done.stdout
