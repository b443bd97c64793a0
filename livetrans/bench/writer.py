"""Appends units to a run file, and continues a file of the same run behind its last whole unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from livetrans.bench.runfile import Header, RunFile, Segment, Unit, Update, read_run, to_line
from livetrans.errors import SessionError, UsageError


class RunWriter:
    """Appends whole units to a run file; an existing file of the same run is continued behind its last whole unit."""

    def __init__(self, path: Path, header: Header, segments: Sequence[Segment], *, overwrite: bool = False) -> None:
        """Open the file.

        Raises:
            UsageError: a file of something else or no file, such as a device, is there, and `overwrite` is not set.
            SessionError: it cannot be written.
        """
        self._path = path
        self.done: frozenset[Unit] = frozenset()
        if path.exists() and not path.is_file() and not overwrite:
            raise UsageError(f"{path} is not a file; choose another name with -o")
        try:
            if overwrite or _is_unbegun(path, to_line(header).encode()):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._stream: BinaryIO = path.open("wb")
                self._write(to_line(header))
            else:
                run = self._continued(header, segments)
                self.done = frozenset(run.units)
                self._stream = path.open("r+b")
                self._stream.seek(run.whole_bytes - 1)
                ended = self._stream.read(1) == b"\n"
                self._stream.truncate(run.whole_bytes)
                if not ended:
                    self._write("\n")
                segments = segments[len(run.segments) :]
            self._write("".join(map(to_line, segments)))
        except OSError as fault:
            raise self._fault(fault) from fault

    def _continued(self, header: Header, segments: Sequence[Segment]) -> RunFile:
        try:
            run = read_run(self._path)
            if run.header == header and run.segments == tuple(segments)[: len(run.segments)]:
                return run
            problem = f"holds another run ({_differences(run.header, header)})"
        except SessionError as fault:
            problem = f"exists and cannot be continued ({fault})"
        raise UsageError(f"{self._path} {problem}; choose another name with -o, or --force to overwrite it")

    def write_unit(self, updates: Sequence[Update]) -> None:
        """Append a unit and hand it to the system.

        Raises:
            SessionError: it cannot be written.
        """
        try:
            self._write("".join(map(to_line, updates)))
        except OSError as fault:
            raise self._fault(fault) from fault

    def _write(self, text: str) -> None:
        self._stream.write(text.encode())
        self._stream.flush()

    def _fault(self, fault: OSError) -> SessionError:
        reason = fault.strerror or str(fault)
        return SessionError(f"{self._path} cannot be written ({reason}); free space or choose another place")

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()


def _is_unbegun(path: Path, header: bytes) -> bool:
    """Return whether nothing would be lost by beginning anew: no file, an empty one, or a part of our header line."""
    if not path.exists():
        return True
    with path.open("rb") as stream:
        line = stream.readline(len(header) + 1)
    return line != header and header.startswith(line)


def _differences(old: Header, new: Header) -> str:
    """Return what differs between two runs, in words."""
    before, now = old.parts(), new.parts()
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return (
        "; ".join(f"{name}: {before.get(name)}, not {now.get(name)}" for name in names) or "other texts or references"
    )
