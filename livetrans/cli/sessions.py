"""`livetrans sessions`: what was recorded, its paths, and removing it; `livetrans export` writes it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import cast, get_args

import click

from livetrans.cli.declarations import AdvisingGroup, CountRange, Languages, complete_language, complete_session
from livetrans.cli.messages import require_yes, say, warn
from livetrans.errors import SessionError, UsageError
from livetrans.files import require_new_files, write_new
from livetrans.installation import started_as
from livetrans.session.codec import dump, encode
from livetrans.session.export import Format, export, language_files, languages_of, last_captions
from livetrans.session.recorder import sessions_folder
from livetrans.session.store import (
    LAST,
    SessionSummary,
    find_session,
    is_session,
    older_than,
    remove,
    rename,
    session_folders,
    session_named,
    shell_name,
    summarise,
)
from livetrans.session.subtitles import Which, directed, texts_of
from livetrans.text import counted, display_width, duration, file_size, fitted, track_label, visible

MOST_COLUMNS = 1000
"""Of a line that goes to no terminal: nothing is cut there."""

text_option = click.option(
    "--text",
    "which",
    type=click.Choice(get_args(Which)),
    default="target",
    show_default=True,
    help="The translation, the recognised text, or both.",
)
to_option = click.option(
    "--to",
    metavar="LANGUAGE",
    type=Languages(),
    shell_complete=complete_language,
    help="Of a session in several languages: the language of the captions, or some of them.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write each session as a line of JSON.")


@click.group(cls=AdvisingGroup, invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the sessions in the user's data folder, oldest first.

    A session's name is what --name gave it, else the time at which it began. The name, its beginning or `last` stands
    for the session in `replay`, `resume`, `export` and `bench run --recorded`.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command, as_json=as_json)


@command.command("list", short_help="List the sessions, as without a command.")
@json_option
def list_command(as_json: bool) -> None:
    """List the sessions, as `livetrans sessions` does."""
    summaries = _summaries()
    if as_json:
        for summary in summaries:
            values = encode(summary) | {"path": str(summary.path)}
            click.echo(dump({"session": summary.path.name, **values}))
        return
    place = visible(str(sessions_folder()))
    if not summaries:
        click.echo(f"There is no session in {place} yet.")
        return
    width = max(9, *(display_width(visible(summary.languages)) for summary in summaries))
    click.echo(f"{'session':<19}  {'length':>7}  {'languages':<{width}}  {'captions':>8}  {'size':>8}  of")
    for summary in summaries:
        click.echo(_row(summary, width))
    size = file_size(sum(summary.size_bytes for summary in summaries))
    click.echo(f"\n{counted(len(summaries), 'session')}, {size}, in {place}")
    click.echo(f"Subtitles: {started_as()} export NAME -o captions.srt")
    if any(summary.state == "unfinished" for summary in summaries):
        click.echo(f"To finish an unfinished session, whose run was cut off: {started_as()} resume NAME")


@command.command("show", short_help="Show a session's captions.")
@click.argument("name", default=LAST, shell_complete=complete_session)
@text_option
@to_option
def show_command(name: str, which: Which, to: tuple[str, ...] | None) -> None:
    """Show what the session NAME is of, and its captions with their times; without NAME, of the newest session."""
    folder = find_session(name)
    if folder.is_dir():
        summary = summarise(folder)
        facts = [
            visible(summary.of or ""),
            f"{summary.began:%Y-%m-%d %H:%M}",
            duration(summary.seconds),
            counted(summary.captions, "caption"),
        ]
        if summary.source_language:
            facts.append(visible(summary.languages))
        if summary.state != "whole":
            facts.append(summary.state)
        click.echo(f"{visible(folder.name)}: {', '.join(filter(None, facts))}")
        click.echo(visible(str(folder.resolve())) + "\n")
    for time, text in _lines(folder, _chosen(folder, to), which):
        click.echo(f"{time:>7}  {text}")


def _lines(path: Path, languages: Sequence[str], which: Which) -> Iterator[tuple[str, str]]:
    """Yield the lines of a session's captions, a segment's together, with the time before its first."""
    segments: dict[tuple[float, int], dict[str, None]] = {}
    for number, language in enumerate(languages):
        for spoken in last_captions(path, warn if number == 0 else None, language):
            caption = spoken.caption
            lines = segments.setdefault((caption.start, caption.segment_id), {})
            is_named = len(languages) > 1 and which != "source" and caption.language and not caption.untranslated
            *sources, last = (directed(text, [text])[0] for text in texts_of(caption, which))
            last = f"{caption.language}: {last}" if last and is_named else last
            lines |= dict.fromkeys(f"{track_label(caption.track)}{text}" for text in [*sources, last] if text)
    for (start, _), lines in sorted(segments.items()):
        for number, line in enumerate(lines):
            yield duration(start) if number == 0 else "", line


def _chosen(path: Path, to: Sequence[str] | None) -> Sequence[str]:
    """Return the languages that --to names, or all of the session.

    Raises:
        UsageError: the session has no captions in one of them.
    """
    known = languages_of(path)
    missing = [code for code in to or () if code not in known]
    if missing:
        raise UsageError(f"there are captions in {', '.join(known)} only; choose one of these with --to")
    return to or known


@command.command("rename", short_help="Give a session another name.")
@click.argument("name", shell_complete=complete_session)
@click.argument("new_name")
def rename_command(name: str, new_name: str) -> None:
    """Call the session NAME by NEW_NAME from now on."""
    say(f"The session is called {rename(_named(name), new_name).name}.")


@command.command("path", short_help="Print a session's folder, or that of all.")
@click.argument("name", required=False, shell_complete=complete_session)
def path_command(name: str | None) -> None:
    """Print the folder of the session NAME; without NAME, the folder of all sessions."""
    click.echo(visible(str(sessions_folder() if name is None else find_session(name).resolve())))


@command.command("rm", short_help="Remove sessions.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_session)
@click.option("--empty", is_flag=True, help="Remove those without captions.")
@click.option("--older-than", "days", metavar="DAYS", type=CountRange(min=0), help="Remove sessions older than DAYS.")
@click.option("--yes", is_flag=True, help="Remove without asking; needed where there is no terminal.")
def remove_command(names: tuple[str, ...], empty: bool, days: int | None, yes: bool) -> None:
    """Remove the sessions NAME, or those that the options choose, with their sound."""
    if not names and not empty and days is None:
        raise UsageError("say which sessions: names from `livetrans sessions`, --empty or --older-than DAYS")
    chosen = {_named(name) for name in names}
    if empty:
        chosen |= {item.path for item in _summaries() if not item.captions and item.state != "recording"}
    if days is not None:
        chosen |= set(older_than(days))
    if not chosen:
        say("No session was removed: none matches.")
        return
    if not yes:
        summary = summarise(min(chosen))
        which = f"{visible(summary.path.name)} ({duration(summary.seconds)}, {counted(summary.captions, 'caption')})"
        if len(chosen) > 1:
            which = counted(len(chosen), "session")
        require_yes(f"Remove {which}?", f"give --yes to remove {which} without being asked")
    for folder in sorted(chosen):
        remove(folder)
        say(f"{folder.name} was removed.")


def _named(name: str) -> Path:
    """Return the session in the user's data folder: a path that lies elsewhere is never removed."""
    found = session_named(name)
    if found is None:
        raise SessionError(f"There is no session {name} in {sessions_folder()}: `livetrans sessions` lists them.")
    return found


