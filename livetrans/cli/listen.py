"""`livetrans listen`: captions for what this computer plays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from livetrans.cli.mic import run_captured
from livetrans.cli.options import run_command, run_option
from livetrans.clock import SystemClock
from livetrans.config import TRANSCRIPT_ONLY, MeetingSettings, Settings
from livetrans.errors import UsageError
from livetrans.run.listening import PostponedNotices

if TYPE_CHECKING:
    from livetrans.audio.live import LiveSource


@run_command("listen")
@run_option("--app", "program", metavar="NAME", everyday=True, help="Listen to one program only: a part of its name.")
@run_option("--yes", is_flag=True, everyday=True, help="Fetch missing models without asking.")
@run_option("--with-mic", is_flag=True, everyday=True, help="Hear the microphone too, as a second track.")
def command(settings: Settings, program: str | None, yes: bool, with_mic: bool) -> None:
    """Show captions for what this computer plays (a call, a video), until q or Ctrl-C.

    That is what its default output plays, or with --app what one program plays; `livetrans devices` lists both. With
    --with-mic it also shows what you say: --from en --me de translates a meeting in English both ways.
    """
    from livetrans.audio.live import Microphone, Playback

    if program is not None and not program.strip():
        raise UsageError("--app needs a part of a program's name; `livetrans devices` lists the programs that play now")
    clock, notices = SystemClock(), PostponedNotices()
    playback = Playback(program, clock, notices)
    sources: list[tuple[LiveSource, PostponedNotices]] = [(playback, notices)]
    meeting = settings.meeting or MeetingSettings()
    settings = replace(settings, meeting=meeting if with_mic else None)
    if with_mic:
        # Fixed now, because keys change the languages of the others.
        mine = settings.for_microphone()
        target = TRANSCRIPT_ONLY if mine.source_language == mine.target_language else mine.target_language
        settings = replace(settings, meeting=MeetingSettings(mine.source_language, target, meeting.names))
        try:
            notices = PostponedNotices()
            sources.append((Microphone(settings.device, clock, notices), notices))
        except BaseException:
            playback.close()
            raise
    run_captured(sources, settings, clock, yes=yes)
