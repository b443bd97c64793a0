"""The commands of "A first hour" in docs/bench.md do what stands beside them, one after the other."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from livetrans.bench.runfile import read_run
from livetrans.cli import run

TREE = Path(__file__).parents[2]
pytest.importorskip("matplotlib", reason="comes with livetrans[bench]")


def commands() -> list[list[str]]:
    text = (TREE / "docs" / "bench.md").read_text(encoding="utf-8")
    section = re.search(r"## A first hour\n(.*?)\n## ", text, re.S)
    assert section is not None
    [block] = re.findall(r"```sh\n(.*?)```", section[1], re.S)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert lines[0] == [".venv/bin/pip", "install", "-e", ".[bench]"]
    return [line[1:] for line in lines[1:]]


def test_the_first_hour_goes_through(
    tmp_path: Path, translator_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On two sentences and a short stream instead of a corpus, and the translator of the tree."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "model.gguf").symlink_to(translator_path)
    (tmp_path / "a.en").write_text("A man in a red shirt is riding a bicycle.\nTwo dogs run.\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("Ein Mann im roten Hemd fährt Fahrrad.\nZwei Hunde rennen.\n", encoding="utf-8")
    (tmp_path / "recordings").mkdir()
    stream = TREE / "recordings" / "pauses.jsonl"
    lines = [line for line in stream.read_text(encoding="utf-8").splitlines() if '"segment_id": 0' in line]
    (tmp_path / "recordings" / "pauses.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr("livetrans.bench.plot.rendered", lambda figure, kind: b"")  # drawn in test_plot.py
    outputs = {}
    for arguments in commands():
        fewer = {"cost": ["--rounds", "1"], "run": ["--methods", "rt,ssbd@0,ssbd@0.2"]}.get(arguments[1], [])
        assert run([*arguments, *fewer]) == 0, capsys.readouterr().err
        outputs[" ".join(arguments[1:])] = capsys.readouterr().out
    assert read_run(tmp_path / "quick.jsonl").header.quick and not read_run(tmp_path / "run.jsonl").header.quick
    assert all(
        "quick" in text for command, text in outputs.items() if command.startswith(("table look", "table quick"))
    )
    assert {path.name for path in (tmp_path / "plots").iterdir()} >= {"bias.png", "quality.svg"}
