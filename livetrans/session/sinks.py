"""Sinks: the protocol, those that write lines (captions as text, events as JSON), and how those of a run are opened."""

from __future__ import annotations

import codecs
import contextlib
import sys
from datetime import datetime
from pathlib import Path
from typing import Protocol, TextIO

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import create, replacing
from livetrans.base.text import isolated, reads_right_to_left, track_label, visible
from livetrans.captions import Captions, Key, key_of
from livetrans.config import OutputSettings, Settings
from livetrans.events import BackPressure, Caption, Gap, NameCorrected, Notice, Record
from livetrans.session.codec import to_line
from livetrans.session.recorder import SessionRecorder, make_session_folder
from livetrans.session.store import check_name, sessions_folder


class Sink(Protocol):
    """Receives every record, in order and one at a time: on one thread, or on the one that published it."""

    def write(self, record: Record) -> None: ...

    def close(self) -> None:
        """Flush and release. Called once, after the run."""


def kept_in(sink: Sink) -> tuple[str, ...]:
    """Return what a sink of `open_records` records, for the user."""
    if isinstance(sink, SessionRecorder):
        return sink.kept
    return ("the caption file",) if isinstance(sink, CaptionFile) else ("the file of --jsonl",)


def text_of(caption: Caption) -> str:
    """Return a caption as a line of text, empty if it shows nothing. `> ` marks untranslated text."""
    text = visible(caption.text).strip()
    if not text:
        return ""
    return ("> " if caption.untranslated else "") + track_label(caption.track) + text


class OutputClosed(Exception):
    """The reader of the output has gone, as in `livetrans ... | head`. The run ends in order.

    Python writes to a broken standard output once more at exit, so redirect it to `os.devnull` before exiting with 0.
    """


