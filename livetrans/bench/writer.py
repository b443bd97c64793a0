"""Appends units to a run file, and continues a file of the same run behind its last whole unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
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
        except SessionError as fault:
            raise UsageError(
                f"{self._path} exists and cannot be continued ({fault}); "
                "choose another name with -o, or --force to overwrite it"
            ) from None
        if run.header != header or run.segments != tuple(segments)[: len(run.segments)]:
            raise UsageError(
                f"{self._path} holds another run ({_differences(run, header, segments)}); "
                "choose another name with -o, or --force to overwrite it"
            )
        return run

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


def _differences(run: RunFile, new: Header, segments: Sequence[Segment]) -> str:
    """Return what differs between a file and a new run, in words."""
    old = run.header
    found = []
    if (old.corpus.segments, old.corpus.name) != (new.corpus.segments, new.corpus.name):
        found.append(
            " not ".join(f"{each.corpus.segments} sentences of {each.corpus.name}," for each in (old, new))[:-1]
        )
    elif old.corpus.sha256 != new.corpus.sha256 or run.segments != tuple(segments)[: len(run.segments)]:
        pairs = list(zip(run.segments, segments, strict=False))
        parts = {"source": "other source texts", "reference": "other references"}
        differing = (
            text for part, text in parts.items() if any(getattr(a, part) != getattr(b, part) for a, b in pairs)
        )
        found += [*differing] or ["other segments or updates"]
    before, now = _in_words(old), _in_words(new)
    names = [name for name in {**before, **now} if name not in ("corpus name", "corpus segments", "corpus sha256")]
    pairs_of_values = ((name, before.get(name), now.get(name)) for name in names)
    found += [f"{name}: {mine}, not {theirs}" for name, mine, theirs in pairs_of_values if mine != theirs]
    return "; ".join(found)


def _in_words(header: Header) -> dict[str, str]:
    """Return the parts of a header by name."""
    words: dict[str, str] = {}
    for field in fields(header):
        name, value = field.name.replace("_", " "), getattr(header, field.name)
        if is_dataclass(value):
            words |= {f"{name} {part.name.replace('_', ' ')}": str(getattr(value, part.name)) for part in fields(value)}
        elif isinstance(value, tuple):
            words[name] = ",".join(method.label for method in value)
        else:
            words[name] = ", ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
    return words