def _summaries() -> list[SessionSummary]:
    """Return a summary of each session, and say which cannot be read."""
    summaries = []
    for folder in session_folders():
        try:
            summaries.append(summarise(folder))
        except FileNotFoundError:  # Another run removed it meanwhile.
            continue
        except OSError as error:
            say(f"livetrans: {folder} cannot be read ({error.strerror}); check its permissions.")
    return summaries


def _row(summary: SessionSummary, width: int) -> str:
    """Return the line of a session; `width` is that of the languages."""
    state = "empty" if summary.state == "whole" and not summary.captions else summary.state
    begin = (
        f"{visible(summary.path.name):<19}  {duration(summary.seconds):>7}  {visible(summary.languages):<{width}}  "
        f"{summary.captions:>8}  {file_size(summary.size_bytes):>8}  "
    )
    if state != "whole":
        begin += f"({state}) "
    room = get_terminal_size((MOST_COLUMNS, 0)).columns - display_width(begin)
    return (begin + fitted(visible(summary.of or ""), room)).rstrip()


@click.command()
@click.argument("session", default=LAST, shell_complete=complete_session)
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    help="Output format; by default that of --output's file name, and txt without it.",
)
@text_option
@to_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; without it, the text goes to stdout. Several languages have a file each: captions.de.srt and "
    "captions.fr.srt for captions.srt.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def export_command(
    session: str,
    format_: Format | None,
    which: Which,
    to: tuple[str, ...] | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write SESSION as subtitles (srt, vtt), text or JSON lines.

    SESSION is a name from `livetrans sessions` or its beginning, or a session's folder or .jsonl file; without it, or
    with `last`, it is the newest session with captions.
    """
    if output == Path("-"):
        raise UsageError("-o names a file; leave it out to write to standard output, with --format srt for example")
    if output is not None and output.is_dir():
        raise UsageError(f"{output} is a folder: name a file in it, such as {output / 'captions.srt'}")
    path = find_session(session)
    languages = _chosen(path, to)[: 1 if which == "source" or (output is None and to is None) else None]
    made = format_ or (format_of(output) if output else "txt")
    if output is None:
        if len(languages) > 1:
            raise UsageError("standard output takes one language; name one with --to, or a file with -o")
        for piece in export(path, made, which, warn, languages[0]):
            click.echo(piece, nl=False)
        others = ",".join(code for code in languages_of(path) if code not in languages)
        if others and to is None and which != "source":
            say(f"These are the captions in {languages[0]}; --to {others} has others, and -o FILE writes all.")
    else:
        files = language_files(output, languages)
        require_new_files(files.values(), "--output", force=force)
        for language, file in files.items():
            write_new(file, export(path, made, which, warn, language), "--output", force=force)
            say(f"Written: {file}")
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
