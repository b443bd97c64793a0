"""The figure of docs/adding.md: its row and its name in a table are all that the program needs of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from livetrans.bench.runfile import RunFile

TREE = Path(__file__).parents[2]
SECTION = (TREE / "docs" / "adding.md").read_text(encoding="utf-8").partition("## A figure")[2].partition("\n## ")[0]
[ROW] = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


def test_its_row_and_its_name_in_a_table_are_all_that_the_program_needs(run: RunFile, tmp_path: Path) -> None:
    shutil.copytree(TREE / "livetrans", tmp_path / "livetrans", ignore=shutil.ignore_patterns("__pycache__"))
    for name, anchor, added in (
        ("figures.py", ")  # fmt: skip\nFIGURES = {", f"    {ROW.strip()},\n"),
        ("tables.py", '"stable s", "hidden",', '"steps", '),
    ):
        file = tmp_path / "livetrans" / "bench" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(anchor) == 1
        file.write_text(text.replace(anchor, f"{added}{anchor}"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "livetrans",
        "bench",
        "table",
        str(run.path),
        "--table",
        "calm",
        "--format",
        "json",
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    [table] = json.loads(done.stdout)["tables"]
    assert table["columns"]["steps"] == "passes over a single new token, an update"
    stats = [
        update.stats for unit, updates in run.units.items() if unit[0] == 0 and unit[2] == "rt" for update in updates
    ]
    assert table["rows"][0]["steps"] == sum(one.decoding_steps for one in stats) / len(stats)
