"""Events to JSON lines and back: one line an event, exact but for floats, which keep 6 decimals. See docs/events.md."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Union, get_args, get_origin, get_type_hints

from livetrans.errors import SessionError
from livetrans.events import (
    Caption,
    Coalesced,
    Event,
    Notice,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)

VERSION = 1
"""Of the format, written into every `run_started` line; raised when an old reader would misread a new file."""

EVENTS_FILE = "events.jsonl"

EVENTS: dict[str, type[Event]] = {
    "run_started": RunStarted,
    "source_progress": SourceProgress,
    "transcript": Transcript,
    "coalesced": Coalesced,
    "translation": Translation,
    "caption": Caption,
    "setting_changed": SettingChanged,
    "notice": Notice,
    "run_ended": RunEnded,
}
_FROM_TRANSCRIPT: dict[type[Event], tuple[str, ...]] = {
    Translation: ("segment_id", "revision", "final", "source"),
    Caption: ("segment_id", "revision", "final", "source", "committed_source", "start", "end", "captured_at"),
}
"""A translation and a caption name their transcript; their lines stand alone."""
_NAMES = {event: name for name, event in EVENTS.items()}

DECIMALS = 6
_MAXIMUM_LINE = 16 * 1024 * 1024
# json escapes C0 controls only; these would act on a terminal, end a line for some readers, or not encode at all.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_dict(record: Record) -> dict[str, Any]:
    """The record as JSON-able values: `event`, `at`, then the event's fields under their own names."""
    head: dict[str, Any] = {"event": _NAMES[type(record.event)], "at": round(record.at, DECIMALS)}
    if isinstance(record.event, RunStarted):
        head["version"] = VERSION
    encoded: dict[str, Any] = _encode(record.event)
    return head | _flat(record.event) | encoded


def from_dict(values: Mapping[str, Any]) -> Record:
    """The record that `to_dict` wrote; keys it does not know are ignored, so that fields can be added to the format.

    Raises:
        ValueError: not an event, with the reason.
    """
    name = values.get("event")
    if not isinstance(name, str) or name not in EVENTS:
        raise ValueError(f"{name!r} is no kind of event")
    at = _decode(float, values.get("at"), "at")
    return Record(at, _decode(EVENTS[name], values, name))


def _flat(event: Event) -> dict[str, Any]:
    """The fields of its transcript that a translation or a caption carries under its own name."""
    return {name: _encode(getattr(event, name)) for name in _FROM_TRANSCRIPT.get(type(event), ())}


def to_line(record: Record, *, ascii_only: bool = False) -> str:
    """The record as one line of JSON, without line end; control characters are escaped, other letters stay readable."""
    line: str = json.dumps(to_dict(record), ensure_ascii=ascii_only, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", line)


def without_times(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values less everything measured (`at`, names ending in `_at` or `_seconds`), at every depth.

    What is left is the same in two runs over the same input, so that two runs can be compared.
    """
    return {
        key: without_times(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if not is_time(key)
    }


def is_time(name: str) -> bool:
    """Whether a field of this name is measured time; source time (`start`, `end`, `heard`) is not."""
    return name == "at" or name.endswith(("_at", "_seconds"))


def events_file(path: Path) -> Path:
    """The file of events of a session, given its folder or the file itself."""
    return path / EVENTS_FILE if path.is_dir() else path


def read_records(path: Path, notify: Callable[[Notice], None] | None = None) -> Iterator[Record]:
    """The records of a session folder or .jsonl file; a last line cut by a crash is dropped and `notify` told.

    Raises:
        SessionError: no such file, unreadable, from a newer version, or a line that is no event.
    """
    file = events_file(path)
    for number, values in read_lines(file, notify):
        try:
            record = from_dict(values)
        except ValueError as error:
            raise line_error(number, file, f"an event ({error})") from error
        yield record


def read_lines(path: Path, notify: Callable[[Notice], None] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers (from 1) and objects of a .jsonl file or session folder, read as a stream, without blank lines.

    Raises:
        SessionError: as `read_records`, except that the objects need not be events.
    """
    file = events_file(path)
    try:
        with file.open("rb") as stream:
            yield from _parse(stream, file, notify)
    except FileNotFoundError as error:
        raise SessionError(f"There is no session at {path}: give a session's folder or its {EVENTS_FILE}.") from error
    except OSError as error:
        raise SessionError(f"{file} cannot be read ({error.strerror or error}): check its permissions.") from error


def line_error(number: int, file: Path, expected: str) -> SessionError:
    """The sentence for a line that cannot be used; `expected` says what it should have been."""
    return SessionError(f"line {number} of {file} is not {expected}: give a session, or remove the line.")


def _parse(
    stream: BinaryIO, file: Path, notify: Callable[[Notice], None] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    while line := stream.readline(_MAXIMUM_LINE):
        number += 1
        if not line.strip():
            continue
        try:
            values = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            # Every record is written with its line end at once, so only a crash or a full disk leaves a line without.
            if not line.endswith(b"\n") and len(line) < _MAXIMUM_LINE and (number > 1 or line.startswith(b"{")):
                if notify is not None:
                    notify(Notice("warning", f"The last line of {file} is incomplete and was left out."))
                return
            raise line_error(number, file, "JSON") from error
        if not isinstance(values, dict):
            raise line_error(number, file, "a JSON object")
        version = values.get("version", VERSION) if values.get("event") == "run_started" else VERSION
        if not isinstance(version, int):
            raise line_error(number, file, "an event (its version is no number)")
        if version > VERSION:
            raise SessionError(
                f"{file} was written by a newer livetrans (format {version}, not {VERSION}): update livetrans."
            )
        yield number, values


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _encode(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _encode(item) for key, item in value.items()}
    if is_dataclass(value):
        names = [
            field.name for field in fields(value) if type(value) not in _FROM_TRANSCRIPT or field.name != "transcript"
        ]
        return {name: _encode(getattr(value, name)) for name in names}
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(hint: Any, value: Any, name: str) -> Any:
    """The value as the type that the hint names; types are checked, because a session file may have been edited."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        for option in get_args(hint):
            try:
                return _decode(option, value, name)
            except ValueError:
                continue
    elif origin is tuple and isinstance(value, list):
        return tuple(_decode(get_args(hint)[0], item, name) for item in value)
    elif origin is dict and isinstance(value, Mapping):
        return {key: _decode(get_args(hint)[1], item, f"{name}.{key}") for key, item in value.items()}
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        # JSON has numbers that a float cannot hold: 1e999 comes as infinity, a long row of digits as an int.
        if abs(value) > sys.float_info.max:
            raise ValueError(f"`{name}` is too large")
        return float(value)
    elif hint is type(None) and value is None:
        return None
    elif hint in (int, str, bool) and type(value) is hint:
        return value
    elif is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        return hint(**_decode_fields(hint, value))
    raise ValueError(f"`{name}` is missing" if value is None else f"`{name}` cannot be {value!r:.40}")


def _decode_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    hints = _hints(kind)
    if kind in _FROM_TRANSCRIPT:
        values = {**values, "transcript": _transcript_of(values)}
    return {
        field.name: _decode(hints[field.name], values.get(field.name), field.name)
        for field in fields(kind)
        if field.name in values or field.default is MISSING
    }


def _transcript_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """As much of the transcript as the flat line of a translation or a caption says."""
    source = values.get("source")
    committed = values.get("committed_source", source)
    rest = source[len(committed) :].strip() if isinstance(source, str) and isinstance(committed, str) else ""
    return {"start": 0.0, "end": 0.0, **values, "committed": committed, "partial": rest, "recognition": None}
