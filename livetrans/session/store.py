"""The sessions in the user's data folder: found by name, described without reading them whole, renamed, removed."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from livetrans.config import Settings
from livetrans.errors import SessionError, UsageError
from livetrans.events import Origin, RunStarted
from livetrans.languages import AUTO
from livetrans.session.codec import DECIMALS, EVENTS_FILE, from_dict
from livetrans.session.recorder import is_being_recorded, sessions_folder
from livetrans.text import one_line

LAST = "last"
"""Stands for the newest session with captions wherever a session is named."""
LONGEST_NAME = 100
"""Bytes; file systems take 255."""

State = Literal["whole", "unfinished", "recording"]

_BLOCK = 64 * 1024
"""Bytes read at once from the end of a file."""
_LATEST = 1e11
"""Seconds since 1970 that a calendar has; a session may come from a stranger."""
_HEAD = 256 * 1024
"""Bytes from the beginning in which the start of the run is looked for; notices of loading come before it."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What `livetrans sessions` says of a session."""

    path: Path
    began: datetime
    modified: datetime
    """Local times of the run's start and of the last event."""
    of: str | None
    """The name of the file or the microphone; None where the session does not say."""
    seconds: float
    """Length of the sound that was heard."""
    source_language: str | None
    """Code; None where the run ended before it started listening."""
    target_languages: tuple[str, ...]
    """Codes of the languages of the captions; empty then."""
    languages: str
    """All that were spoken and shown, `en,fr → de`; of two tracks `en → de, de → en`."""
    captions: int
    """Segments up to the last one with a caption."""
    size_bytes: int
    """Of all files of the session."""
    state: State


def find_session(name: str) -> Path:
    """Return the path that `name` means, as `path_or_session` finds it.

    Raises:
        SessionError: there is none, or there are several.
    """
    path = path_or_session(name)
    if not path.exists() or (path.is_dir() and not is_session(path)):
        raise SessionError(f"There is no session {name}: `livetrans sessions` lists them, or name a session's folder.")
    return path


def path_or_session(name: str) -> Path:
    """Return the path `name` if it is a file or a session; else the session in the user's data folder; else the path.

    Raises:
        SessionError: several sessions begin so, or `last` where there is none.
    """
    path = Path(name).expanduser()
    if name and (is_session(path) if path.is_dir() else path.exists()):
        return path
    return session_named(name) or path


def is_session(folder: Path) -> bool:
    return (folder / EVENTS_FILE).is_file()


def session_named(name: str) -> Path | None:
    """Return the session in the user's data folder of that name, or whose name alone begins so, or None.

    `last` is the newest that has captions.

    Raises:
        SessionError: several begin so, or `last` where there is none.
    """
    folder = sessions_folder()
    if name == LAST:
        newest = next(filter(_has_captions, reversed(session_folders())), None)
        if newest is None:
            raise SessionError(f"There is no session with captions in {folder} yet: record one, or name a folder.")
        return newest
    if not name or Path(name).name != name:
        return None
    found = [path for path in session_folders() if path.name.startswith(name)]
    exact = [path for path in found if path.name == name]
    if len(found) > 1 and not exact:
        raise SessionError(
            f"{len(found)} sessions begin with {name}, such as {found[-1].name}: write more of the name."
        )
    return next(iter(exact or found), None)


def _has_captions(folder: Path) -> bool:
    try:
        return next(_last_captions(folder / EVENTS_FILE), None) is not None
    except OSError:  # Another run removed it meanwhile, or it is not ours to read.
        return False


def shell_name(folder: Path) -> str:
    """Return how a command line names the session: by its name in the user's data folder, elsewhere by its path."""
    return shlex.quote(folder.name if folder.parent == sessions_folder() else str(folder))


def origin_of(path: Path) -> Origin:
    """Return what is kept of a file, or of a session, so that it is found again and known to be the same."""
    place = path.resolve()
    try:
        status = place.stat() if place.is_file() else None
    except OSError:
        status = None
    return Origin(
        place.name,
        str(place),
        status.st_size if status else None,
        round(status.st_mtime, DECIMALS) if status else None,
    )


def session_folders() -> list[Path]:
    """Return the sessions in the user's data folder, oldest first.

    Their names do not say which is newer: they are local times, which a journey or the end of summer sets back.
    """
    return sorted((path.parent for path in sessions_folder().glob(f"*/{EVENTS_FILE}")), key=_order)


def _order(folder: Path) -> tuple[float, str]:
    try:
        return _began_at(folder, _run_started(folder / EVENTS_FILE)), folder.name
    except OSError:
        return _changed_at(folder), folder.name


def _began_at(folder: Path, started: RunStarted | None) -> float:
    """Return when the session began, in seconds since 1970; for one that does not say, when it was last written."""
    began_at = started.began_at if started else None
    return _changed_at(folder) if began_at is None or not 0 < began_at < _LATEST else began_at


