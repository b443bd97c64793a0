"""`livetrans mic`: captions for what is spoken into the microphone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from livetrans.cli.messages import warn
from livetrans.cli.models import offer_models
from livetrans.cli.options import run_command, run_option
from livetrans.cli.running import OpenSource, run_live
from livetrans.clock import Clock, SystemClock
from livetrans.config import Settings
from livetrans.events import Origin
from livetrans.models.chosen import choose_models, embedded_notice
from livetrans.run.listening import PostponedNotices
from livetrans.run.opening import from_live

if TYPE_CHECKING:
    from livetrans.audio.live import LiveSource


@run_command("mic")
@run_option("--yes", is_flag=True, everyday=True, help="Fetch missing models without asking.")
def command(settings: Settings, yes: bool) -> None:
    """Show captions for what is spoken into the microphone, until q or Ctrl-C."""
    from livetrans.audio.live import Microphone

    clock, notices = SystemClock(), PostponedNotices()
    run_captured([(Microphone(settings.device, clock, notices), notices)], settings, clock, yes=yes)


def run_captured(
    sources: Sequence[tuple[LiveSource, PostponedNotices]], settings: Settings, clock: Clock, *, yes: bool
) -> None:
    """Run on live sound, and close its sources: one, or what the computer plays and the microphone.

    They are open before models are chosen, so that no gigabytes are fetched for one that is missing. They capture from
    the run on.
    """
    with contextlib.ExitStack() as opened:
        for source, _ in sources:
            opened.callback(source.close)
        offer_models(settings, yes=yes)
        settings = choose_models(settings, warn)
        notice = embedded_notice(settings)
        if notice is not None:
            sources[0][1](notice)
        origin = Origin(" + ".join(source.name for source, _ in sources))
        open_listening = from_live(sources, origin, settings, clock)
        run_live(OpenSource(settings, clock, origin.name, open_listening, notice))
