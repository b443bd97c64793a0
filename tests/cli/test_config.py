"""`livetrans config`: the file that it writes, and where it says that values come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from livetrans.cli import run
from livetrans.cli.config import entries, template
from livetrans.models.chosen import RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's file would be."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda *names, **settings: tmp_path / "config")
    for variable in (RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "config.toml"


def uncommented(text: str) -> str:
    """The template with every key set, examples too; another comment has a space behind its #."""
    return re.sub(r"^#( Example: )?(?=[a-z-]+ = )", "", text, flags=re.MULTILINE)


def test_every_key_of_the_template_is_valid_once_it_is_set(config_file: Path) -> None:
    text = template()
    assert max(map(len, text.splitlines())) <= 80
    assert tomllib.loads(text) == {}
    # A glossary is read as soon as it is named.
    config_file.write_text(re.sub(r"^glossary = .*$", "", uncommented(text), flags=re.MULTILINE))
    found = entries(in_force=True)
    origins = {entry.key: source.name for entry in found if (source := entry.value[1])}
    assert origins.pop("glossary") == "DEFAULT" and set(origins.values()) == {"DEFAULT_MAP"}
    assert {entry.key for entry in found} == tomllib.loads(uncommented(text)).keys()


def test_the_written_file_changes_nothing(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config"]) == 0
    config_file.parent.rmdir()
    path, there, *before = capsys.readouterr().out.splitlines()
    assert path == str(config_file) and "not there" in there
    assert run(["config", "--init"]) == 0
    assert capsys.readouterr().out == f"{config_file}\n"
    assert run(["config", "--show"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(config_file), *before]


def test_a_key_set_to_its_default_changes_no_run(config_file: Path, tmp_path: Path) -> None:
    """Examples stay comments: to take the # away must not remove sessions or write files."""
    config_file.write_text(re.sub(r"^#(?=[a-z-]+ = )", "", template(), flags=re.MULTILINE))
    lines = config_file.read_text().splitlines()
    for key in ("keep-sessions", "jsonl", "session", "asr", "mt", "show-source", "window", "theme"):
        assert any(line.startswith(f"# Example: {key} = ") for line in lines)
    for setting in ("bias = 0.0", "live-window = 7", "mask-k = 3", 'mask = "display"', 'final = "careful"'):
        assert setting in lines


def test_values_chosen_by_calm_are_those_in_force(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, bias, window in (('calm = "faithful"', "0", "160"), ('method = "paper"\nlive-window = 5', "0.2", "5")):
        config_file.write_text(content)
        assert run(["config"]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert f"bias default {bias} (by --calm)" in printed and f" {window}" in printed.partition("live-window")[2]


def test_each_value_says_where_it_came_from(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config_file.write_text('to = "fr"\nmask-k = 5\nasr = "lost"\ndevice = "USB"\n')
    monkeypatch.setenv(RECOGNISER_VARIABLE, "/models/whisper\x1b[31m")
    assert run(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    origins = {line.split()[0]: line.split()[1:] for line in lines[1:] if line and line[0].isalpha()}
    assert origins["to"] == ["file", "fr"]
    assert origins["mask-k"] == ["file", "5"]
    assert origins["device"] == ["file", "USB"]
    assert origins["asr"] == [RECOGNISER_VARIABLE, "/models/whisper"]
    assert origins["from"] == ["default", "en"]
    assert origins["bias"] == ["default", "0", "(by", "--calm)"]
    assert max(map(len, lines[1:])) <= 80


def test_a_file_is_overwritten_after_a_yes_only(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_file.write_text("mine = 1")
    assert run(["config", "--init"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert config_file.read_text() == "mine = 1"
    assert run(["config", "--init", "--yes"]) == 0
    assert config_file.read_text() == template()


def test_a_wrong_file_is_one_sentence(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_file.write_text("mask_k = 5")
    assert run(["config"]) == 2
    assert "did you mean mask-k" in capsys.readouterr().err
    assert run(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{config_file}\n"
    assert run(["config", "--init", "--config", "/proc/no/config.toml"]) == 1
    assert "cannot be written" in capsys.readouterr().err
