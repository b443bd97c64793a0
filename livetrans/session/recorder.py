"""The session folder. Every event, and the sound if wanted, is appended as it happens: a crash loses nothing.

What was said is private: only their owner can open the folders and files, whatever the umask is.
"""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress
from datetime import datetime
from io import FileIO
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import lock, private_file, private_folder, write_all
from livetrans.config import Settings
from livetrans.events import SAMPLE_RATE, AudioChunk, Record, RunEnded, RunStarted
from livetrans.session.codec import EVENTS_FILE, to_line
from livetrans.session.store import Summarising, Summary, summarise_events, write_summary

AUDIO_FILE = "audio.wav"
MICROPHONE_FILE = "microphone.wav"
"""The microphone's sound in a run of two tracks. The computer's sound is in the other file."""

_SUMMARY_INTERVAL = 10.0
"""Seconds between two writes of the summary."""
_HEADER_BYTES = 44
_SAMPLE_BYTES = 2
_HEADER_INTERVAL = SAMPLE_RATE * _SAMPLE_BYTES
"""Bytes of sound between two updates of the header. After a crash, a player misses at most this second."""


def make_session_folder(sessions: Path, now: datetime, name: str | None = None) -> Path:
    """Create a new folder in `sessions`, named `name` or by the time. No other run gets the same one.

    Raises:
        UsageError: the name is taken.
        SessionError: it cannot be created.
    """
    try:
        private_folder(sessions)
        for number in count(1):
            end = "" if number == 1 else f"-{number}"
            folder = sessions / (name or now.strftime("%Y-%m-%dT%H-%M-%S") + end)
            try:
                folder.mkdir(mode=0o700)
                break
            except FileExistsError:
                if name is not None:
                    raise UsageError(f"there is a session {name} already; choose another name") from None
    except OSError as error:
        raise _error(sessions, error) from error
    return folder


class SessionRecorder:
    """A sink that records a session in a folder: `events.jsonl`, and with `keep_audio` a WAV file for each track.

    Each event is handed to the system before `write` returns. Nothing more is written after the first error.
    """

    def __init__(self, folder: Path, *, keep_audio: bool = False, append: bool = False) -> None:
        """Create the folder and its files. `append` continues an existing session after its last whole line.

        Raises:
            UsageError: the folder holds a session or other files, and `append` is not set.
            SessionError: it cannot be created or written, or another run records into it.
        """
        self.folder = folder
        self.is_new = not append
        """Whether this run began the session."""
        self.has_failed = False
        """Whether an event could not be written: the session lacks it, and all after it."""
        self.written_until = 0.0
        """The instant of the last event that was written."""
        self._audio: dict[bool, _WaveFile] = {}
        """True is the microphone's in a run of two tracks; False is any other sound."""
        self._settings = Settings()
        self.records_sound = keep_audio
        if not append and (folder / EVENTS_FILE).exists():
            raise UsageError(f"{folder} holds a session already: choose another folder with --session.")
        if not append and folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"{folder} holds other files: name a new or an empty folder with --session.")
        try:
            private_folder(folder)
            # Unbuffered: a crash loses what a buffer holds, and after a full disk close() would write it again.
            self._events = private_file(folder / EVENTS_FILE, "rb+" if append else "xb")
            if keep_audio:
                self._audio[False] = _WaveFile(folder / AUDIO_FILE)
        except OSError as error:
            raise _error(folder, error, append=append) from error
        locked = lock(self._events)
        if append and not locked:
            self._events.close()
            raise SessionError(f"{folder} is being recorded: end that run first.")
        self._written = _cut_half_line(self._events) if append else 0
        self._summarising = summarise_events(folder) if append else Summarising()
        self._summarised_at = 0.0
        self._write_summary()
        for file in (folder / AUDIO_FILE, folder / MICROPHONE_FILE) if append else ():
            if file.is_file():
                with suppress(OSError):  # After a kill the header can lack up to a second.
                    _WaveFile(file, append=True).close()

    def write(self, record: Record) -> None:
        """Append the record as one line.

        Raises:
            SessionError: it cannot be written. Later records are dropped.
        """
        if self.has_failed:
            return
        line = f"{to_line(record)}\n".encode()
        try:
            write_all(self._events, line)
        except OSError as error:
            self.has_failed = True
            with suppress(OSError):
                # Without the half line, the records before it are a whole session.
                self._events.truncate(self._written)
            raise _error(self.folder, error, append=not self.is_new) from error
        self._written += len(line)
        self.written_until = record.at
        self._summarising.note(record)
        if isinstance(record.event, RunStarted):
            self._settings = record.event.settings
        is_mark = isinstance(record.event, RunStarted | RunEnded)
        if is_mark or not 0 <= record.at - self._summarised_at < _SUMMARY_INTERVAL:
            self._summarised_at = record.at
            self._write_summary()

    @property
    def summary(self) -> Summary:
        return self._summarising.summary

    def _write_summary(self) -> None:
        self.summary.events_bytes = self._written
        write_summary(self.folder, self.summary)

    def write_audio(self, chunk: AudioChunk) -> None:
        """Append sound if `keep_audio` is set. Lost sound becomes silence, so that times in the file are source times.

        Raises:
            SessionError: it cannot be written. Later sound is dropped.
        """
        if not self.records_sound:
            return
        is_microphone = self._settings.is_microphone(chunk.track)
        try:
            if is_microphone not in self._audio:
                self._audio[is_microphone] = _WaveFile(self.folder / MICROPHONE_FILE)
            self._audio[is_microphone].write(chunk)
        except OSError as error:
            self.records_sound = False
            self._close_audio()
            advice = "free some space" if error.errno == errno.ENOSPC else "check its permissions"
            reason = error.strerror or str(error)
            raise SessionError(f"The sound cannot be kept in {self.folder} ({reason}): {advice}.") from error

    @property
    def kept(self) -> tuple[str, ...]:
        """What it still records."""
        if self.has_failed:
            return ()
        return ("the session", "its sound") if self.records_sound else ("the session",)

    def close(self) -> None:
        if not self._events.closed:
            self._write_summary()
        self._events.close()
        self._close_audio()

    def _close_audio(self) -> None:
        for audio in self._audio.values():
            audio.close()
        self._audio.clear()


