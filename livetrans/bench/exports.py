"""The log that simulstream's metrics read: what each update of one method took back and what it added.

{"id": 0, "metadata": {"wav_name": "talk-3.wav"}}
{"id": 0, "total_audio_processed": 2.0, "computation_time": 0.2, "generated_tokens": [...], "deleted_tokens": [...]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from livetrans.bench.runfile import RunFile
from livetrans.metrics.quality import tokenizer
from livetrans.sequences import common_prefix_length


def simulstream_log(run: RunFile, label: str, unit: str) -> Iterator[str]:
    """Yield the log of one method's first repeat in the tokens of a unit, every segment as a sound file of its own.

    A recorded update is timed by its source's end in its segment. A text has no sound: it is timed by how many words
    (or characters) of it were read. simulstream's normalized erasure of the log in words, read as docs/bench.md says,
    is ours in the tokens' unit as a ratio of sums; its delays are `livetrans.metrics.latency.stable_delays`.

    Raises:
        UsageError: no such method or unit.
    """
    tokenize = tokenizer(unit)
    by_characters = run.header.corpus.step_unit == "characters"
    for segment, updates in zip(run.segments, run.units_of(label, run.segments), strict=True):
        if updates:
            # The reader keeps the file name without folders and suffix, so a name must not look like either.
            name = f"{segment.name.replace('/', '_')}.wav"
            yield _line({"id": segment.segment_id, "metadata": {"wav_name": name}})
        previous: Sequence[str] = ()
        for update in updates:
            tokens = tokenize(update.text)
            kept = common_prefix_length(previous, tokens)
            read = len(update.source if by_characters else update.source.split())
            yield _line(
                {
                    "id": segment.segment_id,
                    "total_audio_processed": read if update.end is None else update.end - (segment.start or 0.0),
                    "computation_time": update.update_seconds,
                    "generated_tokens": tokens[kept:],
                    "deleted_tokens": list(previous[kept:]),
                }
            )
            previous = tokens


def _line(values: dict[str, object]) -> str:
    # ASCII: so that no reader takes a letter for a line end, and lone surrogates survive.
    return json.dumps(values, allow_nan=False) + "\n"
