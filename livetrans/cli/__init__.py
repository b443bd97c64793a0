"""The command line: the only place that composes a run, and the only place that prints an error.

Commands are imported when they are called, so that `livetrans --help` loads no library of models, audio or the screen.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from livetrans import __version__
from livetrans.base.errors import LivetransError, UsageError, sentence
from livetrans.base.installation import end_started_processes, start_ahead
from livetrans.base.text import one_line
from livetrans.cli.declarations import LazyCommand, LazyGroup
from livetrans.cli.messages import discard_output, say
from livetrans.run.signals import HANGUP, leave_terminal

# numpy's BLAS reads this when it is imported. With more threads, the others spin for 0.1 s after each pass.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMANDS = {
    "mic": LazyCommand("livetrans.cli.live", "Show captions for the microphone."),
    "listen": LazyCommand("livetrans.cli.live", "Show captions for what this computer plays."),
    "replay": LazyCommand("livetrans.cli.replay", "Show captions for a recording, a video or a recorded transcript."),
    "sessions": LazyCommand("livetrans.cli.sessions", "List the recorded sessions, print their paths, remove them."),
    "resume": LazyCommand("livetrans.cli.resume", "Finish what a session heard and did not translate."),
    "export": LazyCommand("livetrans.cli.sessions", "Write a session as subtitles, text or JSON lines."),
    "bench": LazyCommand("livetrans.cli.bench", "Measure methods side by side and make the paper's tables."),
    "models": LazyCommand("livetrans.cli.models", "List the models; fetch, check and remove them."),
    "config": LazyCommand("livetrans.cli.options", "Show what the configuration file sets, or write one."),
    "doctor": LazyCommand("livetrans.cli.doctor", "Check this machine, and say how far behind captions will be."),
    "languages": LazyCommand("livetrans.cli.languages", "List the languages for --from and --to."),
    "devices": LazyCommand("livetrans.cli.devices", "List the microphones, the outputs and what plays."),
    "hub": LazyCommand("livetrans.cli.hub", "Make a web server show captions to thousands of readers."),
    "send-test": LazyCommand("livetrans.cli.platforms", "Send a line to YouTube, Zoom or Teams, to try a link."),
    "completion": LazyCommand("livetrans.cli", "Print the completion script of your shell."),
}

COMPLETION_VARIABLE = "_LIVETRANS_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
DEBUG_VARIABLE = "LIVETRANS_DEBUG"

MOST_NAMED = 3
"""Commands that are named for an option of theirs; one that more of them have is too common to help."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of stdout when its disk is full or its terminal is gone; errors of other files name the file."""

