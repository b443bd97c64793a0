"""A module of livetrans as a Python process of its own, where native code may hang, crash or print without harm."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO, Any


def start_python(module: str, *arguments: str, **pipes: IO[Any] | int | None) -> subprocess.Popen[bytes]:
    """Run `module` as `python -m` does, with the import path of this process and never with the current folder's files.

    The process has its own session, so that Ctrl-C and a closing terminal reach this process only. What its native
    libraries write to standard error goes nowhere, unless `pipes` (of `subprocess.Popen`) says otherwise.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    command = [sys.executable, "-P", "-m", module, *arguments]
    options: dict[str, Any] = {"stderr": subprocess.DEVNULL, **pipes}
    return subprocess.Popen(command, env=environment, start_new_session=True, bufsize=0, **options)
