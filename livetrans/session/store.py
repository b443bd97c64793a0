"""The sessions in the user's data folder: found by name, summarised, renamed, removed.

What lists say of a session is in a small file in its folder. It is written while the session is recorded, and made
from the events again where it is missing, damaged or out of date.
"""

from __future__ import annotations

import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import lock, replacing
from livetrans.base.installation import user_folder
from livetrans.base.text import one_line
from livetrans.config import Settings
from livetrans.events import Caption, Origin, Record, RunEnded, RunStarted, SettingChanged, SourceProgress, Transcript
from livetrans.session.codec import DECIMALS, EVENTS_FILE, decode, dump, encode, load, read_records

LAST = "last"
"""Stands for the newest session with captions wherever a session is named."""
LONGEST_NAME = 100
"""Bytes; file systems take 255."""
SUMMARY_FILE = "session.json"

State = Literal["loading", "recording", "unfinished", "whole", "damaged"]

_LARGEST_SUMMARY = 1_000_000
"""Bytes; a session may come from a stranger."""
_LATEST = 1e11
"""Seconds since 1970 that a calendar has."""


@dataclass(slots=True, kw_only=True)
class Summary:
    """What lists say of a session."""

    began_at: float
    """In seconds since 1970; when the events were last written, for a session that does not say."""
    of: str | None = None
    """The name of the file or the microphone; None where the session does not say."""
    heard: float = 0.0
    """Length of the sound that was heard, in seconds."""
    source_language: str | None = None
    """Code; None where the run ended before it started listening."""
    target_languages: tuple[str, ...] = ()
    """Codes of the languages of the captions; empty then."""
    languages: str = "? → ?"
    """All that were spoken and shown, `en,fr → de`; of two tracks `en → de, de → en`."""
    captions: int = 0
    state: State = "loading"
    """`whole`: its run ended, and each sentence has a caption. `unfinished`: it was cut off or failed, or `resume` was
    stopped. `damaged`: its events cannot be read to the end."""
    events_bytes: int
    """Length of the events of which it is the summary: those of a killed run are longer."""


class Summarising:
    """Makes the summary of a session from its events, in their order."""

    def __init__(self) -> None:
        self.summary = Summary(began_at=time.time(), events_bytes=0)
        self._settings: Settings | None = None
        self._spoken: dict[str, None] = {}
        self._with_text: set[int] = set()
        self._untranslated: set[int] = set()
        """Segments of which no language has a final caption."""
        self._begin = 0.0
        """Source time at which the part of a recording begins."""
        self._is_heard = False
        """Whether any of the run's source was heard."""
        self._is_resumed = False
        """Whether the events are of a run that finishes an earlier one."""

    def note(self, record: Record) -> None:
        summary = self.summary
        match record.event:
            case RunStarted(settings=settings, origin=origin, began_at=began_at):
                summary.state = "unfinished"
                self._is_resumed, self._is_heard = self._settings is not None, False
                if self._settings is None:
                    self._settings, self._spoken = settings, dict.fromkeys(settings.sources[:1])
                    summary.of = origin.name if origin else None
                    self._begin = origin.start if origin else 0.0
                    summary.source_language, summary.target_languages = settings.source_language, settings.targets
                    summary.languages = self._languages(settings)
                    if began_at is not None and 0 < began_at < _LATEST:
                        summary.began_at = began_at
            case SettingChanged(name="from", value=str(code)) if self._settings:
                self._spoken |= {code: None}
                summary.languages = self._languages(self._settings)
            case SourceProgress(heard=heard):
                self._is_heard = True
                summary.heard = max(summary.heard, heard - self._begin)
            case Transcript(segment_id=segment, final=True, text=text) if text:
                self._untranslated.add(segment)
            case Caption(segment_id=segment, final=final, text=text):
                if final:
                    self._untranslated.discard(segment)
                # `resume` takes the text of a cut-off segment back where its words are recognised again.
                (self._with_text.add if text.strip() else self._with_text.discard)(segment)
                summary.captions = len(self._with_text)
            case RunEnded(heard=heard, reason=reason):
                is_cut = self._is_resumed or not (self._is_heard or self._with_text)
                lacks_rest = reason == "failed" or (is_cut and reason == "stopped")
                summary.state = "unfinished" if self._untranslated or lacks_rest else "whole"
                self._is_resumed, self._is_heard = False, True
                summary.heard = max(summary.heard, heard - self._begin)
            case _:
                pass

    def _languages(self, settings: Settings) -> str:
        if settings.between:
            return " ↔ ".join(settings.between.languages)
        pairs = [(tuple(self._spoken), settings.targets)]
        if settings.meeting:
            mine = settings.for_microphone()
            pairs.append((mine.sources, mine.targets))
        return ", ".join(
            ",".join(spoken) if spoken == shown else f"{','.join(spoken)} → {','.join(shown)}"
            for spoken, shown in pairs
        )


