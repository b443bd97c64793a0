"""`livetrans config`: the file that it writes, and where it says that values come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NoReturn

import pytest

from livetrans.base.errors import SourceError
from livetrans.cli import cli, run
from livetrans.cli.options import read_config, run_command, template
from livetrans.cli.replay import OFFLINE_STEP, Plan
from livetrans.config import RECOGNISER_VARIABLE, SETTINGS, TRANSLATOR_VARIABLE, Settings


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
    for arguments, hint in ((["config", "--init"], "To set a key, remove the #"), (["config"], "It sets nothing")):
        assert run(arguments) == 0
        printed = capsys.readouterr()
        assert printed.out == f"{config_file}\n"
        assert hint in printed.err


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


def test_a_folder_in_its_place_is_named(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config_file.mkdir()
    for arguments, code, reason in (
        (["config"], 2, "read"),
        (["mic"], 2, "read"),
        (["config", "--init"], 1, "written"),
    ):
        assert run(arguments) == code
        assert f"{config_file} cannot be {reason} (Is a directory); " in capsys.readouterr().err


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


def test_a_file_named_in_the_file_is_beside_it_and_looked_for_when_a_run_begins(
    config_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config_file.write_text('glossary = "names.tsv"\nmt = "mine.gguf"\nasr = "whisper-small"\n')
    for command in ("mic", "listen", "replay demo.flac", "doctor"):
        assert run(command.split()) == 2
        assert f"the glossary {config_file.parent / 'names.tsv'} cannot be read" in capsys.readouterr().err
    assert run(["config"]) == 0
    assert 'glossary = "names.tsv"' in capsys.readouterr().out
    (config_file.parent / "names.tsv").write_text("Ana\n")
    (config_file.parent / "mine.gguf").touch()

    @run_command("mic")
    def command(settings: Settings) -> None:
        assert settings.recogniser and settings.recogniser.model == Path("whisper-small")
        assert settings.language_model.model == config_file.parent / "mine.gguf"
        assert [term.text for term in settings.prompt.glossary] == ["Ana"]

    command.main([], standalone_mode=False)


def test_an_option_that_stands_alone_is_true_in_the_file(config_file: Path) -> None:
    config_file.write_text("serve = true\n")
    assert read_config(None) == {"serve": "localhost"}
    assert "\n#serve = true\n" in template()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("config --init --path", "drop --path"),
        ("config --yes", "--yes has no effect without --init"),
        ("sessions --json show last", "--json is for the list"),
        ("models --json path", "--json is for the list"),
        ("models pull whisper-small --from fr --engine whisper.cpp", "--from and --engine choose a pair"),
        ("export --format srt -o x.vtt", "x.vtt does not end in .srt; drop --format"),
    ],
)
def test_an_option_that_another_one_leaves_without_effect_is_refused(
    config_file: Path, line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err and printed.err.count("\n") == 1
    assert not config_file.exists()


def test_a_translator_that_is_named_takes_the_place_of_the_server_in_the_file(config_file: Path) -> None:
    config_file.write_text('mt-server = "big:8080"\n')
    found: list[str] = []

    @run_command("replay")
    def command(settings: Settings) -> None:
        found.append(settings.language_model.server)

    for arguments in ([], ["--mt", "tower"], ["--mt-server", "lab:1"]):
        command.main(arguments, standalone_mode=False)
    assert found == ["http://big:8080", "", "http://lab:1"]
