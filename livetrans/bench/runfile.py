"""The run file on disk: JSON lines, strict to read, and resumable where a crash cut it."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from livetrans.bench.records import FORMAT, Header, Run, Segment, Update
from livetrans.errors import SessionError

DECIMALS = 7
"""Of seconds: a tenth of a microsecond."""

_KINDS: dict[str, type[Header] | type[Segment] | type[Update]] = {
    "header": Header,
    "segment": Segment,
    "update": Update,
}
_LINES = {kind: name for name, kind in _KINDS.items()}


def to_line(record: Header | Segment | Update) -> str:
    """One line of JSON with its line end; control characters and lone surrogates are escaped."""
    values = {"line": _LINES[type(record)], **_tidied(asdict(record))}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False)
    # Not every letter that JSON lets stand raw can be encoded, or leaves a line whole for every reader.
    return "".join(_escaped(letter) if not letter.isprintable() and letter != " " else letter for letter in text) + "\n"


def _escaped(letter: str) -> str:
    encoded = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{encoded[begin : begin + 4]}" for begin in range(0, len(encoded), 4))


def _tidied(value: Any) -> Any:
    """Seconds rounded, and what is None left out."""
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _tidied(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_tidied(item) for item in value] if value and not isinstance(value[0], int) else value
    return value


def read_run(path: Path) -> Run:
    """The whole units of a run file.

    Raises:
        SessionError: no such file, no run file, from a newer version, or a line that is none of ours.
    """
    header: Header | None = None
    segments: list[Segment] = []
    updates: list[Update] = []
    whole_updates = size_bytes = offset = 0
    for number, line in _lines(path):
        offset += len(line)
        record = _parsed(line, number, path)
        if header is None:
            if not isinstance(record, Header):
                raise SessionError(f"{path} is no run of `livetrans bench run` (no header comes first); name another")
            header = record
        elif isinstance(record, Header):
            raise SessionError(f"line {number} of {path} is a second header; keep one run in a file")
        elif isinstance(record, Segment):
            segments.append(record)
        else:
            updates.append(record)
        if not isinstance(record, Update) or record.final:
            whole_updates, size_bytes = len(updates), offset
    if header is None:
        raise SessionError(f"{path} is no run of `livetrans bench run` (no header comes first); name another")
    run = Run(path, header, tuple(segments), tuple(updates[:whole_updates]), size_bytes)
    _check(run)
    return run


def _check(run: Run) -> None:
    """Every unit is whole, in order, said once, and belongs to a segment and a method of the run."""
    labels = {method.label for method in run.header.methods}
    known = {segment.segment_id for segment in run.segments}
    done: set[tuple[int, int, str]] = set()
    expected = 0
    for update in run.updates:
        if update.method not in labels or update.segment_id not in known or not 0 <= update.repeat < run.header.repeats:
            raise SessionError(
                f"{run.path} has an update of {update.method!r} on segment {update.segment_id}, which its header does "
                "not announce; make the run again"
            )
        if update.update != expected or update.unit in done or len(update.ends) != len(update.tokens):
            raise SessionError(
                f"{run.path} is out of order at update {update.update} of segment {update.segment_id} by "
                f"{update.method!r}; make the run again"
            )
        expected = 0 if update.final else expected + 1
        if update.final:
            done.add(update.unit)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines with their numbers from 1; a last line without line end was cut and is left out."""
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.endswith(b"\n"):
                    yield number, line
    except FileNotFoundError:
        raise SessionError(f"there is no run file {path}; make one with `livetrans bench run`") from None
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror}); name a run file") from None


def _parsed(line: bytes, number: int, path: Path) -> Header | Segment | Update:
    try:
        values = json.loads(line.decode("utf-8"))
        if not isinstance(values, dict) or values.get("line") not in _KINDS:
            raise ValueError("it is no header, segment or update")
        if values["line"] == "header" and isinstance(values.get("format"), int) and values["format"] > FORMAT:
            raise SessionError(
                f"{path} was written by a newer livetrans (format {values['format']}, not {FORMAT}); update livetrans"
            )
        return _decoded(_KINDS[values["line"]], values, values["line"])
    except (ValueError, RecursionError) as error:
        no_json = isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError)
        reason = "it is no JSON" if no_json else error
        raise SessionError(f"line {number} of {path} cannot be used ({reason}); name a run file") from None


_Record = TypeVar("_Record")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decoded(kind: type[_Record], values: Mapping[str, Any], name: str) -> _Record:
    hints = _hints(kind)  # type: ignore[arg-type]
    decoded = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in values:
            decoded[field.name] = _value(hints[field.name], values[field.name], f"{name}.{field.name}")
        elif field.default is MISSING:
            raise ValueError(f"{name}.{field.name} is missing")
    return kind(**decoded)


def _value(hint: Any, value: Any, name: str) -> Any:
    """The value as the hint's type; checked, because a run file may have been edited."""
    if hint is float and type(value) in (int, float):
        return float(value)
    if hint in (int, str, bool) and type(value) is hint:
        return value
    origin = get_origin(hint)
    if origin is tuple and isinstance(value, list):
        item_hint = get_args(hint)[0]
        if item_hint is int and all(type(item) is int for item in value):
            return tuple(value)
        return tuple(_value(item_hint, item, name) for item in value)
    if origin is dict and isinstance(value, dict):
        return {key: _value(str, item, f"{name}.{key}") for key, item in value.items()}
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _value(next(option for option in get_args(hint) if option is not type(None)), value, name)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _decoded(hint, value, name)
    raise ValueError(f"{name} cannot be {value!r:.40}")
