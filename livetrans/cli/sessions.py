"""`livetrans sessions` lists, shows, renames and removes what was recorded; `livetrans export` writes it to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from shutil import get_terminal_size
from typing import cast, get_args

import click

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import require_apart, require_new_files, write_new
from livetrans.base.text import counted, display_width, duration, file_size, fitted, track_label, visible
from livetrans.cli.declarations import LANGUAGES, AdvisingGroup, CountRange, complete_session, list_alone
from livetrans.cli.messages import require_yes, say, warn
from livetrans.session import store
from livetrans.session.codec import dump, events_file
from livetrans.session.export import Format, LastCaptions, export, language_files, read_captions
from livetrans.session.subtitles import Which, directed, texts_of

MOST_COLUMNS = 1000
"""Columns of a line that goes to no terminal: nothing is cut there."""
_NAME_COLUMNS = 19
"""Columns of a name that is a time."""

text_option = click.option(
    "--text",
    "which",
    type=click.Choice(get_args(Which)),
    default="target",
    show_default=True,
    help="The translation, the recognised text, or both.",
)
to_option = click.option(
    "--to", metavar="LANGUAGE", type=LANGUAGES, help="Only these languages of a session that has several."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write each session as a line of JSON.")


@click.group(cls=AdvisingGroup, invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the sessions in the user's data folder, oldest first.

    A session is named by --name, or by the time at which it began. `replay`, `resume`, `export` and `bench run
    --recorded` take its name, the beginning of its name, or `last`.
    """
    list_alone(context, list_command, as_json=as_json)


@command.command("list", short_help="List the sessions, as without a command.")
@json_option
def list_command(as_json: bool) -> None:
    """List the sessions, as `livetrans sessions` does."""
    sessions = store.summaries(_say_unreadable)
    if as_json:
        for folder, summary in sessions:
            click.echo(dump(store.facts_of(folder, summary) | {"path": str(folder)}))
        return
    place = visible(str(store.sessions_folder()))
    if not sessions:
        click.echo(f"There is no session in {place} yet.")
        return
    width = max(9, *(display_width(visible(summary.languages)) for _, summary in sessions))
    click.echo(_columns("session", "length", "languages", width, "captions", "size", "of"))
    sizes = [store.size_of(folder) for folder, _ in sessions]
    for (folder, summary), size in zip(sessions, sizes, strict=True):
        click.echo(_row(folder, summary, size, width))
    click.echo(f"\n{counted(len(sessions), 'session')}, {file_size(sum(sizes))}, in {place}")
    click.echo("Subtitles: livetrans export NAME -o captions.srt")
    if any(summary.state == "unfinished" for _, summary in sessions):
        click.echo("To finish a session whose run was cut off: livetrans resume NAME")


@command.command("show", short_help="Show a session's captions.")
@click.argument("name", default=store.LAST, shell_complete=complete_session)
@text_option
@to_option
def show_command(name: str, which: Which, to: tuple[str, ...] | None) -> None:
    """Show the captions of the session NAME with their times; without NAME, those of the newest session."""
    folder = store.find_session(name)
    if folder.is_dir():
        summary = store.summarise(folder)
        facts = [
            visible(summary.of or ""),
            f"{datetime.fromtimestamp(summary.began_at):%Y-%m-%d %H:%M}",
            duration(summary.heard),
            counted(summary.captions, "caption"),
        ]
        if summary.source_language:
            facts.append(visible(summary.languages))
        if summary.state != "whole":
            facts.append(summary.state)
        click.echo(f"{visible(folder.name)}: {', '.join(filter(None, facts))}")
        click.echo(visible(str(folder.resolve())) + "\n")
    captions = read_captions(folder, warn)
    for time, text in _lines(captions, _chosen(captions, to), which):
        click.echo(f"{time:>7}  {text}")


def _lines(captions: LastCaptions, languages: Sequence[str], which: Which) -> Iterator[tuple[str, str]]:
    """Yield the lines of a session's captions, a segment's together, with the time before its first."""
    segments: dict[tuple[float, int], dict[str, None]] = {}
    for language in languages:
        for caption in (spoken.caption for spoken in captions.spoken(language)):
            lines = segments.setdefault((caption.start, caption.segment_id), {})
            is_named = len(languages) > 1 and which != "source" and caption.language and not caption.untranslated
            *sources, last = (directed(text, [text])[0] for text in texts_of(caption, which))
            last = f"{caption.language}: {last}" if last and is_named else last
            lines |= dict.fromkeys(f"{track_label(caption.track)}{text}" for text in [*sources, last] if text)
    for (start, _), lines in sorted(segments.items()):
        for number, line in enumerate(lines):
            yield duration(start) if number == 0 else "", line


def _chosen(captions: LastCaptions, to: Sequence[str] | None) -> Sequence[str]:
    """Return the languages that --to names, or all of the session."""
    known = captions.languages
    if not set(to or ()) <= set(known):
        raise UsageError(f"there are captions in {', '.join(known)} only; choose one of these with --to")
    return to or known


@command.command("rename", short_help="Give a session another name.")
@click.argument("name", shell_complete=complete_session)
@click.argument("new_name")
def rename_command(name: str, new_name: str) -> None:
    """Change the name of the session NAME, given whole, to NEW_NAME."""
    say(f"The session is called {store.rename(_named(name), new_name).name}.")