def sound_seconds(path: Path) -> float:
    """Return the length of a session's sound file in seconds, 0 if there is none."""
    try:
        return max(path.stat().st_size - _HEADER_BYTES, 0) / (SAMPLE_RATE * _SAMPLE_BYTES)
    except OSError:
        return 0.0


def _cut_half_line(events: FileIO) -> int:
    """Remove an incomplete last line that a crash left. Return the new length, which is the file's position too."""
    if not events.seek(0, os.SEEK_END):
        return 0
    with mmap(events.fileno(), 0, access=ACCESS_READ) as lines:
        kept = lines.rfind(b"\n") + 1
    events.truncate(kept)
    return events.seek(kept)


def _error(folder: Path, error: OSError, *, append: bool = False) -> SessionError:
    reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror or str(error)
    if append:
        advice = "free some space" if error.errno == errno.ENOSPC else "check its permissions"
        return SessionError(f"Nothing can be added to the session {folder} ({reason}): {advice}.")
    advice = "free some space, choose" if error.errno == errno.ENOSPC else "choose"
    return SessionError(
        f"The session cannot be recorded in {folder} ({reason}): "
        f"{advice} a folder with --session, or record none with --no-session."
    )


class _WaveFile:
    """A mono 16 kHz int16 WAV file whose header stays right while it grows."""

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self._file = private_file(path, "rb+" if append else "wb")
        self._data_bytes = max(self._file.seek(0, os.SEEK_END) - _HEADER_BYTES, 0)
        self._stated_bytes = 0
        self._write_header()

    def write(self, chunk: AudioChunk) -> None:
        self._file.seek(_HEADER_BYTES + chunk.start_sample * _SAMPLE_BYTES)
        write_all(self._file, chunk.samples.astype("<i2").tobytes())
        self._data_bytes = max(self._data_bytes, self._file.tell() - _HEADER_BYTES)
        if self._data_bytes - self._stated_bytes >= _HEADER_INTERVAL:
            self._write_header()

    def close(self) -> None:
        """Write the final sizes. This works on a full disk too, because the header already has its place."""
        with suppress(OSError):
            self._write_header()
        with suppress(OSError):
            self._file.close()

    def _write_header(self) -> None:
        # The sizes have 32 bits. After 37 hours they stay at their largest, which players read as "to the end".
        size = min(self._data_bytes, 0xFFFF_FFFF - _HEADER_BYTES)
        byte_rate = SAMPLE_RATE * _SAMPLE_BYTES
        form = struct.pack("<HHIIHH", 1, 1, SAMPLE_RATE, byte_rate, _SAMPLE_BYTES, 8 * _SAMPLE_BYTES)
        riff = struct.pack("<4sI4s4sI", b"RIFF", size + _HEADER_BYTES - 8, b"WAVE", b"fmt ", len(form))
        self._file.seek(0)
        write_all(self._file, riff + form + struct.pack("<4sI", b"data", size))
        self._stated_bytes = self._data_bytes
