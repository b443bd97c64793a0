"""`livetrans config`: the file that it writes, and where it says that values come from."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from livetrans.cli import run
from livetrans.cli.configuring import entries_in_force, template
from livetrans.models.local import RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's file would be, in a folder that is not there yet."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda *names, **settings: tmp_path / "config")
    for variable in (RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "config" / "config.toml"


def uncommented(text: str) -> str:
    """The template with every key set; a comment has a space behind its #."""
    return "\n".join(line[1:] if line.startswith("#") and line[1:2].isalpha() else line for line in text.split("\n"))


def test_every_key_of_the_template_is_valid_once_it_is_set(config_file: Path) -> None:
    text = template()
    assert max(map(len, text.splitlines())) <= 80
    assert tomllib.loads(text) == {"mic": {}, "replay": {}}
    config_file.parent.mkdir()
    config_file.write_text(uncommented(text))
    found = entries_in_force(None)
    assert {entry.given[1].name for entry in found if entry.given[1]} == {"DEFAULT_MAP"}
    values = tomllib.loads(uncommented(text))
    assert {entry.key for entry in found if not entry.table} == {key for key in values if key not in ("mic", "replay")}
    assert {entry.key for entry in found if entry.table == "mic"} == set(values["mic"])


def test_the_written_file_changes_nothing(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config"]) == 0
    path, there, *before = capsys.readouterr().out.splitlines()
    assert path == str(config_file) and "not there" in there
    assert run(["config", "--init"]) == 0
    assert capsys.readouterr().out == f"{config_file}\n"
    assert run(["config", "--show"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(config_file), *before]


def test_each_value_says_where_it_came_from(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config_file.parent.mkdir()
    config_file.write_text('to = "fr"\nmask-k = 5\nasr = "lost"\n[mic]\ndevice = "USB"\n')
    monkeypatch.setenv(RECOGNISER_VARIABLE, "/models/whisper\x1b[31m")
    assert run(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    origins = {line.split()[0]: line.split()[1:] for line in lines[1:] if line and line[0].isalpha()}
    assert origins["to"] == ["file", "fr"]
    assert origins["mask-k"] == ["file", "5"]
    assert origins["device"] == ["file", "USB"]
    assert origins["asr"] == [RECOGNISER_VARIABLE, "/models/whisper"]
    assert origins["from"] == ["default", "en"]
    assert origins["bias"] == ["default", "(by", "--calm)"]
    assert max(map(len, lines[1:])) <= 80


def test_a_file_is_overwritten_after_a_yes_only(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_file.parent.mkdir()
    config_file.write_text("mine = 1")
    assert run(["config", "--init"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert config_file.read_text() == "mine = 1"
    assert run(["config", "--init", "--yes"]) == 0
    assert config_file.read_text() == template()


def test_a_wrong_file_is_one_sentence(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_file.parent.mkdir()
    config_file.write_text("mask_k = 5")
    assert run(["config"]) == 2
    assert "did you mean mask-k" in capsys.readouterr().err
    assert run(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{config_file}\n"
    assert run(["config", "--init", "--config", "/proc/no/config.toml"]) == 1
    assert "cannot be written" in capsys.readouterr().err