cli = LazyGroup(
    "livetrans",
    commands_by_name=COMMANDS,
    params=[click.Option(["--debug"], is_flag=True, expose_value=False, help="Print the traceback of an error.")],
    help="Live, private, translated captions in a terminal. Everything runs on this machine. `livetrans FILE` means "
    "`livetrans replay FILE`.",
    epilog="If your shell does not find livetrans, type the path that you started it with instead.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, message="livetrans %(version)s")(cli)


@click.command("completion")
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def completion_command(shell: str | None) -> None:
    """Print the completion script of SHELL (bash, zsh or fish; by default the one in use).

    \b
    bash: livetrans completion bash > ~/.local/share/bash-completion/completions/livetrans
    zsh:  livetrans completion zsh > a file _livetrans in a folder of your $fpath
    fish: livetrans completion fish > ~/.config/fish/completions/livetrans.fish
    """
    from click.shell_completion import get_completion_class

    name = shell or Path(os.environ.get("SHELL", "")).name
    completion = get_completion_class(name) if name in SHELLS else None
    if completion is None:
        raise UsageError(
            f"the shell in use was not recognised; name it ({', '.join(SHELLS)}): `livetrans completion bash`"
        )
    click.echo(completion(cli, {}, "livetrans", COMPLETION_VARIABLE).source())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code; the console script."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # From here on `run` answers it.
    for number in filter(None, (signal.SIGTERM, HANGUP)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # A terminal that is not UTF-8 lacks most letters.
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["mic"], ["listen"]) and not any(one.startswith("--help") for one in arguments):
        start_ahead("livetrans.audio.capture")
    exit_code = run(arguments)
    if exit_code > 128 or "llama_cpp" in sys.modules or any(thread.daemon for thread in threading.enumerate()):
        # Exit without teardown: a native call of a model may still run in such a thread, and ggml's Metal backend
        # aborts in its own while a model is open, which macOS reports as a crash. And Python ends itself by SIGINT
        # once a KeyboardInterrupt, by whatever signal, left an `exec`, as where a module makes a dataclass.
        _leave_at_once(exit_code)
    sys.exit(exit_code)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """End a command as Ctrl-C does, so that it leaves nothing behind; a second signal ends it at once.

    Raises:
        KeyboardInterrupt: with the signal's number.
    """
    signal.signal(number, signal.SIG_DFL)
    if number == HANGUP:
        leave_terminal()
    raise KeyboardInterrupt(number)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code; prints every error as one sentence to stderr."""
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "livetrans", COMPLETION_VARIABLE, instruction)

    options = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    debug = "--debug" in options or bool(os.environ.get(DEBUG_VARIABLE))
    try:
        os.getcwd()  # CTranslate2's libraries end the process where the current folder is gone.
    except OSError as fault:
        return _report(f"the current folder cannot be used ({fault.strerror}); change to another with cd", 1, debug)
    try:
        # --debug may stand anywhere, and belongs to no command.
        arguments = [one for one in options if one != "--debug"] + list(arguments[len(options) :])
        with cli.make_context("livetrans", arguments) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.NoArgsIsHelpError as fault:
        fault.show()
        return fault.exit_code
    except click.UsageError as fault:
        command = fault.ctx.command_path if fault.ctx else _command_path(arguments)
        message = fault.format_message().rstrip(".")
        if isinstance(fault, click.NoSuchOption):
            message, command = _unknown_option(fault, command, arguments)
        return _report(f"{message}; see `{command} --help`", fault.exit_code, debug)
    except click.ClickException as fault:
        return _report(fault.format_message(), fault.exit_code, debug)
    except LivetransError as fault:
        return _report(str(fault), fault.exit_code, debug)
    except KeyboardInterrupt as fault:
        return _interrupted(fault)
    except click.Abort:
        return 130
    except BrokenPipeError:
        discard_output()
        return 0
    except OSError as fault:
        return _report_system_error(fault, debug)
    except Exception as fault:  # the outermost place: anything else is an error of livetrans
        if isinstance(fault.__cause__, KeyboardInterrupt):  # A native module that is interrupted as it loads raises so.
            return _interrupted(fault.__cause__)
        return _internal_error(fault, debug)


def _interrupted(fault: KeyboardInterrupt) -> int:
    return 128 + (fault.args[0] if fault.args else signal.SIGINT)


def _unknown_option(fault: click.NoSuchOption, command: str, arguments: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with an option that the command does not have, and the command whose help says more."""
    option, is_before_commands = fault.option_name, command == cli.name
    elsewhere = [] if is_before_commands else _commands_with(option)
    if 0 < len(elsewhere) <= MOST_NAMED:
        return f"{option} is an option of {' and '.join(elsewhere)}, not of {command}", elsewhere[0]
    if fault.possibilities:
        known = [name for one in fault.ctx.command.params for name in one.opts] if fault.ctx else []
        swapped = [name for name in known if sorted(name) == sorted(option)]  # click does not think of swapped letters.
        return f"there is no option {option} (did you mean {[*swapped, *fault.possibilities][0]}?)", command
    called = [argument for argument in arguments if argument in COMMANDS]
    if is_before_commands and called:
        return f"write {option} after {called[-1]}", f"{cli.name} {called[-1]}"
    if is_before_commands and _commands_with(option):
        return f"write {option} after the command or the file", command
    return f"there is no option {option}", command


def _commands_with(option: str, group: click.Group = cli, path: str = "livetrans") -> list[str]:
    """Return the commands that have the option, as they are typed."""
    found: list[str] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += _commands_with(option, command, f"{path} {name}")
        elif command is not None and any(option in parameter.opts for parameter in command.params):
            found.append(f"{path} {name}")
    return found


def _command_path(arguments: Sequence[str]) -> str:
    """Return the command that the arguments name, for an error that click raises without saying in which."""
    path = "livetrans"
    group: click.Command | None = cli
    for argument in arguments:
        if not isinstance(group, click.Group):
            break
        found = group.get_command(click.Context(group), argument)
        path, group = (f"{path} {argument}", found) if found else (path, group)
    return path


def _open_closed_streams() -> None:
    """Replace closed standard streams (`<&-`) by /dev/null, so that writing to them does not fail."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def _leave_at_once(exit_code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    end_started_processes()
    os._exit(exit_code)


def _report_system_error(fault: OSError, debug: bool) -> int:
    """Report an error of a named file or of stdout, which the user can correct, or any other as internal."""
    if fault.filename is not None:
        return _report(f"{fault.filename} cannot be used ({fault.strerror}); check its permissions", 1, debug)
    if fault.errno in _FULL:
        discard_output()
        return _report(
            f"the output cannot be written ({fault.strerror}); free some space or choose another place", 1, debug
        )
    return _internal_error(fault, debug)


def _internal_error(fault: Exception, debug: bool) -> int:
    advice = "" if debug else f" with the output of {DEBUG_VARIABLE}=1"
    return _report(f"internal error ({sentence(fault)}); please report it{advice}", 1, debug)


def _report(message: str, exit_code: int, debug: bool) -> int:
    """Print one sentence without control characters; with `debug`, after the traceback."""
    if debug:
        traceback.print_exc()
    line = one_line(message)
    say(f"livetrans: {line}" if line.endswith((".", "?", "!")) else f"livetrans: {line}.")
    return exit_code