@command.command("path", short_help="Print a session's folder, or that of all.")
@click.argument("name", required=False, shell_complete=complete_session)
def path_command(name: str | None) -> None:
    """Print the folder of the session NAME; without NAME, the folder of all sessions."""
    click.echo(visible(str(store.sessions_folder() if name is None else store.find_session(name).resolve())))


@command.command("rm", short_help="Remove sessions.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_session)
@click.option("--empty", is_flag=True, help="Remove those without captions.")
@click.option("--older-than", "days", metavar="DAYS", type=CountRange(min=0), help="Remove sessions older than DAYS.")
@click.option("--yes", is_flag=True, help="Remove without asking; needed where there is no terminal.")
def remove_command(names: tuple[str, ...], empty: bool, days: int | None, yes: bool) -> None:
    """Remove the sessions NAME, given whole, or those that the options choose, with their sound."""
    if not names and not empty and days is None:
        raise UsageError("say which sessions: names from `livetrans sessions`, --empty or --older-than DAYS")
    chosen = {_named(name) for name in names}
    if empty:
        found = store.summaries(_say_unreadable)
        chosen |= {folder for folder, one in found if not one.captions and one.state in ("loading", "whole")}
    if days is not None:
        chosen |= set(store.older_than(days))
    if not chosen:
        say("No session was removed: none matches.")
        return
    if not yes:
        folder = min(chosen)
        summary = store.summarise(folder)
        which = f"{visible(folder.name)} ({duration(summary.heard)}, {counted(summary.captions, 'caption')})"
        if len(chosen) > 1:
            which = counted(len(chosen), "session")
        require_yes(f"Remove {which}?", f"give --yes to remove {which} without being asked")
    for folder in sorted(chosen):
        store.remove(folder)
        say(f"{folder.name} was removed.")


def _named(name: str) -> Path:
    """Return the session of this whole name, or `last`, in the user's data folder, to be removed or renamed.

    Raises:
        SessionError: there is none. A path elsewhere is never taken, and neither is the beginning of a name.
    """
    found = store.session_named(name, whole=True)
    if found is None:
        place = store.sessions_folder()
        raise SessionError(f"There is no session {name} in {place}: give a whole name of `livetrans sessions`.")
    return found


def _say_unreadable(folder: Path, error: OSError) -> None:
    say(f"livetrans: {folder} cannot be read ({error.strerror}); check its permissions.")


def _row(folder: Path, summary: store.Summary, size: int, width: int) -> str:
    is_empty = summary.state in ("loading", "whole") and not summary.captions
    mark = "(empty) " if is_empty else "" if summary.state == "whole" else f"({summary.state}) "
    name, languages = visible(folder.name), visible(summary.languages)
    of = mark + visible(summary.of or "")
    return _columns(name, duration(summary.heard), languages, width, str(summary.captions), file_size(size), of)


def _columns(name: str, length: str, languages: str, width: int, captions: str, size: str, of: str) -> str:
    """Return a row of the list, cut where the terminal ends."""
    name += " " * (_NAME_COLUMNS - display_width(name))
    languages += " " * (width - display_width(languages))
    row = f"{name}  {length:>7}  {languages}  {captions:>8}  {size:>8}  {of}"
    return fitted(row, get_terminal_size((MOST_COLUMNS, 0)).columns).rstrip()


@click.command()
@click.argument("session", default=store.LAST, shell_complete=complete_session)
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
    session: str, format_: Format | None, which: Which, to: tuple[str, ...] | None, output: Path | None, force: bool
) -> None:
    """Write SESSION as subtitles (srt, vtt), text or JSON lines.

    SESSION is a name from `livetrans sessions` or its beginning, or a session's folder or .jsonl file. Without it, or
    with `last`, the newest session with captions is written.
    """
    if output == Path("-"):
        raise UsageError("-o names a file; leave it out to write to standard output, with --format srt for example")
    if output is not None and output.is_dir():
        raise UsageError(f"{output} is a folder: name a file in it, such as {output / 'captions.srt'}")
    if format_ and output and format_of(output) != format_:
        raise UsageError(f"{output} does not end in .{format_}; drop --format, or choose another name with -o")
    path = store.find_session(session)
    captions = read_captions(path, warn)
    languages = _chosen(captions, to)[: 1 if which == "source" or (output is None and to is None) else None]
    made = format_ or (format_of(output) if output else "txt")
    if output is None:
        if len(languages) > 1:
            raise UsageError("standard output takes one language; name one with --to, or a file with -o")
        for piece in export(captions, made, which, languages[0]):
            click.echo(piece, nl=False)
        others = ",".join(code for code in captions.languages if code not in languages)
        if others and to is None and which != "source":
            say(f"These are the captions in {languages[0]}; --to {others} has others, and -o FILE writes all.")
    else:
        files = language_files(output, languages)
        require_apart([("-o", file) for file in files.values()], [events_file(path)])
        require_new_files(files.values(), "--output", force=force)
        for language, file in files.items():
            write_new(file, export(captions, made, which, language), "--output", force=force)
            say(f"Written: {file}")
    if store.is_session(path) and store.summarise(path).state == "unfinished":
        say(
            "livetrans: the run of this session was cut off, so its last captions may be missing; to finish it: "
            f"livetrans resume {store.shell_name(path)}"
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
