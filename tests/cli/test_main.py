"""What the user sees when a command fails: one sentence on stderr, a fitting exit code, no traceback."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click
import pytest

from livetrans import __version__
from livetrans.base.errors import ModelError, UsageError
from livetrans.cli import COMMANDS, cli, main, run

INTERRUPTED_IMPORT = ImportError("initialization failed")
INTERRUPTED_IMPORT.__cause__ = KeyboardInterrupt(signal.SIGTERM)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | None], None]:
    """Make `livetrans mic` raise."""

    def set_up(fault: BaseException | None) -> None:
        @click.command()
        def command() -> None:
            if fault is not None:
                raise fault

        monkeypatch.setattr(cli, "get_command", lambda context, name: command if name == "mic" else None)

    monkeypatch.delenv("LIVETRANS_DEBUG", raising=False)
    return set_up


@pytest.mark.parametrize(
    ("fault", "exit_code", "sentence"),
    [
        (ModelError("no model; get one"), 1, "livetrans: no model; get one.\n"),
        (UsageError("no such thing."), 2, "livetrans: no such thing.\n"),
        (UsageError("is it\n\x1b[31mred\x1b[0m?"), 2, "livetrans: is it red?\n"),
        (click.BadParameter("bad"), 2, "livetrans: Invalid value: bad; see `livetrans mic --help`.\n"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/root/sessions"),
            1,
            "livetrans: /root/sessions cannot be used (Permission denied); check its permissions.\n",
        ),
        (KeyboardInterrupt(), 130, ""),
        (INTERRUPTED_IMPORT, 143, ""),
        (None, 0, ""),
    ],
)
def test_a_fault_is_one_sentence(
    failing: Callable[[BaseException | None], None],
    capfd: pytest.CaptureFixture[str],
    fault: BaseException | None,
    exit_code: int,
    sentence: str,
) -> None:
    failing(fault)
    assert run(["mic"]) == exit_code
    captured = capfd.readouterr()
    assert captured.err == sentence
    assert captured.out == ""


def test_an_unexpected_fault_is_an_internal_error_and_debug_shows_its_traceback(
    failing: Callable[[BaseException | None], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(KeyError("x"))
    assert run(["mic"]) == 1
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "internal error" in printed and "LIVETRANS_DEBUG=1" in printed and "KeyError" in printed
    for arguments in (["--debug", "mic"], ["mic", "--debug"]):
        assert run(arguments) == 1
        assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["replya"], "did you mean replay?"),
        (["models", "--nonsense"], "livetrans models --help"),
        (["export", "--text"], "livetrans export --help"),
        (["models", "pul"], "there is no command 'pul' (did you mean pull?)"),
        (["pull", "small"], "there is no command 'pull' (did you mean models pull?)"),
        (["bench", "runn"], "there is no command 'runn' (did you mean run?)"),
        (["sessions", "lits"], "there is no command 'lits' (did you mean list?)"),
        (["replay", "x.flac", "--mask"], "livetrans replay --help"),
        (["mic", "--mask-k", "lots"], "'lots' is not a valid whole number"),
        (["mic", "--bias", "lots"], "'lots' is not a valid number"),
        (["sessions", "rm", "--older-than"], "livetrans sessions rm --help"),
        (["replay", "https:/example.org/talk"], "is an address"),
        (["replay", "https://example.org/talk"], "is an address"),
        (["mic", "--with-mic"], "--with-mic is an option of livetrans listen, not of livetrans mic"),
        (["mic", "--compare", "rt"], "see `livetrans replay --help`"),
        (["export", "last", "--older-than", "3"], "--older-than is an option of livetrans sessions rm"),
        (["--serve", "replay", "x.flac"], "write --serve after replay; see `livetrans replay --help`"),
        (["replay", "x.flac", "--form", "en"], "there is no option --form (did you mean --from?)"),
        (["recordings/demo.flac", "--start", "2", "--end", "1"], "--end is not after --start"),
        (["interview"], "there is no command or file 'interview'"),
        (["https://example.org/talk"], "is an address"),
        (["--offline", "talk.flac"], "write --offline after the command or the file; see `livetrans --help`"),
        (["--nonsense"], "there is no option --nonsense; see `livetrans --help`"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("livetrans: ") and printed.count("\n") == 1 and hint in printed


@pytest.mark.parametrize(
    ("file", "answer"),
    [
        ("recordings/demo.fla", "There is no file recordings/demo.fla: did you mean recordings/demo.flac?"),
        ("nosuch.flac", "There is no file nosuch.flac: check the name."),
        ("recordings/nosuch", "There is no file recordings/nosuch: check the name."),
        ("docs", "docs is a folder: name an audio file in it."),
    ],
)
def test_a_file_without_a_command_is_refused_as_by_replay(
    file: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([file], ["replay", file]):
        assert run(arguments) == 1
        assert capsys.readouterr().err == f"livetrans: {answer}\n"


def test_help_lists_every_command_and_is_shown_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed and entry.summary in printed for name, entry in COMMANDS.items())
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"livetrans {__version__}\n"


def test_a_closed_pipe_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        program = [sys.executable, "-m", "livetrans", "completion", "zsh"]
        done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_LIVETRANS_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("mod", "models"),
        ("replay --to de,f", "de,fr"),
        ("mic --from Germ", "German"),
        ("export 2026", "2026-01-01T10-00-00"),
        ("resume la", "last"),
        ("sessions rm 2026-01", "2026-01-01T10-00-00"),
        ("replay 2026", "2026-01-01T10-00-00"),
        ("replay rec", "file,rec"),
    ],
)
def test_completion_completes_commands_languages_sessions_and_files(
    typed: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *names, **settings: tmp_path)
    session = tmp_path / "sessions" / "2026-01-01T10-00-00"
    session.mkdir(parents=True)
    (session / "events.jsonl").touch()
    monkeypatch.setenv("_LIVETRANS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"livetrans {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    assert run([]) == 0
    assert expected in "\n".join(line.removeprefix("plain,") for line in capsys.readouterr().out.splitlines()).split()


def test_completion_needs_a_known_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run(["completion"]) == 2
    printed = capsys.readouterr().err
    assert "(bash, zsh, fish)" in printed and "`livetrans completion bash`" in printed


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-m", "livetrans", "completion", "zsh"]
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "free some space" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_closed_standard_streams_are_not_an_error() -> None:
    shell = f"exec {shlex.quote(sys.executable)} -m livetrans completion zsh <&- >&- 2>&-"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_thread_inside_a_model_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []

    def leave(exit_code: int) -> NoReturn:
        left.append(exit_code)
        raise SystemExit(exit_code)

    monkeypatch.setattr("livetrans.cli.os._exit", leave)
    ended = threading.Event()
    threading.Thread(target=ended.wait, daemon=True).start()
    with pytest.raises(SystemExit):
        main(["--version"])
    ended.set()
    assert left == [0]


def test_help_lists_options_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "FILE" in printed.splitlines()[0]
    assert "  FILE" not in printed.splitlines()


def test_a_current_folder_that_was_removed_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert run(["config", "--path"]) == 1
    assert capsys.readouterr() == (
        "",
        "livetrans: the current folder cannot be used (No such file or directory); change to another with cd.\n",
    )
