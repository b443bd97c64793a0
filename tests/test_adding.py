"""The examples of docs/adding.md work, and what the document shows is all that the program needs of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.runfile import read_run
from livetrans.config import DecodingSettings
from livetrans.decoding import DECODERS, Decode, Decoded, Decoding, Draft
from tests.bench.runs import corpus_of, header_of, run_to
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, hashed_rule
from tests.session.examples import transcript, write_session

TREE = Path(__file__).parents[1]
DOCUMENT = (TREE / "docs" / "adding.md").read_text(encoding="utf-8")


def examples(heading: str) -> list[str]:
    """The code of a section."""
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def copy_package(folder: Path, *changes: tuple[str, str, str]) -> None:
    """Copy the package into a folder, with changes: in which file, which text is replaced, and by what."""
    package = folder / "livetrans"
    shutil.copytree(TREE / "livetrans", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in changes:
        text = (package / file).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (package / file).write_text(text.replace(old, new), encoding="utf-8")


def before(file: str, anchor: str, added: str) -> tuple[str, str, str]:
    """Return the change that adds lines before a text."""
    return file, anchor, f"{added}{anchor}"


def python(folder: Path, *words: str | Path, **variables: str) -> str:
    """What Python prints with the package in that folder, which is also the user's home."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "HOME": str(folder), "LIVETRANS_DEBUG": "1", **variables}
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


DECODER, DECODER_ROW = examples("A decoder")
NAMES: dict[str, Decode] = {}
exec(DECODER, NAMES)


def decode(decoder: Decode, model: ScriptedModel, source: list[int], draft: tuple[int, ...], bias: float) -> Decoded:
    prompt = [BEGIN, SOURCE, *source, TARGET]
    return decoder(Decoding(model, prompt, 24), Draft(draft), DecodingSettings(bias=bias))


@given(st.lists(st.integers(4, 20), min_size=1, max_size=8), st.integers(0, 99))
def test_without_bias_the_decoder_writes_what_retranslation_writes(source: list[int], seed: int) -> None:
    plain, drafted = (ScriptedModel(hashed_rule(seed), vocabulary_size=24) for _ in range(2))
    draft: tuple[int, ...] = ()
    for length in range(1, len(source) + 1):
        expected = decode(DECODERS["rt"].decode, plain, source[:length], (), 0.0)
        written = decode(NAMES["fading"], drafted, source[:length], draft, 0.0)
        assert written.tokens == expected.tokens
        draft = written.tokens


def test_a_decoder_is_its_file_and_its_row_and_passes_the_tests_over_all(tmp_path: Path) -> None:
    line, row = DECODER_ROW.strip().split("\n\n")
    table = "decoding/__init__.py"
    copy_package(
        tmp_path,
        before(table, "from livetrans.decoding.window", f"{line}\n"),
        before(table, '        Decoder("rt"', f"        {row},\n"),
    )
    (tmp_path / "livetrans/decoding/fading.py").write_text(DECODER, encoding="utf-8")
    program = """
import livetrans
from livetrans.bench.methods import parse_methods
from livetrans.cli import run
print(livetrans.__file__)
print(*(method.label for method in parse_methods("fading,fading@0.3+exact")))
raise SystemExit(run(["replay", "--help"]))
"""
    place, labels, *help_lines = python(tmp_path, "-c", program, COLUMNS="200").splitlines()
    assert Path(place).is_relative_to(tmp_path)
    assert labels == "rt fading@0.2 fading@0.3+exact"
    explained = " ".join(" ".join(help_lines).split())
    assert "fading translates with a bias that falls with the length of the previous output" in explained
    words = ["-m", "pytest", "-q", "-n0", "-pno:cacheprovider", f"--rootdir={TREE}", "-kfading"]
    both = os.pathsep.join((str(tmp_path), str(TREE)))
    assert " passed" in python(tmp_path, *words, TREE / "tests/decoding/test_decoders.py", PYTHONPATH=both)


