"""The last caption of every segment of a session, in the order of speech, however long the session is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from livetrans.errors import SessionError
from livetrans.events import Caption, Gap, Notice
from livetrans.session.codec import decode, read_records
from livetrans.session.cues import Spoken, heard_shares


class LastCaptions:
    """The last caption of every segment and the gaps, by their start; can be iterated several times.

    They wait in an unnamed SQLite database, which goes to a temporary file where it is large and is removed with the
    process, so that a day-long session needs no more memory than a short one.
    """

    def __init__(self, session_path: Path, notify: Callable[[Notice], None] | None = None) -> None:
        """Read the whole session.

        Raises:
            SessionError: it cannot be read, or the temporary file cannot be written.
        """
        self._session = session_path
        with self._sentences():
            self._database = sqlite3.connect("")
            self._database.execute("PRAGMA journal_mode = OFF")
            # A gap has no segment; NULLs are not compared with each other.
            self._database.execute("CREATE TABLE spoken (segment INTEGER UNIQUE, start REAL, item TEXT)")
            self._read(notify)

    def __iter__(self) -> Iterator[Spoken]:
        order = "start, ifnull(segment, -1), segment IS NULL, rowid"
        with self._sentences():
            for (item,) in self._database.execute(f"SELECT item FROM spoken ORDER BY {order}"):
                yield decode(Spoken, json.loads(item))

    def _read(self, notify: Callable[[Notice], None] | None) -> None:
        unfinished: dict[int, list[Caption]] = {}
        for record in read_records(self._session, notify):
            match record.event:
                case Caption() as caption:
                    updates = unfinished.setdefault(caption.segment_id, [])
                    updates.append(caption)
                    if caption.final:
                        self._add(caption.segment_id, _spoken(updates))
                        del unfinished[caption.segment_id]
                case Gap() as gap:
                    self._add(None, Spoken(gap.caption()))
                case _:
                    pass
        for segment, updates in unfinished.items():
            self._add(segment, _spoken(updates))

    def _add(self, segment: int | None, spoken: Spoken) -> None:
        item = json.dumps(asdict(spoken))
        try:
            self._database.execute("REPLACE INTO spoken VALUES (?, ?, ?)", (segment, spoken.caption.start, item))
        except OverflowError as error:
            raise SessionError(f"{self._session} has a segment number of more than 64 bits: name a session.") from error

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise SessionError(
                f"The captions of {self._session} cannot be sorted in the temporary folder ({error}): free space "
                "there, or name another folder in TMPDIR."
            ) from error


def _spoken(updates: list[Caption]) -> Spoken:
    """The last of a segment's captions, with the times that the others give its words."""
    return Spoken(updates[-1], heard_shares(updates[-1], [(caption.source, caption.end) for caption in updates[:-1]]))
