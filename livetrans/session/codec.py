"""JSON lines: typed values written and read strictly, and events as such lines (docs/events.md).

A run file of the benchmark is written and read by the same functions (`livetrans.bench.runfile`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from livetrans.base.errors import SessionError
from livetrans.base.text import UNSEEN
from livetrans.events import Caption, Event, Notice, Record, Repair, RunStarted, Transcript, Translation

VERSION = 2
"""Version of the format, written into every `run_started` line. Files of another version are refused."""

EVENTS_FILE = "events.jsonl"

EVENTS: dict[str, type[Event]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(Event)
}
"""The kinds of events by their names in the lines, such as `run_started`."""


class _OfTranscript(msgspec.Struct, kw_only=True):
    """As much of a transcript as the line of a caption has; that of a translation has the fields up to `source`."""

    segment_id: int
    revision: int
    final: bool
    track: str | None = None
    source: str
    committed_source: str | None = None
    start: float = 0.0
    end: float = 0.0
    captured_at: float | None = None
    repairs: tuple[Repair, ...] = ()


_FIELDS = _OfTranscript.__struct_fields__
OF_TRANSCRIPT: dict[type[Event], tuple[str, ...]] = {Translation: _FIELDS[:5], Caption: _FIELDS}
"""Fields of their transcript in the lines of translations and captions, so that each line can be read alone."""
_NAMES = {event: name for name, event in EVENTS.items()}

DECIMALS = 6
_LARGEST = 1e15
"""Largest number with a fraction. Beyond it no fraction can be stored, and times in milliseconds would overflow."""
_MAXIMUM_LINE = 16 * 1024 * 1024

Value = TypeVar("Value")


def encode(value: Any) -> Any:
    """Return a dataclass, or values of dataclasses, as JSON has them. Floats keep 6 decimals, paths their last part."""
    return _rounded(msgspec.to_builtins(value, enc_hook=_name_of))


def decode(kind: type[Value], values: Any) -> Value:
    """Return the dataclass that `encode` was given. Unknown keys are ignored, absent ones take their default.

    Raises:
        ValueError: a value is missing or has the wrong type (a truth value is not a number), with its name.
    """
    return msgspec.convert(values, kind, dec_hook=_path_of)


def dump(values: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Return the values as a line of JSON, without line end. Control characters are escaped, letters stay readable."""
    line = json.dumps(values, ensure_ascii=ascii_only, allow_nan=False)
    # json escapes C0 controls only.
    return UNSEEN.sub(lambda found: json.dumps(found.group())[1:-1], line)


