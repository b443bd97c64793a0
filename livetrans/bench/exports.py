"""What other scorers read: simulstream's log, and the `stream.jsonl` of SSBD's authors.

Both are JSON lines. simulstream's reader wants what each update took back and what it added:

    {"id": 0, "metadata": {"wav_name": "talk-3.wav"}}
    {"id": 0, "total_audio_processed": 2.0, "computation_time": 0.2, "generated_tokens": [...], "deleted_tokens": [...]}

The authors' scorer wants every source and every output whole, one line a segment:

    {"id": "talk-3", "source": "...", "segmentation": {...}, "stream_ins": [...], "stream_outs": [...]}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from livetrans.bench.runfile import RunFile, Segment, Update
from livetrans.errors import UsageError
from livetrans.metrics.quality import tokenizer
from livetrans.sequences import common_prefix_length


@dataclass(frozen=True, slots=True)
class ExportedUpdate:
    """One update of one segment, as both formats need it."""

    segment: str
    """The segment's name, unique in an export."""
    source: str
    """The whole source so far."""
    output: str
    """The whole output for it."""
    tokens: tuple[str, ...]
    """The output in the unit that simulstream is to count, none of them empty or with a space."""
    source_time: float
    """Seconds of the segment's sound heard so far; for text, which has none, words (or characters) read so far."""
    computation_seconds: float


def exported_lines(run: RunFile, label: str, format_: str, unit: str) -> Iterator[str]:
    """Return the lines of one method's first repeat, as `stream` or as `simulstream` with its tokens in the unit.

    Raises:
        UsageError: no such method or unit.
    """
    units = [run.units.get((0, segment.segment_id, label), ()) for segment in run.segments]
    if not any(units):
        known = ", ".join(one.label for one in run.header.methods)
        raise UsageError(f"{run.path} has no updates by {label}; choose from {known}")
    step, step_unit = run.header.corpus.step, run.header.corpus.step_unit
    every = (update for unit in units for update in unit)
    updates = exported(every, run.segments, tokenizer(unit), step_unit=step_unit or "words")
    if format_ == "simulstream":
        return simulstream_lines(updates)
    return stream_lines(updates, {"policy": "interval", "n": step} if step else None)


def exported(
    updates: Iterable[Update],
    segments: Iterable[Segment],
    tokenize: Callable[[str], list[str]],
    *,
    step_unit: str = "words",
) -> list[ExportedUpdate]:
    """Return a run's updates for export: those of one method in one repeat, since only they make one output a segment.

    A recorded update is timed by its source's end in its segment. A text has no sound: it is timed by how many of the
    corpus's `step_unit` (`words` or `characters`) were read.
    """
    read: Callable[[str], int] = len if step_unit == "characters" else lambda source: len(source.split())
    known = {segment.segment_id: segment for segment in segments}
    exports = []
    for update in updates:
        segment = known[update.segment_id]
        heard = update.end - (segment.start or 0.0) if update.end is not None else float(read(update.source))
        tokens = tuple(tokenize(update.text))
        exports.append(ExportedUpdate(segment.name, update.source, update.text, tokens, heard, update.update_seconds))
    return exports


def simulstream_lines(updates: Iterable[ExportedUpdate]) -> Iterator[str]:
    """Yield simulstream's log, every segment as a sound file of its own; updates of segments may be mixed.

    simulstream's normalized erasure of it in words, read as docs/bench.md says, is ours in the tokens' unit as a ratio
    of sums; its delays are `livetrans.metrics.latency.stable_delays`.

    Raises:
        UsageError: a token is empty or has a space, so that simulstream would count otherwise.
    """
    numbers: dict[str, int] = {}
    written: dict[str, tuple[str, ...]] = {}
    for update in updates:
        if any(not token or " " in token for token in update.tokens):
            raise UsageError(f"an output of {update.segment} has a token with a space; export words or another unit")
        if update.segment not in numbers:
            numbers[update.segment] = len(numbers)
            # The reader keeps the file name without folders and suffix, so a name must not look like either.
            name = f"{update.segment.replace('/', '_')}.wav"
            yield _line({"id": numbers[update.segment], "metadata": {"wav_name": name}})
        previous = written.get(update.segment, ())
        kept = common_prefix_length(previous, update.tokens)
        written[update.segment] = update.tokens
        yield _line(
            {
                "id": numbers[update.segment],
                "total_audio_processed": update.source_time,
                "computation_time": update.computation_seconds,
                "generated_tokens": list(update.tokens[kept:]),
                "deleted_tokens": list(previous[kept:]),
            }
        )


def stream_lines(
    updates: Iterable[ExportedUpdate], segmentation: Mapping[str, str | int] | None = None
) -> Iterator[str]:
    """Yield the authors' `stream.jsonl`, segments in the order of their first updates.

    `segmentation` says how the source was cut, in the authors' words: `{"policy": "interval", "n": 3}`.
    """
    by_segment: dict[str, list[ExportedUpdate]] = {}
    for update in updates:
        by_segment.setdefault(update.segment, []).append(update)
    for segment, own in by_segment.items():
        yield _line(
            {
                "id": segment,
                "source": own[-1].source,
                **({"segmentation": dict(segmentation)} if segmentation else {}),
                "stream_ins": [update.source for update in own],
                "stream_outs": [update.output for update in own],
            }
        )


def _line(values: Mapping[str, object]) -> str:
    # ASCII: so that no reader takes a letter for a line end, and lone surrogates survive.
    return json.dumps(values, allow_nan=False) + "\n"
