"""The run file: what it holds, and how it is written and read. Every table is computed from it. See docs/bench.md.

    header            one line: what produced the numbers
    segment ...       one line a segment of the corpus: its whole source, and its reference if there is one
    update ...        one line an update: what one method wrote for one grown source, and what it cost

The updates of one segment by one method in one repeat are a *unit*. A unit is written at once, when it is done, and
ends with a final update; whatever stands after the last whole unit was cut by a crash and counts for nothing. Updates
are read unit by unit when a figure needs them, so that a file of any length takes little memory.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from livetrans.config import SamplingSettings
from livetrans.errors import SessionError
from livetrans.events import Span
from livetrans.files import may_be_json_lines
from livetrans.session.codec import decode, dump, encode, line_error, newer_error, read_lines
from livetrans.signature import ModelRecord
from livetrans.stats import DecodingStats
from livetrans.text import nearest

FORMAT = 1
"""Of the file, written into its header; raised when an old reader would misread a new file."""

Unit = tuple[int, int, str]
"""Repeat, segment and label of the method."""


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the method table."""

    label: str
    """As it is written: `rt`, `ssbd@0.2`, `cd`, `window3@0.2+worth`, `ssbd@0.2+mask3`."""
    decoder: str
    """A name in `livetrans.decoding.DECODERS`."""
    bias: float | None = None
    """None where the decoder has none."""
    output_mask_k: int = 0
    """Tokens that the draft loses, and that are hidden, at every partial; 0 without an output mask."""
    window: int | None = None
    """Tokens of the live window; None where the decoder has none."""
    final: str = "partial"
    """How finals are decoded: a name in `livetrans.config.FINALS`."""
    gamma: int | None = None
    """Tokens that the draft model proposes at a time, 0 by measured times; None without it, and for `bild`."""
    fallback: float | None = None
    rollback: float | None = None
    """Thresholds of `bild`; None for other decoders."""

    @property
    def drafted(self) -> bool:
        """Whether it works with a draft model."""
        return self.gamma is not None or self.fallback is not None


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """What was translated."""

    kind: str
    """`text`, revealed bit by bit, or `recorded`, as a recogniser wrote it."""
    name: str
    sha256: str
    """Of the segments' updates and references, as they were fed."""
    source_language: str
    target_language: str
    segments: int
    step: int
    """w, the units added at each update; 0 for recorded streams."""
    step_unit: str
    """`words` or `characters`; empty for recorded streams."""
    minimum_words: int = 1
    """Shorter sentences were left out, in the unit of the step."""


@dataclass(frozen=True, slots=True)
class Header:
    """The signature of a run: what produced its numbers."""

    format: int
    methods: tuple[Method, ...]
    repeats: int
    model: ModelRecord
    corpus: CorpusSummary
    maximum_output_tokens: int
    time: str
    """How seconds were measured: `wall`, or `cpu`, the processor's time, which other programs do not lengthen."""
    versions: dict[str, str]
    machine: dict[str, str]
    quick: bool = False
    """A small part of the corpus, only to see that things work: tables say so."""
    draft_model: ModelRecord | None = None
    double_model: ModelRecord | None = None
    """What `double` translates with."""
    sampling: SamplingSettings | None = None
    """How tokens were drawn; None where decoding was greedy."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence of the corpus, or a segment of a recorded stream."""

    segment_id: int
    """Counts from 0 over the whole corpus."""
    name: str
    """Where it stands: `flores200.devtest.eng:12` is line 12 there, `talk:3` segment 3 of a stream."""
    source: str
    reference: str | None = None
    stream: str = ""
    """Recorded streams only: the recording that it belongs to."""
    start: float | None = None
    """Recorded streams only: source time at which the first word starts."""
    stream_reference: str | None = None
    """On a stream's last segment: the whole stream's reference, where its lines are not the recogniser's segments."""


@dataclass(frozen=True, slots=True)
class Update:
    """What one method wrote for one update.

    The draft was the output of the unit's update before, less the output mask's tokens; `stats.draft_tokens` is its
    length.
    """

    repeat: int
    segment_id: int
    method: str
    """Label in the header's method table."""
    update: int
    """Counts from 0 in every unit."""
    final: bool
    source: str
    """The whole source so far."""
    tokens: tuple[int, ...]
    """Output ids in the model's own tokens, end of generation excluded."""
    text: str
    ends: tuple[int, ...]
    """`ends[i]` characters of `text` are there once token i is, so that a text without its last k tokens can be cut."""
    stats: DecodingStats
    update_seconds: float
    """Measured: the whole update, with the prompt, its tokenisation and the verification's arithmetic."""
    end: float | None = None
    """Recorded streams only: source time at which the source's last word ends."""
    captured: float | None = None
    """Recorded streams only: when that was heard, in seconds since the recorded run began; None at full speed."""
    due: float | None = None
    """Recorded streams only: when the transcript came, in seconds since the recorded run began."""
    accepted: tuple[Span, ...] = ()
    """Which of `tokens` came from a draft; older files have none of it, see `spans`."""

    @property
    def spans(self) -> tuple[Span, ...]:
        """The accepted tokens, in order; where the file is older, the leading ones that its count says."""
        if self.accepted or not self.stats.accepted_tokens:
            return self.accepted
        return (Span(0, self.stats.accepted_tokens),)

    @property
    def unit(self) -> Unit:
        return self.repeat, self.segment_id, self.method

    def without_last(self, k: int) -> str:
        """The text without its last k tokens."""
        kept = len(self.tokens) - k
        return self.text if k == 0 else self.text[: self.ends[kept - 1]] if kept > 0 else ""


