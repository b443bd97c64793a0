"""JSON lines: typed values to lines and back, strict to read, and events as such lines (docs/events.md).

A run file of the benchmark is written and read by the same functions (`livetrans.bench.runfile`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from livetrans.config import CALM, Settings, with_preset
from livetrans.errors import SessionError
from livetrans.events import (
    BackPressure,
    Caption,
    Event,
    Notice,
    Record,
    RunStarted,
    Transcript,
    Translation,
)
from livetrans.text import UNSEEN

VERSION = 2
"""Of the format, written into every `run_started` line; raised when an old reader would misread a new file. In format 1
a segment has captions in one language only."""

EVENTS_FILE = "events.jsonl"

EVENTS: dict[str, type[Event]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(Event)
}
"""The kinds of events by the names that lines have for them, such as `run_started`."""
OF_TRANSCRIPT: dict[type[Event], tuple[str, ...]] = {
    Translation: ("segment_id", "revision", "final", "track", "source"),
    Caption: ("segment_id", "revision", "final", "track", "source", "committed_source", "start", "end", "captured_at"),
}
"""What the lines of translations and captions repeat of their transcript, so that each line can be read alone."""
_OTHER_NAMES = {"source": "text", "committed_source": "committed"}
"""What some of it is called in the transcript itself."""
_NAMES = {event: name for name, event in EVENTS.items()}

DECIMALS = 6
_LARGEST = 1e15
"""Of the numbers with a fraction: from about here on they have none, and times in milliseconds would overflow."""
_MAXIMUM_LINE = 16 * 1024 * 1024

Value = TypeVar("Value")
Transcripts = dict[int, dict[int, Transcript]]
"""Transcripts by segment and revision."""


def encode(value: Any) -> Any:
    """Return a dataclass, or values of dataclasses, as JSON has them; floats keep 6 decimals, paths their last part."""
    return _rounded(msgspec.to_builtins(value, enc_hook=_name_of))


def decode(kind: type[Value], values: Any) -> Value:
    """Return the dataclass that `encode` was given; unknown keys are ignored, absent ones take their default.

    Raises:
        ValueError: a value is missing or of another type (a truth value is not a number), with its name.
    """
    return msgspec.convert(values, kind, dec_hook=_path_of)


def dump(values: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Return the values as a line of JSON, without line end; control characters are escaped, letters stay readable."""
    line = json.dumps(values, ensure_ascii=ascii_only, allow_nan=False)
    # json escapes C0 controls only.
    return UNSEEN.sub(lambda found: json.dumps(found.group())[1:-1], line)


def to_dict(record: Record) -> dict[str, Any]:
    """Return the record as JSON has it: `event`, `at`, then the event's fields under their own names."""
    event = record.event
    values: dict[str, Any] = {"event": _NAMES[type(event)], "at": record.at}
    if isinstance(event, RunStarted):
        values["version"] = VERSION
    if isinstance(event, Translation | Caption):
        values |= _repeated(event.transcript, type(event))
    values |= msgspec.to_builtins(event, enc_hook=_name_of)
    values.pop("transcript", None)
    if isinstance(event, RunStarted):
        del values["settings"]["output"]  # It made no figure, and names folders of this machine.
    rounded: dict[str, Any] = _rounded(values)
    return rounded


def from_dict(values: Mapping[str, Any], transcripts: Transcripts | None = None) -> Record:
    """Return the record that `to_dict` wrote.

    A translation or a caption gets the one of the `transcripts` that its line names; where it is not among them, or
    says something else, a transcript with as much as the line says.

    Raises:
        ValueError: not an event, with the reason.
    """
    name = values.get("event")
    if not isinstance(name, str) or name not in EVENTS:
        raise ValueError(f"{name!r} is not a kind of event")
    kind = EVENTS[name]
    at = decode(_PublicationTime, values).at
    if kind is RunStarted and "settings" not in values:
        values = {**values, "settings": _earlier_settings(values.get("signature"))}
    if kind is BackPressure and "step" in values:
        values = {"level": values["step"], **values}  # what it was called before
    if kind not in OF_TRANSCRIPT:
        other = decode(kind, values)
        if isinstance(other, RunStarted) and values.get("version", 1) == 1:
            # Such runs translated into one language at a time, at first into the first.
            other = replace(other, settings=replace(other.settings, targets=other.settings.targets[:1]))
        return Record(at, other)
    given = {**values, "transcript": _transcript_of(values)}
    if "accepted_characters" in values:
        # Earlier versions wrote the number of leading characters that were accepted.
        characters = values["accepted_characters"]
        given.setdefault("accepted", [{"begin": 0, "end": characters}] if characters else [])
    if kind is Caption and values.get("exact") is not None:
        # Earlier versions could decode a text for exports besides the shown one; no part of it is of a draft.
        given |= {"text": values["exact"], "accepted": ()}
    event = decode(kind, given)
    assert isinstance(event, Translation | Caption)
    known = (transcripts or {}).get(event.segment_id, {}).get(event.revision)
    if known is not None and _repeated(known, kind) == _repeated(event.transcript, kind):
        event = replace(event, transcript=known)
    return Record(at, event)


