"""`livetrans export`: a session as subtitles, text or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from livetrans.cli.common import say
from livetrans.errors import UsageError
from livetrans.events import Notice
from livetrans.files import write_new
from livetrans.session.cues import Which
from livetrans.session.export import Format, export
from livetrans.session.store import find_session


@click.command()
@click.argument("session")
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    help="Output format; by default that of --output's file name.",
)
@click.option(
    "--text",
    "which",
    type=click.Choice(get_args(Which)),
    default="target",
    show_default=True,
    help="The translation, the recognised text, or both.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; without it, the text goes to stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def command(session: str, format_: Format | None, which: Which, output: Path | None, force: bool) -> None:
    """Write SESSION as subtitles (srt, vtt), text or JSON lines.

    SESSION is a name from `livetrans sessions` or its beginning, `last`, or a session's folder or .jsonl file.
    """
    path = find_session(session)
    chosen = format_ or _format_of(output)
    pieces = export(path, chosen, which, _warn)
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    write_new(output, pieces, "--output", force=force)


def _format_of(output: Path | None) -> Format:
    formats = get_args(Format)
    if output is None or not output.suffix:
        raise UsageError(f"choose a format: --format {'|'.join(formats)}, or a file's ending with -o")
    ending = output.suffix[1:].lower()
    for known in formats:
        if ending == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(f".{ending} is not a format of export; end the file's name in .{', .'.join(formats)}")


def _warn(notice: Notice) -> None:
    say(f"livetrans: {notice.text}")
