"""`livetrans config`: the file that it writes, and where it says that values come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NoReturn

import pytest

from livetrans.base.errors import SourceError
from livetrans.cli import cli, run
from livetrans.cli.options import read_config, template
from livetrans.cli.replay import OFFLINE_STEP, Plan
from livetrans.config import RECOGNISER_VARIABLE, SETTINGS, TRANSLATOR_VARIABLE


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's file would be."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda *names, **settings: tmp_path / "config")
    for variable in (RECOGNISER_VARIABLE, TRANSLATOR_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "config.toml"


def test_every_key_of_the_template_is_one_that_the_file_takes(config_file: Path) -> None:
    text = template()
    assert max(map(len, text.splitlines())) <= 80
    assert tomllib.loads(text) == {"expert": {}}
    keys = re.findall(r"^#([a-z-]+) = ", text, flags=re.MULTILINE)
    assert sorted(keys) == sorted(key for key, setting in SETTINGS.items() if setting.option.in_file)
    # Each with a default takes it; the others show what to write.
    config_file.write_text(re.sub(r'^#(?=[a-z-]+ = (?!"[A-Z[]))', "", text, flags=re.MULTILINE))
    assert {"from", "mask-k", "gamma", "encode-window"} <= read_config(None).keys()
    assert read_config(None)["no-early-stop"] is False


def test_the_written_file_sets_nothing(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_file.parent.rmdir()
    assert run(["config"]) == 0
    assert "not there; `livetrans config --init` writes it" in capsys.readouterr().out
    for arguments in (["config", "--init"], ["config"]):
        assert run(arguments) == 0
        assert capsys.readouterr().out == f"{config_file}\n"


def test_what_is_set_says_where_it_came_from(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config_file.write_text('to = "fr"\nasr = "lost"\ndevice = 3\nplain = true\n[expert]\nmask-k = 5\n')
    monkeypatch.setenv(RECOGNISER_VARIABLE, "/models/whisper\x1b[31m")
    assert run(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines == [
        'to = "fr"',
        f'asr = "/models/whisper\\u001b[31m"  ({RECOGNISER_VARIABLE})',
        'mask-k = "5"',
        'device = "3"',
        "plain = true",
    ]


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
    config_file.write_text('output = "talk.srt"')
    assert run(["mic"]) == 2
    assert "output cannot be set in a file; remove it, and give --output" in capsys.readouterr().err
    assert run(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{config_file}\n"
    assert run(["config", "--init", "--config", "/proc/no/config.toml"]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "step"), [([], OFFLINE_STEP), (["--step", "2"], 2.0)])
def test_an_offline_run_takes_long_steps_whatever_a_listener_has_set(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], step: float
) -> None:
    def opened(plan: Plan, file: str) -> NoReturn:
        raise SourceError(f"step {plan.settings.transcriber.step}")

    config_file.write_text("step = 1.5\n")
    monkeypatch.setattr("livetrans.cli.replay._open", opened)
    with pytest.raises(SourceError, match=f"step {step}"):
        cli.main(["replay", __file__, "--offline", *options], standalone_mode=False)