def load(data: bytes) -> dict[str, Any]:
    """Return the JSON object in `data`.

    Raises:
        ValueError: it is not UTF-8, not JSON or not an object, or holds a number that is not finite or too large.
    """
    try:
        values = json.loads(data.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError("it is not a JSON object")
    return values


def to_dict(record: Record) -> dict[str, Any]:
    """Return the record as JSON has it: `event`, `at`, then the event's fields under their own names."""
    event = record.event
    values: dict[str, Any] = {"event": _NAMES[type(event)], "at": record.at}
    if isinstance(event, RunStarted):
        values["version"] = VERSION
    values |= {name: msgspec.to_builtins(getattr(event, name)) for name in OF_TRANSCRIPT.get(type(event), ())}
    values |= msgspec.to_builtins(event, enc_hook=_name_of)
    values.pop("transcript", None)
    if isinstance(event, RunStarted):
        settings = values["settings"]
        del settings["output"]  # It made no figure, and names folders of this machine.
        if settings["recogniser"]:
            del settings["recogniser"]["hot_words"]  # They are the terms of the glossary.
    rounded: dict[str, Any] = _rounded(values)
    return rounded


def from_dict(values: Mapping[str, Any]) -> Record:
    """Return the record that `to_dict` wrote; a translation or a caption has as much of its transcript as its line.

    Raises:
        ValueError: not an event, with the reason.
    """
    name = values.get("event")
    if not isinstance(name, str) or name not in EVENTS:
        raise ValueError(f"{name!r} is not a kind of event")
    kind = EVENTS[name]
    if kind in OF_TRANSCRIPT:
        values = {**values, "transcript": _transcript_of(values)}
    return Record(decode(_PublicationTime, values).at, decode(kind, values))


def _name_of(path: Any) -> str:
    """Return what is written for a path: where a model lies on this machine says nothing on another."""
    return str(path.name)


def _path_of(kind: type, value: Any) -> Any:
    if kind is not Path or not isinstance(value, str):
        raise ValueError(f"{value!r} is not a name")
    return Path(value)


def to_line(record: Record, *, ascii_only: bool = False) -> str:
    """Return the record as one line of JSON, without line end."""
    return dump(to_dict(record), ascii_only=ascii_only)


def events_file(path: Path) -> Path:
    """Return the file of events of a session, given its folder or the file itself."""
    return path / EVENTS_FILE if path.is_dir() else path


def read_records(path: Path, notify: Callable[[Notice], None] | None = None) -> Iterator[Record]:
    """Yield the records of a session folder or .jsonl file; `notify` is told of a last line that a crash cut off.

    Raises:
        SessionError: no such file, unreadable, of another version, or a line that is not an event.
    """
    file = events_file(path)
    for number, values in read_lines(file, notify):
        try:
            yield from_dict(values)
        except ValueError as error:
            raise event_error(number, values, file, f"an event ({error})") from error


def read_lines(path: Path, notify: Callable[[Notice], None] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line numbers (from 1) and objects of a .jsonl file or session folder, without blank lines.

    Raises:
        SessionError: as `read_records`, except that the objects need not be events.
    """
    file = events_file(path)
    number = 0
    try:
        with file.open("rb") as stream:
            while line := stream.readline(_MAXIMUM_LINE):
                number += 1
                if not line.strip():
                    continue
                values = _read_line(line, number, file)
                if values is not None:
                    yield number, values
                elif notify is not None:
                    notify(Notice("warning", f"The last line of {file} is incomplete and was left out."))
    except FileNotFoundError as error:
        raise SessionError(f"There is no session at {path}: give a session's folder or its {EVENTS_FILE}.") from error
    except OSError as error:
        raise SessionError(f"{file} cannot be read ({error.strerror or error}): check its permissions.") from error


def line_error(number: int, file: Path, expected: str) -> SessionError:
    """Return the error for a line that cannot be used; `expected` says what it should have been."""
    return SessionError(f"line {number} of {file} is not {expected}: name another file, or remove the line.")


def event_error(number: int, values: Mapping[str, Any], file: Path, expected: str) -> SessionError:
    """Return the error for a line that is no such event; a run file of the benchmark is called so."""
    if number == 1 and values.get("line") == "header":
        return SessionError(
            f"{file} is a run of the benchmark, not a session: `livetrans bench table {file}` shows it."
        )
    return line_error(number, file, expected)


def version_error(file: Path, version: int, ours: int) -> SessionError:
    """Return the error for a file of another format than ours."""
    advice = "update livetrans" if version > ours else "record it again"
    return SessionError(f"{file} is of another version of livetrans (format {version}, not {ours}): {advice}.")


def _read_line(line: bytes, number: int, file: Path) -> dict[str, Any] | None:
    """Return the object of a line that is not blank; None for a last line that a crash or a full disk cut off."""
    try:
        values = load(line)
    except ValueError as error:
        # Every record is written with its line end at once, so no other line lacks it.
        if not line.endswith(b"\n") and len(line) < _MAXIMUM_LINE and (number > 1 or line.startswith(b"{")):
            return None
        if number == 1 and file.suffix != ".jsonl":
            raise SessionError(f"{file} is not a session: `livetrans sessions` lists them.") from error
        raise line_error(number, file, "a JSON object") from error
    if values.get("event") == "run_started":
        version = values.get("version")
        if not isinstance(version, int):
            raise line_error(number, file, "an event (it has no version)")
        if version != VERSION:
            raise version_error(file, version, VERSION)
    return values


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) > _LARGEST:
        raise ValueError(f"{text} is too large")
    return number


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        # Token ids are many and need no rounding.
        return list(value) if value and isinstance(value[0], int) else [_rounded(item) for item in value]
    return value


class _PublicationTime(msgspec.Struct):
    at: float


def _transcript_of(values: Mapping[str, Any]) -> Transcript:
    of = msgspec.structs.asdict(msgspec.convert(values, _OfTranscript))
    source, committed = of.pop("source"), of.pop("committed_source")
    committed = source if committed is None else committed
    rest = source[len(committed) :]
    return Transcript(committed=committed, partial=rest.removeprefix(" ") if committed else rest, **of)
