"""`livetrans export`: a session as subtitles, text or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from livetrans.cli.common import say, warn
from livetrans.cli.completing import complete_session
from livetrans.errors import UsageError
from livetrans.files import write_new
from livetrans.installation import started_as
from livetrans.session.export import Format, export
from livetrans.session.store import LAST, find_session, is_session, shell_name, summarise
from livetrans.session.subtitles import Which


@click.command()
@click.argument("session", default=LAST, shell_complete=complete_session)
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    help="Output format; by default that of --output's file name, and txt without it.",
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
    type=click.Path(path_type=Path),
    callback=lambda context, option, value: _checked_output(value),
    help="File to write; without it, the text goes to stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def command(session: str, format_: Format | None, which: Which, output: Path | None, force: bool) -> None:
    """Write SESSION as subtitles (srt, vtt), text or JSON lines.

    SESSION is a name from `livetrans sessions` or its beginning, or a session's folder or .jsonl file; without it, or
    with `last`, it is the newest session with captions.
    """
    path = find_session(session)
    chosen = format_ or format_of(output)
    pieces = export(path, chosen, which, warn)
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        write_new(output, pieces, "--output", force=force)
    if is_session(path) and summarise(path).state == "unfinished":
        say(
            "livetrans: the run of this session was cut off, so its last captions may be missing; to finish it: "
            f"{started_as()} resume {shell_name(path)}"
        )


def _checked_output(path: Path | None) -> Path | None:
    if path == Path("-"):
        raise UsageError("-o names a file; leave it out to write to standard output, with --format srt for example")
    if path is not None and path.is_dir():
        raise UsageError(f"{path} is a folder: name a file in it, such as {path / 'captions.srt'}")
    return path


def format_of(output: Path | None) -> Format:
    formats = get_args(Format)
    if output is None:
        return "txt"
    if not output.suffix:
        raise UsageError(f"{output} has no ending that names a format: end it in .{', .'.join(formats)}")
    ending = output.suffix[1:].lower()
    for known in formats:
        if ending == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(f".{ending} is not a format of export; end the file's name in .{', .'.join(formats)}")
