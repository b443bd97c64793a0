"""The run file: what it holds, how it is read, written, and continued. Every table is computed from it.

docs/bench.md explains every field, under "The run file".

    header            one line: what produced the numbers
    segment ...       one line a segment of the corpus: its whole source, and its reference if there is one
    update ...        one line an update: what one method wrote for one grown source, and what it cost

The updates of one segment by one method in one repeat are a *unit*. A unit is written at once, when it is done, and
ends with a final update; whatever comes after the last whole unit was cut by a crash and counts for nothing. A file is
read whole: 1,000 sentences by 11 methods are about 90,000 updates, 100 to 200 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from itertools import islice, zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any

from livetrans.base.errors import SessionError, UsageError
from livetrans.base.files import lock, may_be_json_lines, write_all
from livetrans.base.text import nearest
from livetrans.config import MaskSettings, SamplingSettings
from livetrans.events import DecodingStats, Span
from livetrans.session.codec import decode, dump, encode, line_error, read_lines, version_error
from livetrans.signature import ModelIdentity

FORMAT = 1
"""Version of the format, written into the header; raised when an old reader would misread a new file."""

BEGINNING = b'{"line": "header"'

OTHER_TEXTS = "other texts or references"

Unit = tuple[int, int, str]
"""Repeat, segment and label of the method."""


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """What was translated."""

    kind: str
    name: str
    sha256: str
    source_language: str
    target_language: str
    segments: int
    step: int
    step_unit: str
    minimum_words: int = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What produced the numbers of a run."""

    format: int
    methods: tuple[str, ...]
    """Their labels, see `livetrans.bench.run.parse_method`."""
    repeats: int
    model: ModelIdentity
    corpus: CorpusSummary
    maximum_output_tokens: int
    time: str
    versions: dict[str, str]
    machine: dict[str, str]
    quick: bool = False
    draft_model: ModelIdentity | None = None
    double_model: ModelIdentity | None = None
    sampling: SamplingSettings | None = None
    mask: MaskSettings = field(default_factory=MaskSettings)
    """Of every method that has no output mask of its own."""

    def parts(self) -> dict[str, str]:
        """Return what produced the numbers in words, by name; without the digest of the texts and what there is not."""
        parts = {"methods": ",".join(self.methods)}
        for name, value in encode(self).items():
            values = value.items() if isinstance(value, dict) else [("", value)]
            if name != "methods":
                named = {f"{name} {part}".strip().replace("_", " "): one for part, one in values if part != "sha256"}
                parts |= {part: str(one) for part, one in named.items() if one not in (None, "")}
        return parts


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence of the corpus, or a segment of a recorded stream."""

    segment_id: int
    name: str
    source: str
    reference: str | None = None
    stream: str = ""
    start: float | None = None
    stream_reference: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """What one method wrote for one update.

    The draft was the output of the unit's update before, less the output mask's tokens; `stats.draft_tokens` is its
    length. `ends[i]` characters of `text` are there once token i is, so that a text without its last tokens can be cut.
    """

    repeat: int
    segment_id: int
    method: str
    update: int
    order: int
    """Place among all updates of its stream, from 0; a sentence of a text is a stream by itself."""
    final: bool
    source: str
    tokens: tuple[int, ...]
    text: str
    ends: tuple[int, ...]
    stats: DecodingStats
    update_seconds: float
    end: float | None = None
    captured: float | None = None
    due: float | None = None
    accepted: tuple[Span, ...] = ()
    ended: bool = False
    hidden_tokens: int | None = None
    """Last tokens that a caption hides if the method stops early; None: as many as the mask of the table says."""

    @property
    def unit(self) -> Unit:
        return self.repeat, self.segment_id, self.method

    def without_last(self, k: int) -> str:
        kept = len(self.tokens) - k
        return self.text if k == 0 else self.text[: self.ends[kept - 1]] if kept > 0 else ""


@dataclass(frozen=True)
class RunFile:
    """The whole units of a run file."""

    path: Path
    header: Header
    segments: tuple[Segment, ...]
    units: Mapping[Unit, Sequence[Update]]
    """The updates of each unit, in the order in which the units were done."""
    whole_bytes: int = 0
    """Length of the file up to the end of the last whole unit; whatever comes after it was cut."""

    @property
    def complete(self) -> bool:
        """Whether every method did every segment in every repeat."""
        return len(self.units) == len(self.segments) * len(self.header.methods) * self.header.repeats


_KINDS: dict[str, type[Header | Segment | Update]] = {"header": Header, "segment": Segment, "update": Update}
_LINES = {kind: name for name, kind in _KINDS.items()}


def to_line(part: Header | Segment | Update) -> str:
    """Return the line of JSON of a part of the file, with its line end."""
    return dump({"line": _LINES[type(part)], **encode(part)}) + "\n"


def read_run(path: Path) -> RunFile:
    """Read and check a run file, and return its whole units.

    Raises:
        SessionError: no such file, not a run file, from a newer version, or a line that cannot be used.
    """
    if not path.is_file():
        close = nearest(path.name, [other.name for other in path.parent.glob("*.jsonl")])
        advice = f"did you mean {path.with_name(close)}?" if close else "make one with `livetrans bench run`"
        raise SessionError(f"there is no run file {path}; {advice}")
    if not may_be_json_lines(path):
        raise SessionError(f"{path} is not a run file; name one that `livetrans bench run` wrote")
    header: Header | None = None
    segments: list[Segment] = []
    labels: set[str] = set()
    known: set[int] = set()
    units: dict[Unit, tuple[Update, ...]] = {}
    unit: list[Update] = []
    whole_lines = 0
    for number, values in read_lines(path):
        line = _parsed(number, values, path)
        if header is None:
            if not isinstance(line, Header):
                break
            header = line
            labels = set(header.methods)
        elif isinstance(line, Header):
            raise SessionError(f"line {number} of {path} is a second header; keep one run in a file")
        elif isinstance(line, Segment):
            segments.append(line)
            known.add(line.segment_id)
        else:
            listed = line.method in labels and line.segment_id in known and 0 <= line.repeat < header.repeats
            if not listed or line.update != len(unit) or line.unit in units or len(line.ends) != len(line.tokens):
                raise SessionError(
                    f"{path} has an update of {line.method!r} on segment {line.segment_id} in line {number}, where its "
                    "header and the lines before it allow none; make the run again"
                )
            unit.append(line)
            if line.final:
                units[line.unit], unit = tuple(unit), []
        if not isinstance(line, Update) or line.final:
            whole_lines = number
    if header is None:
        raise SessionError(f"{path} is not a run of `livetrans bench run` (it has no header); name another")
    with path.open("rb") as stream:
        whole_bytes = sum(map(len, islice(stream, whole_lines)))
    return RunFile(path, header, tuple(segments), units, whole_bytes)


def _parsed(number: int, values: dict[str, Any], path: Path) -> Header | Segment | Update:
    kind = _KINDS.get(str(values.get("line")))
    if kind is None and number == 1 and "event" in values:
        raise SessionError(
            f"{path} is a session, not a run; measure on it with `livetrans bench run --recorded {path}`"
        )
    if kind is None:
        raise line_error(number, path, "a header, a segment or an update")
    if kind is Header and isinstance(values.get("format"), int) and values["format"] > FORMAT:
        raise version_error(path, values["format"], FORMAT)
    try:
        return decode(kind, values)
    except ValueError as error:
        raise line_error(number, path, f"{'an' if kind is Update else 'a'} {values['line']} ({error})") from error


class RunWriter:
    """The writer of a run file, in whole units; an existing file of the same run goes on after its last whole unit."""

    def __init__(self, path: Path, header: Header, segments: Sequence[Segment], *, overwrite: bool = False) -> None:
        """Open the file.

        Raises:
            UsageError: a file of something else or no file, such as a device, is there, and `overwrite` is not set.
            SessionError: it cannot be written.
        """
        self._path = path
        self.done: Mapping[Unit, Sequence[Update]] = {}
        if path.exists() and not path.is_file() and not overwrite:
            raise UsageError(f"{path} is not a file; choose another name with -o")
        try:
            is_new = overwrite or not path.exists() or not path.stat().st_size
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = FileIO(path, "a" if is_new else "r+")
            try:
                self._begin(header, segments, is_new=is_new)
            except BaseException:
                self._stream.close()
                raise
        except OSError as fault:
            raise self._fault(fault) from fault

    def _begin(self, header: Header, segments: Sequence[Segment], *, is_new: bool) -> None:
        """Write the beginning of a new file, or go to the end of what is whole."""
        if not lock(self._stream):
            raise UsageError(f"{self._path} is being written by another command; choose another name with -o")
        if is_new:
            if self._path.is_file():
                self._stream.truncate(0)
            self._write("".join([to_line(header), *map(to_line, segments)]))
            return
        run = self._continued(header, segments)
        self.done = run.units
        self._stream.truncate(run.whole_bytes)
        self._stream.seek(run.whole_bytes - 1)
        if self._stream.read(1) != b"\n":
            self._write("\n")

    def _continued(self, header: Header, segments: Sequence[Segment]) -> RunFile:
        try:
            run = read_run(self._path)
            if run.header == header and run.segments == tuple(segments):
                return run
            other = "; ".join(_differences(run.header, header)) or OTHER_TEXTS
            problem = f"holds another run ({other})"
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
        write_all(self._stream, text.encode())

    def _fault(self, fault: OSError) -> SessionError:
        reason = fault.strerror or str(fault)
        return SessionError(f"{self._path} cannot be written ({reason}); free some space or choose another place")

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()


def compare(left: RunFile, right: RunFile) -> tuple[list[str], list[str]]:
    """Return where what two runs wrote differs, and then what else produced them; times are left out."""
    written: list[str] = []
    if left.segments != right.segments:
        written.append(OTHER_TEXTS)
    for method in dict.fromkeys((*left.header.methods, *right.header.methods)):
        of_method = sorted(unit for unit in {*left.units, *right.units} if unit[2] == method)
        pairs = [
            pair for unit in of_method for pair in zip_longest(left.units.get(unit, ()), right.units.get(unit, ()))
        ]
        other = [(a, b) for a, b in pairs if a is None or b is None or a.tokens != b.tokens]
        if other:
            texts = [one.text if one else "nothing" for one in other[0]]
            at = next(one for one in other[0] if one)
            written.append(
                f"{method}: {len(other)} of {len(pairs)} updates; first update {at.update} of segment {at.segment_id}: "
                f"{texts[0]!r}, not {texts[1]!r}"
            )
    return written, _differences(left.header, right.header)


def _differences(left: Header, right: Header) -> list[str]:
    before, now = left.parts(), right.parts()
    names = (name for name in {**before, **now} if before.get(name) != now.get(name))
    return [f"{name}: {before.get(name)}, not {now.get(name)}" for name in names]