def test_a_setting_is_its_field_its_option_and_its_use(tmp_path: Path, translator_path: Path) -> None:
    field, option, use = examples("A setting")
    copy_package(
        tmp_path,
        ("config.py", "    k: int = 3\n", f"    k: int = 3\n{indent(field, ' ' * 4)}"),
        before("cli/options.py", "\n]\n\n_LISTENING", f"\n{option.strip()},"),
        ("run/translating.py", "        publish(caption)\n", indent(use, " " * 8)),
    )
    heard = [transcript(0, count, "", "good morning"[: 4 * count], final=count == 3) for count in (1, 2, 3)]
    stream = write_session(tmp_path / "talk.jsonl", *heard)
    file = tmp_path / "config.toml"
    file.write_text("finals-only = true")
    words = ["replay", stream, "--mt", translator_path, "--speed", "max", "--session", "kept", "--finals-only"]
    python(tmp_path, "-m", "livetrans", *words)
    events = [json.loads(line) for line in (tmp_path / "kept/events.jsonl").read_text(encoding="utf-8").splitlines()]
    [started] = (event for event in events if event["event"] == "run_started")
    assert started["settings"]["mask"]["finals_only"] is True
    assert [event["final"] for event in events if event["event"] == "caption"] == [True]
    assert [event["final"] for event in events if event["event"] == "translation"] == [False, False, True]
    assert re.search("finals-only +file +true", python(tmp_path, "-m", "livetrans", "config", "--config", file))


def test_a_sink_is_its_class_its_opening_its_field_and_its_option(tmp_path: Path, translator_path: Path) -> None:
    sink, opening, field, option = examples("A sink")
    copy_package(
        tmp_path,
        before("session/sinks.py", "def open_records(", f"{sink}\n\n"),
        before("session/sinks.py", "        undo.pop_all()\n", indent(opening, " " * 8)),
        before("config.py", "    record_session: bool = True\n", indent(field, " " * 4)),
        before("cli/options.py", "    config_option,\n]", f"    {option.strip()},\n"),
    )
    stream = write_session(tmp_path / "talk.jsonl", transcript(0, 0, "good morning", final=True))
    words = ["replay", stream, "--mt", translator_path, "--speed", "max", "--no-session", "--count", "count"]
    printed = python(tmp_path, "-m", "livetrans", *words)
    assert (tmp_path / "count").read_text(encoding="utf-8") == f"{len(printed.splitlines())}\n" == "1\n"


def test_a_figure_of_the_benchmark_is_its_row_and_its_name_in_a_table(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    run_to(tmp_path / "run.jsonl", corpus, header_of(corpus))
    row, _, _ = examples("A figure")
    copy_package(
        tmp_path,
        before("bench/figures.py", ")  # fmt: skip\nFIGURES = {", f"    {row.strip()},\n"),
        before("bench/tables.py", '"stable s", "hidden",', '"steps", '),
    )
    words = ["bench", "table", "run.jsonl", "--table", "calm", "--format", "json"]
    [table] = json.loads(python(tmp_path, "-m", "livetrans", *words))["tables"]
    assert table["columns"]["steps"] == "passes over a single new token, an update"
    units = read_run(tmp_path / "run.jsonl").units.items()
    stats = [update.stats for unit, updates in units if unit[0] == 0 and unit[2] == "rt" for update in updates]
    assert table["rows"][0]["steps"] == sum(one.decoding_steps for one in stats) / len(stats)


def test_a_figure_of_the_panel_is_its_field_and_its_line(tmp_path: Path) -> None:
    _, field, line = examples("A figure")
    copy_package(
        tmp_path,
        before("metrics/monitor.py", "    ne_raw: float | None", indent(field, " " * 4)),
        before("tui/numbers.py", '            Number("method"', f"{' ' * 12}{line.strip()},\n"),
    )
    program = """
from livetrans.events import DecodingStats, Record, Transcript, Translation
from livetrans.metrics.monitor import Monitor
from livetrans.tui.status import draw
monitor = Monitor()
for count in (2, 5):
    heard = Transcript(0, count, "", "a", False, 0.0, 1.0)
    monitor.write(Record(1.0, Translation(heard, "b", (), DecodingStats(output_tokens=count))))
print(draw(monitor.snapshot(), "research", (), 40, 60).plain)
"""
    assert re.search("^tokens +3.5$", python(tmp_path, "-c", program), re.MULTILINE)
