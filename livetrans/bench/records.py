"""What a run file holds: `runfile` writes and reads it, and every table is computed from it. See docs/bench.md.

    header            one line: what produced the numbers
    segment ...       one line a segment of the corpus: its whole source, and its reference if there is one
    update ...        one line an update: what one method wrote for one grown source, and what it cost

The updates of one segment by one method in one repeat are a *unit*. A unit is written at once, when it is done, and
ends with a final update; whatever stands after the last whole unit was cut by a crash and counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from livetrans.events import DecodingStats

FORMAT = 1
"""Of the file, written into its header; raised when an old reader would misread a new file."""


@dataclass(frozen=True, slots=True)
class MethodRecord:
    """A row of the method table."""

    label: str
    """As it was asked for: `rt`, `ssbd@0.2`, `cd`, `ssbd@0.2+mask3`."""
    decoder: str
    """A name in `livetrans.decoding.DECODERS`."""
    bias: float | None = None
    """None where the decoder has none."""
    output_mask_k: int = 0
    """Tokens that the draft loses, and that are hidden, at every partial; 0 without an output mask."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The translator, and how it ran."""

    file: str
    """File name, without its folder."""
    size_bytes: int
    name: str
    architecture: str
    quantisation: str
    """The file's `general.file_type`, by name."""
    prompt: str
    context_tokens: int
    threads: int


@dataclass(frozen=True, slots=True)
class CorpusRecord:
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


@dataclass(frozen=True, slots=True)
class Header:
    """The signature of a run."""

    format: int
    methods: tuple[MethodRecord, ...]
    repeats: int
    model: ModelRecord
    corpus: CorpusRecord
    maximum_output_tokens: int
    time: str
    """How seconds were measured: `wall`, or `cpu`, the processor's time, which other programs do not lengthen."""
    versions: dict[str, str]
    machine: dict[str, str]

    def method(self, label: str) -> MethodRecord:
        return next(method for method in self.methods if method.label == label)


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
    length and the first `stats.accepted_tokens` of `tokens` were accepted from it.
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
    """Recorded streams only: when that was heard, in seconds since the recorded run began."""
    due: float | None = None
    """Recorded streams only: when the transcript came, in seconds since the recorded run began."""

    @property
    def unit(self) -> tuple[int, int, str]:
        return self.repeat, self.segment_id, self.method

    def without_last(self, k: int) -> str:
        """The text without its last k tokens."""
        kept = len(self.tokens) - k
        return self.text if k == 0 else self.text[: self.ends[kept - 1]] if kept > 0 else ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run file's whole units."""

    path: Path
    header: Header
    segments: tuple[Segment, ...]
    updates: tuple[Update, ...]
    size_bytes: int
    """Where the last whole unit ends: what stands behind it was cut."""

    @property
    def complete(self) -> bool:
        """Whether every method did every segment in every repeat."""
        units = sum(update.final for update in self.updates)
        return units == len(self.segments) * len(self.header.methods) * self.header.repeats

    def unit(self, repeat: int, segment_id: int, method: str) -> list[Update]:
        """The updates of one unit, in order; empty where it was not done."""
        wanted = (repeat, segment_id, method)
        return [update for update in self.updates if update.unit == wanted]
