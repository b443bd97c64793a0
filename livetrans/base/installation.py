"""Where livetrans runs from: the checkout or the installed package, its extras, and its processes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import weakref
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

_started: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()
"""The processes that `start_python` has started."""
_ahead: dict[str, subprocess.Popen[bytes]] = {}
"""Those of `start_ahead` that nobody has asked for yet, by module."""


def source_tree() -> Path | None:
    """Return the checkout that this package runs from; None for an installed one."""
    tree = Path(__file__).resolve().parents[2]
    return tree if (tree / "pyproject.toml").is_file() else None


def data_folder(name: str) -> Path:
    """Return the folder `models` or `recordings` of the checkout or of the installed package; it need not exist."""
    tree = source_tree()
    return tree / name if tree else Path(__file__).resolve().parents[1] / "data" / name


def user_folder(kind: Literal["data", "config", "cache"]) -> Path:
    """Return the user's folder for livetrans's data, configuration or caches; it need not exist."""
    import platformdirs

    found: Path = getattr(platformdirs, f"user_{kind}_path")("livetrans", appauthor=False)
    return found


def install_command(extra: str) -> str:
    """Return a command line that adds an extra of pyproject.toml to the environment of this interpreter.

    It names the checkout, or the extra's own packages; never livetrans by name, which no package index has.
    """
    tree = source_tree()
    needed = ["-e", f"{tree}[{extra}]"] if tree else _packages(extra)
    return _pip_install(*needed)


def build_command(package: str) -> str:
    """Return a command line that compiles the installed version of a package anew, for this machine."""
    from importlib.metadata import version

    options = "--force-reinstall --no-deps --no-cache-dir --no-binary".split()
    return _pip_install(*options, package, f"{package}=={version(package)}")


def start_python(module: str, *arguments: str, **pipes: IO[Any] | int | None) -> subprocess.Popen[bytes]:
    """Run a module of livetrans as `python -m` does, so that native code may hang, crash or print without harm.

    The process has the import path of this one, and its own session, so that Ctrl-C and a closing terminal do not reach
    it. Its standard error is discarded, unless `pipes` (of `subprocess.Popen`) names another.
    """
    if not arguments and module in _ahead:
        return _ahead.pop(module)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    command = [sys.executable, "-P", "-m", module, *arguments]
    options: dict[str, Any] = {"stderr": subprocess.DEVNULL, **pipes}
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command, env=environment, start_new_session=True, bufsize=0, **options
    )
    _started.add(process)
    return process


def start_ahead(module: str) -> None:
    """Start a module, with pipes, before it is needed: its imports are then over when `start_python` is asked for it.

    It reads from its input what is wanted of it, and ends where its input does.
    """
    with suppress(OSError):
        _ahead[module] = start_python(module, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def started_processes() -> list[int]:
    """Return the ids of the processes that `start_python` has started and that have not been seen to end."""
    return [process.pid for process in list(_started) if process.returncode is None]


def end_started_processes() -> None:
    """End what `start_python` has started: a process that hangs would outlive this one."""
    for process in list(_started):
        process.kill()


def is_installed(module: str) -> bool:
    """Return whether a module of another package could be imported."""
    return find_spec(module) is not None


def _pip_install(*arguments: str) -> str:
    # `uv tool install` makes an environment without pip.
    here = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*(here if is_installed("pip") else ["uv", "pip", "install", "-p", sys.executable]), *arguments])


def _packages(extra: str) -> list[str]:
    # Only advice needs it, and it takes a fifth of the time of `livetrans --help`.
    from importlib.metadata import requires

    wanted = f'extra == "{extra}"'
    split = (line.partition(";") for line in requires("livetrans") or ())
    return [package.strip() for package, _, marker in split if marker.replace("'", '"').strip().endswith(wanted)]
