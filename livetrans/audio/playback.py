"""What the computer plays as a source of live sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from livetrans.audio.capture import OUTPUT, Capture
from livetrans.audio.live import LiveSource
from livetrans.audio.portaudio import ON_A_MAC
from livetrans.audio.pulse import NO_PROGRAM, NO_SERVER
from livetrans.clock import Clock, seconds_asleep
from livetrans.errors import UsageError
from livetrans.events import Gap, Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NO_CHOICE = (
    "On a Mac one program cannot be chosen: drop --app, and let nothing else play on the loopback device meanwhile."
)


def open_playback(program: str | None, clock: Clock, notify: Callable[[Notice | Gap], None]) -> LiveSource:
    """Open what the computer plays: all of it, or one program, given by a part of its name.

    Raises:
        UsageError: several programs match, or the system cannot choose one.
        SourceError: the system does not let it be heard; the sentence says what is missing.
    """
    if program is not None and ON_A_MAC:
        raise UsageError(_NO_CHOICE)
    return Playback(program, clock, notify)


class Playback(LiveSource):
    """What the default output plays, or one program of it; a program that does not play is waited for."""

    gap_reason = "output"
    now = "The output is now '{}'."
    lost = "What this computer plays cannot be heard: restart the sound server; captions go on when it is back."
    back = "What this computer plays is heard again"

    def __init__(
        self,
        program: str | None,
        clock: Clock,
        notify: Callable[[Notice | Gap], None],
        open_capture: Callable[[str | None, None, str], Capture] = Capture,
        asleep: Callable[[], float] = seconds_asleep,
    ) -> None:
        """`program`: a part of its name, or None for all that is played. Errors of the sound server are raised here."""
        capture = open_capture(program, None, OUTPUT)
        wanted = None if program is None else capture.device
        super().__init__(capture, lambda: open_capture(wanted, None, OUTPUT), clock, notify, asleep)
        self._program = wanted
        self._has_played = self._is_awaited = False

    @property
    def name(self) -> str:
        return self._program or f"output ({self._capture.device})"

    def _on_sound(self, samples: NDArray[np.int16]) -> None:
        self._has_played = True
        if self._is_awaited:
            self._is_awaited = False
            self._notify(Notice("info", f"'{self._program}' plays now.", self.gap_reason))

    def _report(self, begin: int, end: int, reason: str) -> None:
        """Report a gap, but not the wait for the first sound: a server renders up to 2 s ahead."""
        if begin or reason != self.gap_reason:
            super()._report(begin, end, reason)

    def _on_absence(self, absence: str) -> None:
        """Report a server that is gone, and a program that does not play."""
        if absence == NO_SERVER or (absence == NO_PROGRAM and self._program is None):
            self._report_loss()
        elif absence == NO_PROGRAM and self._has_played:
            self._notify(Notice("info", f"'{self._program}' has stopped playing; captions go on when it plays again."))
        elif absence == NO_PROGRAM:
            self._is_awaited = True
            waiting = f"'{self._program}' plays nothing yet: captions begin when it does"
            self._notify(Notice("warning", f"{waiting}; `livetrans devices` lists what plays now.", self.gap_reason))