def summarise(folder: Path) -> SessionSummary:
    """Return what the list says of a session, from the beginning and the end of its events.

    Raises:
        OSError: it cannot be read.
    """
    file = folder / EVENTS_FILE
    started = _run_started(file)
    heard, whole = 0.0, False
    for event in _events_backwards(file):
        whole = whole or event.get("event") == "run_ended"
        if isinstance(event.get("heard"), int | float):
            heard = float(event["heard"])
            break
    captions = list(islice(_last_captions(file), _OVERLAPPING if started and started.settings.meeting else 1))
    return SessionSummary(
        path=folder,
        began=datetime.fromtimestamp(int(_began_at(folder, started))),
        modified=datetime.fromtimestamp(int(file.stat().st_mtime)),
        of=started.origin.name if started and started.origin else None,
        seconds=round(heard, 3),
        source_language=started.settings.source_language if started else None,
        target_languages=started.settings.targets if started else (),
        languages=_languages_of(started.settings, file) if started else "? → ?",
        captions=max((caption["segment_id"] + 1 for caption in captions), default=0),
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        # A run that was killed while models loaded has left nothing to finish.
        state="recording" if is_being_recorded(folder) else "whole" if whole or not started else "unfinished",
    )


def _languages_of(settings: Settings, file: Path) -> str:
    spoken = dict.fromkeys(settings.sources[:1])
    if len(settings.sources) > 1 or settings.source_language == AUTO:
        # Only then does a key change it; all events have to be looked through.
        changes = _events_backwards(file, having=b'"setting_changed"')
        codes = [str(event.get("value")) for event in changes if event.get("name") == "source"]
        spoken |= dict.fromkeys(reversed(codes))
    pairs = [(spoken, settings.targets)]
    if settings.meeting:
        pairs.append((dict.fromkeys(settings.for_microphone().sources), settings.for_microphone().targets))
    return ", ".join(
        ",".join(heard) if tuple(heard) == shown else f"{','.join(heard)} → {','.join(shown)}" for heard, shown in pairs
    )


_OVERLAPPING = 100
"""Last captions of two tracks among which the newest segment is: the one that began last may end first."""


def _last_captions(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the captions with text in a file of events, as their lines say them; read from the end."""
    for event in _events_backwards(file, having=b'"caption"'):
        if event.get("event") == "caption" and isinstance(event.get("segment_id"), int):
            if str(event.get("text", "")).strip():
                yield event


def older_than(days: float) -> list[Path]:
    """Return the sessions whose last event is more than `days` old, without any that is being recorded."""
    limit = time.time() - timedelta(days=days).total_seconds()
    old = [path for path in session_folders() if _changed_at(path) < limit]
    return [path for path in old if not is_being_recorded(path)]


def _changed_at(folder: Path) -> float:
    """Return when the last event was written, in seconds since 1970; infinity if the session was removed meanwhile."""
    try:
        return (folder / EVENTS_FILE).stat().st_mtime
    except OSError:
        return math.inf


def remove(folder: Path) -> None:
    """Remove a session with everything in its folder.

    Raises:
        SessionError: it is being recorded, or cannot be removed.
    """
    with _changing(folder, "removed"):
        shutil.rmtree(folder)


@contextmanager
def _changing(folder: Path, done: str) -> Iterator[None]:
    if is_being_recorded(folder):
        raise SessionError(f"{folder.name} is being recorded: end that run first.")
    try:
        yield
    except OSError as error:
        raise SessionError(f"{folder} cannot be {done} ({error.strerror or error}): check its permissions.") from error


def check_name(name: str) -> None:
    """Check a name that a user gives to a session: it is a folder's, and typed in commands.

    Raises:
        UsageError: it cannot be one.
    """
    if not name or name.startswith((".", "-")) or name != one_line(name) or re.search(r'[/\\:*?"<>|]', name):
        raise UsageError(f"{one_line(name)!r} cannot be a session's name; use letters, digits and spaces")
    if name.casefold() == LAST:
        raise UsageError(f"{name} stands for the newest session; choose another name")
    if len(name.encode()) > LONGEST_NAME:
        raise UsageError(f"a session's name has at most {LONGEST_NAME} bytes; choose a shorter one")


def rename(folder: Path, name: str) -> Path:
    """Give a session of the user's data folder another name; return its new folder.

    Raises:
        UsageError: the name is taken, or none for a session.
        SessionError: it is being recorded, or cannot be renamed.
    """
    check_name(name)
    renamed = folder.with_name(name)
    if renamed.exists() and not renamed.samefile(folder):  # The same where a file system ignores case.
        raise UsageError(f"there is a session {name} already; choose another name")
    with _changing(folder, "renamed"):
        folder.rename(renamed)
    return renamed


def _run_started(file: Path) -> RunStarted | None:
    """Return the start of the first run; None where it is not there, or not to be read."""
    with file.open("rb") as stream:
        while (line := stream.readline(_HEAD)) and stream.tell() < _HEAD:
            if b'"run_started"' in line:
                with suppress(ValueError):
                    event = from_dict(_parsed(line)).event
                    if isinstance(event, RunStarted):
                        return event
    return None


def _events_backwards(file: Path, having: bytes = b"") -> Iterator[dict[str, Any]]:
    """Yield the lines that are objects and hold `having`, last first; no more is read than the caller takes."""
    with file.open("rb") as stream:
        for line in _lines_backwards(stream):
            event = _parsed(line) if having in line else {}
            if event:
                yield event


def _lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    position = stream.seek(0, os.SEEK_END)
    rest = b""
    while position:
        # A line longer than a block is not copied once for each block.
        size = min(max(_BLOCK, len(rest)), position)
        position -= size
        stream.seek(position)
        first, *lines = (stream.read(size) + rest).split(b"\n")
        yield from reversed(lines)
        rest = first
    yield rest


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the line's object; empty for a line that was cut by a crash, or is none."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