class LineOutput(Protocol):
    """A stream for lines."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


class PlainOutput:
    """A sink that prints one line for each final segment, for a file or a screen reader.

    Printed text is never retracted. There is no cursor movement, no carriage return and no colour.

    - `partials`: the current line grows with the caption. A caption that only retracts words waits, because the
      words often return. One that differs is printed on the next line, so every line of a segment but the last is an
      earlier version.
    - `show_source`: the recognised text has its own line, which begins with `> `. It comes before the final, or after
      it with `source_line="below"` and with partials.
    - Untranslated text begins with `> ` too.
    - In a run of two tracks, each line begins with the name of its track.
    - Of several languages only the captions of the first are printed.
    - A segment that begins before another one is final grows on the line after it.
    - A segment without a final is printed when the output is closed.
    - A line whose first letter has the wrong direction is put into a directional isolate.
    - Warnings go to `notices` (standard error), so that a file holds captions only. Progress is not printed, and the
      command line prints the error that ends a run.
    """

    def __init__(self, stream: LineOutput, settings: Settings | None = None, *, notices: TextIO | None = None) -> None:
        settings = settings or Settings()
        self._stream = stream
        self._shows = settings.shows
        self._notices = notices if notices is not None else sys.stderr
        self._show_partials = settings.output.partials
        self._show_source = settings.output.show_source
        self._source_first = settings.output.source_line == "above" and not self._show_partials
        self._line = ""
        self._line_segment: int | None = None
        self._isolate_end = ""
        self._captions = Captions()
        self._unfinished: dict[int, Caption] = {}
        self._level = "normal"
        self._closed = False

    def write(self, record: Record) -> None:
        changed = self._captions.feed(record.event)
        match record.event:
            case Caption():
                for caption in filter(self._is_shown, changed):
                    self._accept(caption)
            case NameCorrected():
                growing = (caption for caption in changed if caption.segment_id in self._unfinished)
                self._unfinished |= {caption.segment_id: caption for caption in growing if self._is_shown(caption)}
            case Gap():
                self._end_line()
                self._put(f"{text_of(changed[0])}\n")
            case Notice(level="warning") as notice:
                self._notice(visible(notice.text))
            case BackPressure(level=level, behind_seconds=behind) if level != self._level:
                self._level = level
                self._notice(f"{behind:.0f} s behind: {level}")
            case _:
                pass

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for segment in sorted(self._unfinished):
                self._end_segment(self._unfinished[segment])

    def _is_shown(self, caption: Caption) -> bool:
        return self._shows(caption.track, caption.language)

    def _accept(self, caption: Caption) -> None:
        """Print a caption. While a line grows, later segments wait until they are final."""
        growing = min(self._unfinished, default=caption.segment_id)
        if caption.final:
            self._end_segment(caption)
        else:
            self._unfinished[caption.segment_id] = caption
        if self._show_partials and self._unfinished and not (caption.final and caption.segment_id != growing):
            first = self._unfinished[min(self._unfinished)]
            if not self._line or self._line_segment == first.segment_id:
                self._grow(text_of(first), first)

    def _notice(self, text: str) -> None:
        if self._stream.isatty():
            self._end_line()
        put(self._notices, f"{text}\n")

    def _end_segment(self, caption: Caption) -> None:
        self._unfinished.pop(caption.segment_id, None)
        if self._line_segment != caption.segment_id:
            self._end_line()
        text = text_of(caption)
        is_shown = self._show_source and text and not caption.untranslated
        source = visible(caption.source).strip() if is_shown else ""
        line = f"> {track_label(caption.track)}{isolated(source, reads_right_to_left(source))}\n" if source else ""
        if self._source_first:
            self._put(line)
        self._grow(text, caption, whole=True)
        self._end_line()
        if not self._source_first:
            self._put(line)

    def _grow(self, text: str, caption: Caption, *, whole: bool = False) -> None:
        """Extend the current line to `text`, or begin another. If `text` only retracts words, `whole` decides."""
        if not text.startswith(self._line):
            if not whole and self._line.startswith(text):
                return
            self._end_line()
        if text and not self._line:
            before, _, self._isolate_end = isolated(text, caption.right_to_left).partition(text)
            self._put(before)
        self._put(text[len(self._line) :])
        self._line, self._line_segment = text, caption.segment_id

    def _end_line(self) -> None:
        if self._line:
            self._line = ""
            self._put(f"{self._isolate_end}\n")

    def _put(self, text: str) -> None:
        if not text:
            return
        try:
            put(self._stream, text)
        except (OutputClosed, SessionError):
            # Closing must not try again.
            self._closed = True
            raise


class JsonLinesOutput:
    """A sink that writes each event as a line of JSON (docs/events.md), and flushes it at once."""

    def __init__(self, stream: TextIO, *, closes_stream: bool = False) -> None:
        self._stream = stream
        # Lines are UTF-8. A stream of another encoding gets ASCII, which is valid in both.
        self._ascii_only = codecs.lookup(stream.encoding or "utf-8").name != "utf-8"
        self._closes_stream = closes_stream

    def write(self, record: Record) -> None:
        """Write the record's line.

        Raises:
            OutputClosed: the stream's reader has gone.
            SessionError: the stream cannot be written.
        """
        put(self._stream, f"{to_line(record, ascii_only=self._ascii_only)}\n")

    def close(self) -> None:
        if self._closes_stream:
            # Every line was flushed, so closing fails only if writing failed before.
            with contextlib.suppress(OSError):
                self._stream.close()


class CaptionFile:
    """A sink that keeps the newest caption of each track and language in a file, one per line, for other programs.

    The file is whole at any moment. It is empty before the first caption and after the run.
    """

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            UsageError: it exists and is not empty, so it may be somebody's.
            SessionError: it cannot be written.
        """
        self._path = path.expanduser()
        if self._path.exists() and not (self._path.is_file() and self._path.stat().st_size == 0):
            raise UsageError(
                f"{path} exists already and is not an empty file; remove it, or name another --caption-file"
            )
        self._captions = Captions()
        self._newest: dict[tuple[str | None, str | None], Key] = {}
        """By track and language, in the order of their first captions."""
        self._replace()

    def write(self, record: Record) -> None:
        """Replace the file if the record is a caption, or corrects one."""
        changed = self._captions.feed(record.event)
        if isinstance(record.event, Caption):
            self._newest |= {(caption.track, caption.language): key_of(caption) for caption in changed}
        if changed:
            self._replace()

    def close(self) -> None:
        self._newest.clear()
        with contextlib.suppress(SessionError):
            self._replace()

    def _replace(self) -> None:
        try:
            with replacing(self._path) as file:
                shown = [caption for caption in map(self._captions.get, self._newest.values()) if caption]
                file.writelines(f"{line}\n" for line in map(text_of, shown) if line)
        except OSError as fault:
            reason = fault.strerror or str(fault)
            raise SessionError(f"{self._path} cannot be written ({reason}): name another --caption-file.") from fault


def put(stream: LineOutput, text: str) -> None:
    """Write and flush.

    Raises:
        OutputClosed: the stream's reader has gone.
        SessionError: the stream cannot be written (a full disk behind `>`).
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError as error:
        raise OutputClosed from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionError(
            f"The output cannot be written ({reason}): free some space or choose another place."
        ) from error


def open_records(settings: OutputSettings) -> list[Sink]:
    """Open the sinks that record the run. Called before models load, so that a bad place is reported at once.

    If one cannot be opened, nothing is left of the others.
    """
    records: list[Sink] = []
    with contextlib.ExitStack() as undo:
        if settings.jsonl and settings.jsonl != "-":
            path = Path(settings.jsonl).expanduser()
            file = create(path, "--jsonl")
            undo.callback(path.unlink)
            undo.callback(file.close)
            records.append(JsonLinesOutput(file, closes_stream=True))
        if settings.caption_file:
            records.append(captions := CaptionFile(settings.caption_file))
            undo.callback(captions.close)
        if settings.name is not None:
            check_name(settings.name)
        if settings.record_session:
            folder = (
                settings.session.expanduser()
                if settings.session
                else make_session_folder(sessions_folder(), datetime.now(), settings.name)
            )
            records.append(SessionRecorder(folder, keep_audio=settings.keep_audio))
        undo.pop_all()
    return records


def open_lines(settings: Settings, stream: LineOutput | None = None) -> Sink:
    """Open the sink for standard output. `stream` replaces standard output for captions."""
    if settings.output.jsonl == "-":
        return JsonLinesOutput(sys.stdout)
    return PlainOutput(stream or sys.stdout, settings)