_EARLIER = {
    "source_language": "sources",
    "target_language": "targets",
    "recogniser": "recogniser.model",
    "recogniser_threads": "recogniser.threads",
    "encoder_window": "recogniser.window",
    "translator": "language_model.model",
    "context_tokens": "language_model.context_tokens",
    "translator_threads": "language_model.threads",
    "prompt": "language_model.prompt",
    "draft_model": "draft_model.model",
    "gamma": "draft_model.gamma",
    "history": "prompt.history",
    "step": "transcriber.step",
    "pause": "gate.pause",
    "aggressiveness": "gate.aggressiveness",
    "mask_mode": "mask.mode",
    "mask_k": "mask.k",
    **{name: f"decoding.{name}" for name in ("method", "bias", "window", "final")},
    "final_margin": "decoding.margin",
    "maximum_output_tokens": "decoding.maximum_output_tokens",
}
"""What the signature of a run held before its settings were recorded whole, and the field that it was."""


def _earlier_settings(signature: Any) -> dict[str, Any]:
    """Return the settings, as JSON has them, of a session that has them in its signature only."""
    signed: Mapping[str, Any] = signature if isinstance(signature, Mapping) else {}
    settings: dict[str, Any] = encode(with_preset(Settings(), CALM.get(str(signed.get("calm")), CALM["balanced"])))
    if not signed.get("recogniser"):
        settings["recogniser"] = None
    if signed.get("draft_model"):
        settings["draft_model"] = {}
    for name, field in _EARLIER.items():
        stage, _, last = field.rpartition(".")
        part = settings[stage] if stage else settings
        if name in signed and part is not None:
            part[last] = signed[name] if stage else [signed[name]]
    return settings


def _name_of(path: Any) -> str:
    """Return what is written for a path: where a model lies on this machine says nothing on another."""
    return str(path.name)


def _path_of(kind: type, value: Any) -> Any:
    if kind is not Path or not isinstance(value, str):
        raise ValueError(f"{value!r} is not a name")
    return Path(value)


def _repeated(transcript: Transcript, kind: type[Event]) -> dict[str, Any]:
    return {name: getattr(transcript, _OTHER_NAMES.get(name, name)) for name in OF_TRANSCRIPT[kind]}


def to_line(record: Record, *, ascii_only: bool = False) -> str:
    """Return the record as one line of JSON, without line end."""
    return dump(to_dict(record), ascii_only=ascii_only)


def events_file(path: Path) -> Path:
    """Return the file of events of a session, given its folder or the file itself."""
    return path / EVENTS_FILE if path.is_dir() else path


def read_records(path: Path, notify: Callable[[Notice], None] | None = None) -> Iterator[Record]:
    """Yield the records of a session folder or .jsonl file; `notify` is told of a last line that a crash cut off.

    Raises:
        SessionError: no such file, unreadable, from a newer version, or a line that is not an event.
    """
    file = events_file(path)
    transcripts: Transcripts = {}
    finished: dict[str | None, int] = {}
    for number, values in read_lines(file, notify):
        try:
            record = from_dict(values, transcripts)
        except ValueError as error:
            raise line_error(number, file, f"an event ({error})") from error
        match record.event:
            case Transcript() as transcript:
                transcripts.setdefault(transcript.segment_id, {})[transcript.revision] = transcript
            case Caption(final=True, segment_id=segment_id, track=track):
                # The captions in other languages follow, before those of the track's next segment.
                before = finished.get(track)
                finished[track] = segment_id
                if before not in (None, segment_id):
                    transcripts.pop(before, None)
            case RunStarted():
                transcripts.clear()
            case _:
                pass
        yield record


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
                values = _parsed(line, number, file)
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


def newer_error(file: Path, version: int, ours: int) -> SessionError:
    """Return the error for a file of a later format than ours."""
    return SessionError(f"{file} was written by a newer livetrans (format {version}, not {ours}): update livetrans.")


def _parsed(line: bytes, number: int, file: Path) -> dict[str, Any] | None:
    """Return the object of a line that is not blank; None for a last line that a crash or a full disk cut off."""
    try:
        values = json.loads(line.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        # Every record is written with its line end at once, so no other line lacks it.
        if not line.endswith(b"\n") and len(line) < _MAXIMUM_LINE and (number > 1 or line.startswith(b"{")):
            return None
        if number == 1 and file.suffix != ".jsonl":
            raise SessionError(f"{file} is not a session: `livetrans sessions` lists them.") from error
        raise line_error(number, file, "JSON") from error
    if not isinstance(values, dict):
        raise line_error(number, file, "a JSON object")
    version = values.get("version", VERSION) if values.get("event") == "run_started" else VERSION
    if not isinstance(version, int):
        raise line_error(number, file, "an event (its version is not a number)")
    if version > VERSION:
        raise newer_error(file, version, VERSION)
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


@dataclass(frozen=True, slots=True)
class _PublicationTime:
    at: float


@dataclass(frozen=True, slots=True)
class _FlatTranscript:
    """As much of a transcript as the line of a translation or a caption repeats."""

    segment_id: int
    revision: int
    final: bool
    source: str
    track: str | None = None
    committed_source: str | None = None
    start: float = 0.0
    end: float = 0.0
    captured_at: float | None = None


def _transcript_of(values: Mapping[str, Any]) -> Transcript:
    flat = decode(_FlatTranscript, values)
    committed = flat.source if flat.committed_source is None else flat.committed_source
    rest = flat.source[len(committed) :]
    partial = rest.removeprefix(" ") if committed else rest
    return Transcript(
        flat.segment_id,
        flat.revision,
        committed,
        partial,
        flat.final,
        flat.start,
        flat.end,
        flat.captured_at,
        track=flat.track,
    )
