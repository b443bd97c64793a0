"""What a run writes: its record on the disk, its lines on standard output, the transcript that a key saves."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from livetrans.config import OutputSettings
from livetrans.errors import SessionError
from livetrans.events import Caption, Record
from livetrans.files import create
from livetrans.session.outputs import JsonLinesOutput, PlainOutput, Sink
from livetrans.session.recorder import SessionRecorder, make_session_folder, sessions_folder


def open_records(settings: OutputSettings) -> list[Sink]:
    """The sinks that record the run, opened before models load, so that a bad place is reported at once.

    Raises:
        UsageError: there is a session or a file of that name already.
        SessionError: a place that cannot be written.
    """
    records: list[Sink] = []
    if settings.record_session:
        folder = (
            settings.session.expanduser()
            if settings.session
            else make_session_folder(sessions_folder(), datetime.now())
        )
        records.append(SessionRecorder(folder, keep_audio=settings.keep_audio))
    if settings.jsonl and settings.jsonl != "-":
        file = create(Path(settings.jsonl).expanduser(), "--jsonl")
        records.append(JsonLinesOutput(file, closes_stream=True))
    return records


def open_lines(settings: OutputSettings) -> Sink:
    """The sink that writes to standard output."""
    if settings.jsonl == "-":
        return JsonLinesOutput(sys.stdout)
    return PlainOutput(sys.stdout, settings.partials, bool(settings.show_source))


class Finals:
    """Collects finals for the screen's save key: text, hence small even after hours."""

    def __init__(self) -> None:
        self._captions: list[Caption] = []

    def write(self, record: Record) -> None:
        if isinstance(record.event, Caption) and record.event.final and record.event.text:
            self._captions.append(record.event)

    def close(self) -> None:
        """Nothing to release: the screen may still save after the run has ended."""

    def save(self) -> Path:
        """Write source and translation to a new text file in the current folder; returns its path.

        Raises:
            SessionError: there is no final yet.
            OSError: the folder cannot be written.
        """
        captions = tuple(self._captions)
        if not captions:
            raise SessionError("there is no finished caption yet")
        path = Path(f"livetrans-{datetime.now():%Y-%m-%dT%H-%M-%S}.txt")
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{caption.source}\n{caption.recorded}\n\n" for caption in captions)
        return path.resolve()
