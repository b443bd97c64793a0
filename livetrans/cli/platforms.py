"""`livetrans send-test`: a line for the caption input of a platform, to try its link before an event."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime

import click

from livetrans.base.errors import UsageError
from livetrans.cli.declarations import caption_place
from livetrans.serve.sending import open_links, send_test


@click.command("send-test")
@click.argument("place", metavar="[LANG=]@FILE")
@click.argument("text", required=False)
def command(place: str, text: str | None) -> None:
    """Send TEXT, or a line with the time, by the link in FILE or in the environment variable of that name.

    The link is one that --captions-to takes: YouTube's, Zoom's or Teams'. LANG is the language of the captions.
    """
    code = caption_place(place).rpartition("=")[0] or "en"
    text = " ".join((text if text is not None else f"livetrans: a test at {datetime.now():%H:%M:%S}.").split())
    if not text or not text.isprintable():
        raise UsageError("the text is empty; write one, or leave it out")
    with closing(open_links([caption_place(place)], [code])[0]) as opened:
        click.echo(send_test(opened, text))
