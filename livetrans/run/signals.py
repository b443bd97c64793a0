"""The signals that end a run: Ctrl-C, SIGTERM, and the hang-up of a terminal."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from livetrans.base.installation import end_started_processes

if TYPE_CHECKING:
    from livetrans.run.runner import Run

HANGUP = getattr(signal, "SIGHUP", None)
"""What a terminal sends when it closes; Windows has no such signal."""
_ENDING_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([HANGUP] if HANGUP else [])]
_POLL_SECONDS = 0.1
_STALLED_CHECKS = 10
"""Seconds for which the screen may not ask for signals after one has come."""


@contextlib.contextmanager
def ending_signals(*, on_terminal: bool = False) -> Iterator[Callable[[], int]]:
    """Count Ctrl-C, SIGTERM and hang-ups instead of ending the process. Yield a function that returns the count.

    The handlers do nothing else: they interrupt the main thread anywhere, also where it holds a lock.
    """
    received = 0

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal received
        received += 1
        if number == HANGUP:
            leave_terminal()

    before = {kind: signal.getsignal(kind) for kind in _ENDING_SIGNALS}
    for kind in before:
        # `nohup` ignores hang-ups; but a screen whose terminal has gone would wait for ever.
        if on_terminal or kind != HANGUP or before[kind] is not signal.SIG_IGN:
            signal.signal(kind, handle)
    try:
        yield lambda: received
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def end_without_terminal(run: Run, count: Callable[[], int], asked: threading.Event, has_left: threading.Event) -> None:
    """End the program on a signal while the screen hangs: its terminal takes nothing, as over a frozen connection.

    `asked` is set whenever the screen has asked for signals.
    """
    silent = 0
    while not has_left.wait(1.0):
        silent = 0 if asked.is_set() or not count() else silent + 1
        asked.clear()
        if silent >= _STALLED_CHECKS:
            break
    else:
        return
    run.stop()
    with contextlib.suppress(Exception):  # Nobody could read of a failure.
        while count() < 2 and not run.join(_POLL_SECONDS):
            pass
    end_started_processes()
    os._exit(1)


def leave_terminal() -> None:
    """Redirect output to the null device once the terminal is gone: a failing write would end the run.

    This runs in the signal handler, as the next write may come first; it makes system calls only, without locks.
    """
    import termios

    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            # Files and pipes give ENOTTY; a terminal can be there still, as after `kill -HUP`, and gives no error.
            if error.args[0] == errno.EIO:
                os.dup2(nowhere, descriptor)
    os.close(nowhere)
