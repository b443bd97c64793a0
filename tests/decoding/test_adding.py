"""The decoder of docs/adding.md works, and its file and its row of the table are all that the program needs of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.config import DecodingSettings
from livetrans.decoding import DECODERS, Decode, Decoded, Decoding, Draft
from tests.lm.scripted import BEGIN, SOURCE, TARGET, ScriptedModel, hashed_rule

TREE = Path(__file__).parents[2]
SECTION = (TREE / "docs" / "adding.md").read_text(encoding="utf-8").partition("## A decoder")[2].partition("\n## ")[0]
FILE, ROW = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


def example() -> Decode:
    names: dict[str, Decode] = {}
    exec(FILE, names)
    return names["fading"]


FADING = example()


def decode(decoder: Decode, model: ScriptedModel, source: list[int], draft: tuple[int, ...], bias: float) -> Decoded:
    prompt = [BEGIN, SOURCE, *source, TARGET]
    return decoder(Decoding(model, prompt, 24), Draft(draft), DecodingSettings(bias=bias))


@given(st.lists(st.integers(4, 20), min_size=1, max_size=8), st.integers(0, 99))
def test_without_bias_it_writes_what_retranslation_writes(source: list[int], seed: int) -> None:
    plain = ScriptedModel(hashed_rule(seed), vocabulary_size=24)
    drafted = ScriptedModel(hashed_rule(seed), vocabulary_size=24)
    draft: tuple[int, ...] = ()
    for length in range(1, len(source) + 1):
        expected = decode(DECODERS["rt"].decode, plain, source[:length], (), 0.0)
        written = decode(FADING, drafted, source[:length], draft, 0.0)
        assert written.tokens == expected.tokens
        draft = written.tokens


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package to which the decoder was added as the document says."""
    package = tmp_path / "livetrans"
    shutil.copytree(TREE / "livetrans", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "decoding" / "fading.py").write_text(FILE, encoding="utf-8")
    table = package / "decoding" / "__init__.py"
    text = table.read_text(encoding="utf-8")
    line, row = ROW.strip().split("\n\n")
    for anchor, added in (("from livetrans.decoding.window", line), ('        Decoder("rt"', f"        {row},")):
        assert text.count(anchor) == 1
        text = text.replace(anchor, f"{added}\n{anchor}")
    table.write_text(text, encoding="utf-8")
    return tmp_path


def test_its_file_and_its_row_are_all_that_the_program_needs(copy: Path) -> None:
    program = """
import livetrans
from livetrans.bench.methods import parse_methods
from livetrans.cli import run
print(livetrans.__file__)
print(*(method.label for method in parse_methods("fading,fading@0.3+exact")))
raise SystemExit(run(["replay", "--help"]))
"""
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(copy)}
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=copy
    ).stdout
    place, labels, *help_lines = output.splitlines()
    assert Path(place).is_relative_to(copy)
    assert labels == "rt fading@0.2 fading@0.3+exact"
    assert "fading translates with a bias that falls with the length of the previous output" in " ".join(
        " ".join(help_lines).split()
    )


def test_it_passes_the_tests_over_all_decoders(copy: Path) -> None:
    tests = str(TREE / "tests/decoding/test_decoders.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-pno:cacheprovider", f"--rootdir={TREE}", tests, "-kfading"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(TREE)))},
        capture_output=True, text=True, check=False, cwd=copy,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