@dataclass(frozen=True)
class RunFile:
    """The whole units of a run, in a file or in memory."""

    path: Path
    header: Header
    segments: tuple[Segment, ...]
    units: Mapping[Unit, Sequence[Update]]
    """The updates of each unit, in the order in which the units were done."""
    whole_bytes: int = 0
    """Length of the file up to the end of the last whole unit: what stands behind it was cut."""

    @property
    def complete(self) -> bool:
        """Whether every method did every segment in every repeat."""
        return len(self.units) == len(self.segments) * len(self.header.methods) * self.header.repeats

    @property
    def model_name(self) -> str:
        """What tables call its model."""
        return self.header.model.file.removesuffix(".gguf")


class _StoredUnits(Mapping[Unit, Sequence[Update]]):
    """Units that are read from their file each time that they are needed."""

    def __init__(self, path: Path, places: Mapping[Unit, tuple[int, int]]) -> None:
        """`places` says at which byte each unit begins and ends."""
        self._path = path
        self._places = places

    def __getitem__(self, unit: Unit) -> Sequence[Update]:
        begin, end = self._places[unit]
        with self._path.open("rb") as stream:
            stream.seek(begin)
            lines = stream.read(end - begin).split(b"\n")
        return tuple(decode(Update, json.loads(line)) for line in lines if line.strip())

    def __iter__(self) -> Iterator[Unit]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


_KINDS: dict[str, type[Header] | type[Segment] | type[Update]] = {
    "header": Header,
    "segment": Segment,
    "update": Update,
}
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
    with path.open("rb") as stream:
        ends = array("q", accumulate(map(len, stream), initial=0))
    header: Header | None = None
    segments: list[Segment] = []
    labels: set[str] = set()
    known: set[int] = set()
    places: dict[Unit, tuple[int, int]] = {}
    expected = first_line = whole_lines = 0
    for number, values in read_lines(path):
        line = _parsed(number, values, path)
        if header is None:
            if not isinstance(line, Header):
                break
            header = line
            labels = {method.label for method in header.methods}
        elif isinstance(line, Header):
            raise SessionError(f"line {number} of {path} is a second header; keep one run in a file")
        elif isinstance(line, Segment):
            segments.append(line)
            known.add(line.segment_id)
        else:
            if line.method not in labels or line.segment_id not in known or not 0 <= line.repeat < header.repeats:
                raise SessionError(
                    f"{path} has an update of {line.method!r} on segment {line.segment_id}, which its header does "
                    "not list; make the run again"
                )
            if line.update != expected or line.unit in places or len(line.ends) != len(line.tokens):
                raise SessionError(
                    f"{path} is out of order at update {line.update} of segment {line.segment_id} by "
                    f"{line.method!r}; make the run again"
                )
            first_line = number if line.update == 0 else first_line
            expected = 0 if line.final else expected + 1
            if line.final:
                places[line.unit] = ends[first_line - 1], ends[number]
        if not isinstance(line, Update) or line.final:
            whole_lines = number
    if header is None:
        raise SessionError(f"{path} is not a run of `livetrans bench run` (it has no header); name another")
    return RunFile(path, header, tuple(segments), _StoredUnits(path, places), ends[whole_lines])


def _parsed(number: int, values: dict[str, Any], path: Path) -> Header | Segment | Update:
    kind = _KINDS.get(str(values.get("line")))
    if kind is None and number == 1 and "event" in values:
        raise SessionError(
            f"{path} is a session, not a run; measure on it with `livetrans bench run --recorded {path}`"
        )
    if kind is None:
        raise line_error(number, path, "a header, a segment or an update")
    if kind is Header and isinstance(values.get("format"), int) and values["format"] > FORMAT:
        raise newer_error(path, values["format"], FORMAT)
    try:
        return decode(kind, values)
    except ValueError as error:
        raise line_error(number, path, f"{'an' if kind is Update else 'a'} {values['line']} ({error})") from error