def summarise(folder: Path) -> Summary:
    """Return the summary of a session; its events are read only where its file does not do.

    Raises:
        OSError: the events cannot be read.
    """
    size = (folder / EVENTS_FILE).stat().st_size
    try:
        with (folder / SUMMARY_FILE).open("rb") as file:
            summary = decode(Summary, load(file.read(_LARGEST_SUMMARY)))
        is_usable = 0 < summary.began_at < _LATEST and summary.heard >= 0 and summary.captions >= 0
    except (OSError, ValueError):
        is_usable = False
    is_recorded = is_being_recorded(folder) if not is_usable or summary.state in ("loading", "unfinished") else False
    if not is_usable or (summary.events_bytes != size and not is_recorded):
        summary = summarise_events(folder).summary
        if folder.parent == sessions_folder() and not is_recorded:
            write_summary(folder, summary)
    if is_recorded:
        summary.state = "recording"
    return summary


def summarise_events(folder: Path) -> Summarising:
    status = (folder / EVENTS_FILE).stat()
    (folder / EVENTS_FILE).open("rb").close()  # `read_records` makes another error of what the system refuses.
    made = Summarising()
    made.summary.began_at = max(status.st_mtime, 1.0)
    try:
        for record in read_records(folder):
            made.note(record)
    except SessionError:
        made.summary.state = "damaged"
    made.summary.events_bytes = status.st_size
    return made


def write_summary(folder: Path, summary: Summary) -> None:
    """Write the file of a summary whole; where that fails, the summary is made from the events again."""
    with suppress(OSError), replacing(folder / SUMMARY_FILE, private=True) as file:
        file.write(dump(encode(summary)) + "\n")


def facts_of(folder: Path, summary: Summary) -> dict[str, Any]:
    """Return what `livetrans sessions --json` says of a session."""
    values = encode(summary)
    del values["events_bytes"]
    modified = (folder / EVENTS_FILE).stat().st_mtime
    return {"session": folder.name, **values, "modified_at": round(modified, DECIMALS), "size_bytes": size_of(folder)}


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sessions_folder() -> Path:
    """Return the folder of the sessions that no --session names; it need not exist."""
    return user_folder("data") / "sessions"


def is_being_recorded(folder: Path) -> bool:
    """Return whether a running livetrans records into the folder; False where the system has no locks."""
    with suppress(OSError), FileIO(folder / EVENTS_FILE) as events:
        return not lock(events)
    return False


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
    """Return the path `name` if it is a file or a session, else the session in the user's data folder, or the path."""
    path = Path(name).expanduser()
    if name and (is_session(path) if path.is_dir() else path.exists()):
        return path
    return session_named(name) or path


def is_session(folder: Path) -> bool:
    return (folder / EVENTS_FILE).is_file()


def session_named(name: str, *, whole: bool = False) -> Path | None:
    """Return the session in the user's data folder of that name, or whose name alone begins so, or None.

    `last` is the newest that has captions. With `whole`, a beginning does not do.

    Raises:
        SessionError: several begin so, or `last` where there is none.
    """
    folder = sessions_folder()
    if name == LAST:
        with_captions = [path for path, summary in summaries() if summary.captions]
        if not with_captions:
            raise SessionError(f"There is no session with captions in {folder} yet: record one, or name a folder.")
        return with_captions[-1]
    if not name or Path(name).name != name:
        return None
    if is_session(folder / name):
        return folder / name
    found = [] if whole else [one for one in session_names() if one.startswith(name)]
    if len(found) > 1:
        raise SessionError(f"{len(found)} sessions begin with {name}, such as {found[-1]}: write more of the name.")
    return folder / found[0] if found else None


def last_unfinished() -> Path | None:
    """Return the newest session whose run was cut off; None if there is none."""
    return next((path for path, summary in reversed(summaries()) if summary.state == "unfinished"), None)


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


def session_names() -> list[str]:
    return sorted(path.parent.name for path in sessions_folder().glob(f"*/{EVENTS_FILE}"))


def summaries(on_error: Callable[[Path, OSError], None] = lambda folder, error: None) -> list[tuple[Path, Summary]]:
    """Return the sessions in the user's data folder with their summaries, oldest first.

    Their names do not say which is newer: they are local times, which a journey or the end of summer sets back.
    `on_error` is told of one that cannot be read. One that another run removes meanwhile is left out.
    """
    found = []
    for folder in (sessions_folder() / name for name in session_names()):
        try:
            found.append((folder, summarise(folder)))
        except FileNotFoundError:
            continue
        except OSError as error:
            on_error(folder, error)
    return sorted(found, key=lambda session: (session[1].began_at, session[0].name))


def older_than(days: float, inputs: Iterable[Path] = ()) -> list[Path]:
    """Return the sessions whose last event is more than `days` old.

    Those that are being recorded, and those in which one of the `inputs` of a command lies, are not among them.
    """
    limit = time.time() - timedelta(days=days).total_seconds()
    kept = [path.resolve() for path in inputs]
    old = []
    for folder in (sessions_folder() / name for name in session_names()):
        with suppress(OSError):  # Another run removed it meanwhile.
            is_old = (folder / EVENTS_FILE).stat().st_mtime < limit and not is_being_recorded(folder)
            if is_old and not any(path.is_relative_to(folder.resolve()) for path in kept):
                old.append(folder)
    return old


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
