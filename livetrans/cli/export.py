"""`livetrans export`: a session as subtitles, text or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from livetrans.cli.common import say
from livetrans.errors import SessionError, UsageError
from livetrans.events import Notice
from livetrans.files import write_new
from livetrans.session.export import Format, Which, export
from livetrans.session.recorder import sessions_folder


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

    SESSION is a session's folder or .jsonl file, the name of one in the user's data folder, or `last`.
    """
    chosen = format_ or _format_of(output)
    pieces = export(_session_path(session), chosen, which, _warn)
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    write_new(output, "".join(pieces), "--output", force=force)


def _session_path(session: str) -> Path:
    """The path if it exists; else a session of that name, or the newest, in the user's data folder."""
    path = Path(session).expanduser()
    sessions = sessions_folder()
    if path.exists():
        return path
    if session == "last":
        names = sorted(folder for folder in sessions.glob("*") if folder.is_dir())
        if not names:
            raise SessionError(f"there is no session in {sessions} yet; name a session's folder")
        return names[-1]
    return sessions / session if (sessions / session).exists() else path


def _format_of(output: Path | None) -> Format:
    ending = output.suffix[1:].lower() if output else ""
    for known in get_args(Format):
        if ending == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(f"the format is not known; give it with --format {'|'.join(get_args(Format))}")


def _warn(notice: Notice) -> None:
    say(f"livetrans: {notice.text}")
