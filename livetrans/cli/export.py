"""`livetrans export`: a session as subtitles, text or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

import click

from livetrans.cli.common import complete_session, say, warn
from livetrans.errors import UsageError
from livetrans.files import write_new
from livetrans.installation import started_as
from livetrans.session.export import Format, export
from livetrans.session.store import LAST, find_session, is_session, shell_name, summarise
from livetrans.session.subtitles import Which

text_option = click.option(
    "--text",
    "which",
    type=click.Choice(get_args(Which)),
    default="target",
    show_default=True,
    help="The translation, the recognised text, or both.",
)


@click.command()
@click.argument("session", default=LAST, shell_complete=complete_session)
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    help="Output format; by default that of --output's file name, and txt without it.",
)
@text_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; without it, the text goes to stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def command(session: str, format_: Format | None, which: Which, output: Path | None, force: bool) -> None:
    """Write SESSION as subtitles (srt, vtt), text or JSON lines.

    SESSION is a name from `livetrans sessions` or its beginning, or a session's folder or .jsonl file; without it, or
    with `last`, it is the newest session with captions.
    """
    if output == Path("-"):
        raise UsageError("-o names a file; leave it out to write to standard output, with --format srt for example")
    if output is not None and output.is_dir():
        raise UsageError(f"{output} is a folder: name a file in it, such as {output / 'captions.srt'}")
    path = find_session(session)
    pieces = export(path, format_ or (format_of(output) if output else "txt"), which, warn)
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        write_new(output, pieces, "--output", force=force)
        say(f"Written: {output}")
    if is_session(path) and summarise(path).state == "unfinished":
        say(
            "livetrans: the run of this session was cut off, so its last captions may be missing; to finish it: "
            f"{started_as()} resume {shell_name(path)}"
        )


def format_of(output: Path) -> Format:
    """Return the format that the ending of a file's name stands for.

    Raises:
        UsageError: it stands for none.
    """
    ending = output.suffix[1:].lower()
    if ending not in get_args(Format):
        raise UsageError(f"{output} does not end in a format: end its name in .{', .'.join(get_args(Format))}")
    return cast(Format, ending)
