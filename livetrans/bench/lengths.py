"""The figures of a run by the length of the source: what a method gains depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from livetrans.bench.scoring import ScoredRun, ScoringSettings, score
from livetrans.languages import parse_language

EDGES = (1, 5, 9, 13, 17, 25)
"""Words from which on a group begins: 1 to 4, 5 to 8 ... 25 or more; characters in scripts without spaces."""


def by_length(scored: ScoredRun) -> Iterator[tuple[str, ScoredRun]]:
    """The groups that have a segment, shortest first, each scored alone; COMET is not computed again."""
    run = scored.run
    spaced = parse_language(run.header.corpus.source_language).spaced
    lengths = {
        segment.segment_id: len(segment.source.split() if spaced else segment.source) for segment in run.segments
    }
    done = {update.segment_id for update in run.updates}
    for begin, end in zip(EDGES, (*EDGES[1:], None), strict=True):
        name = f"{begin}-{end - 1}" if end else f"{begin}+"
        own = {one for one in done if begin <= lengths[one] and (end is None or lengths[one] < end)}
        if own:
            part = replace(
                run,
                segments=tuple(segment for segment in run.segments if segment.segment_id in own),
                updates=tuple(update for update in run.updates if update.segment_id in own),
            )
            yield name, score(part, ScoringSettings(scored.unit))
