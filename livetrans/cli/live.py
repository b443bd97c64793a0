"""`livetrans mic` and `livetrans listen`: captions for what is spoken into the microphone, and for what is played.

What is not needed to open the device is imported while it opens, because nobody waits for a program to begin to speak.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import UsageError
from livetrans.cli.messages import warn
from livetrans.cli.options import choose_for, run_command, run_option
from livetrans.config import TRANSCRIPT_ONLY, MeetingSettings, Settings
from livetrans.events import Gap, Notice, Origin
from livetrans.run.postponed import Postponed

if TYPE_CHECKING:
    from livetrans.audio.live import LiveSource

_NO_MICROPHONE = (
    "the microphone is set to what this computer plays, which would be heard twice; choose another in the system's "
    "sound settings or with --device, or drop --with-mic"
)

yes_option = run_option("--yes", is_flag=True, everyday=True, help="Fetch missing models without asking.")


@run_command("mic")
@yes_option
def mic_command(settings: Settings, yes: bool) -> int:
    """Show captions for what is spoken into the microphone, until q or Ctrl-C."""
    from livetrans.audio.live import Microphone

    clock, notices = SystemClock(), Postponed[Notice | Gap]()
    return run_captured([(Microphone(settings.device, clock, notices), notices)], settings, clock, yes=yes)


@run_command("listen")
@run_option("--app", "program", metavar="NAME", everyday=True, help="Listen to one program only: a part of its name.")
@yes_option
@run_option("--with-mic", is_flag=True, everyday=True, help="Hear the microphone too, as a second track.")
def listen_command(settings: Settings, program: str | None, yes: bool, with_mic: bool) -> int:
    """Show captions for what this computer plays (a call, a video), until q or Ctrl-C.

    That is what its default output plays, or with --app what one program plays; `livetrans devices` lists both. With
    --with-mic it also shows what you say: --from en --me de translates a meeting in English both ways.
    """
    from livetrans.audio.live import Microphone, Playback

    if program is not None and not program.strip():
        raise UsageError("--app needs a part of a program's name; `livetrans devices` lists the programs that play now")
    clock, notices = SystemClock(), Postponed[Notice | Gap]()
    playback = Playback(program, clock, notices)
    sources: list[tuple[LiveSource, Postponed[Notice | Gap]]] = [(playback, notices)]
    meeting = settings.meeting or MeetingSettings()
    settings = replace(settings, meeting=meeting if with_mic else None)
    if with_mic:
        # Fixed now, because keys change the languages of the others.
        mine = settings.for_microphone()
        target = TRANSCRIPT_ONLY if mine.source_language == mine.target_language else mine.target_language
        settings = replace(settings, meeting=MeetingSettings(mine.source_language, target, meeting.names))
        try:
            notices = Postponed[Notice | Gap]()
            microphone = Microphone(settings.device, clock, notices)
            sources.append((microphone, notices))
            if microphone.hears_output(playback.device):
                raise UsageError(_NO_MICROPHONE)
        except BaseException:
            for source, _ in sources:
                source.close()
            raise
    return run_captured(sources, settings, clock, yes=yes)


def run_captured(
    sources: Sequence[tuple[LiveSource, Postponed[Notice | Gap]]], settings: Settings, clock: Clock, *, yes: bool
) -> int:
    """Run on live sound, and close its sources: one, or what the computer plays and the microphone.

    Return the exit code. They are open before models are chosen, so that no gigabytes are fetched for one that is
    missing. They capture once models are chosen, before any is loaded.
    """
    from livetrans.cli.models import offer_models
    from livetrans.models.chosen import embedded_notice
    from livetrans.run.opening import from_live
    from livetrans.run.places import check_places

    with contextlib.ExitStack() as opened:
        for source, _ in sources:
            opened.callback(source.close)
        check_places(settings)
        offer_models(settings, yes=yes)
        settings = choose_for(settings, warn)
        notice = embedded_notice(settings)
        if notice is not None:
            sources[0][1](notice)
        origin = Origin(" + ".join(source.name for source, _ in sources))
        open_listening = from_live(sources, origin, settings, clock)
        from livetrans.cli.running import OpenSource, run_live

        capturing = [source for source, _ in sources]
        ended = run_live(OpenSource(settings, clock, origin.name, open_listening, notice, capturing=capturing))
        return 130 if ended.was_left else 0
