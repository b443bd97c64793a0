"""Checks for the tests of the runner: one of each ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil

from tests.real.checks import Check, Figures
from tests.real.here import Here, Skipped, require


def passes(here: Here) -> Figures:
    return {"home": os.environ["HOME"], "folder": str(here.folder)}


def skips(here: Here) -> Figures:
    raise Skipped("there is no tape recorder here")


def fails(here: Here) -> Figures:
    require(False, "the tape is torn")
    return {}


def crashes(here: Here) -> Figures:
    print("about to crash", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def hangs(here: Here) -> Figures:
    """Hang together with a process that has left the session, whose id is in the log."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    print(child.pid, flush=True)
    time.sleep(600)
    return {}


CHECKS = [
    Check(function.__name__, f"The check {function.__name__}.", function, 0.1 if function is hangs else 1.0)
    for function in (passes, crashes, hangs, skips, fails)
]


def is_running(process: int) -> bool:
    """Return whether a process runs; one that has ended may still be listed."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
