"""Captions on other screens: the options for them, and the server of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from livetrans.cli.options import Declare, setting_option
from livetrans.config import OutputSettings
from livetrans.serve.address import parse_place

if TYPE_CHECKING:
    from livetrans.serve.server import CaptionServer


class ServedPlace(click.ParamType[str]):
    """Where captions are served, as `livetrans.serve.address` reads it."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        parse_place(str(value))
        return str(value)


SERVE_OPTIONS: list[Declare] = [
    setting_option(
        "Output",
        "output.serve",
        "--serve",
        metavar="[HOST:PORT]",
        example="localhost:8765",
        is_flag=False,
        flag_value="localhost",
        type=ServedPlace(),
        show_default=False,
        help="Serve captions to browsers and programs on this machine, on a free port if none is named. lan or "
        "lan:PORT serves them to others in your network too, who need the address with its token.",
    ),
    setting_option(
        "Output",
        "output.caption_file",
        "--caption-file",
        metavar="FILE",
        example="/home/me/caption.txt",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Keep the newest caption in FILE, for a text source of OBS or another program.",
    ),
]


@contextlib.contextmanager
def serving(output: OutputSettings) -> Iterator[CaptionServer | None]:
    """Serve captions as long as the context lasts, where the settings say so.

    Raises:
        LivetransError: the place cannot be opened.
    """
    if output.serve is None:
        yield None
        return
    from livetrans.serve.server import CaptionServer

    server = CaptionServer(parse_place(output.serve))
    server.start()
    try:
        yield server
    finally:
        server.stop()
