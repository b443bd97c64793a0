"""Tables beside the paper's: latency, calm, draft models, lengths of the source, and what `replay --compare` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from livetrans.bench.figures import (
    CALM,
    COMPARISON,
    DRAFTS,
    LATENCIES,
    LENGTHS,
    METHOD,
    WORDS,
    Figures,
    cells_of,
    columns_of,
)
from livetrans.bench.labels import row_labels
from livetrans.bench.layout import Table
from livetrans.bench.provenance import make_table
from livetrans.bench.rows import TableRow
from livetrans.bench.scoring import ScoredRun, ScoringSettings, partials_beside_baseline, score
from livetrans.errors import UsageError
from livetrans.languages import parse_language

EDGES = (1, 5, 9, 13, 17, 25)
"""Words from which on a group begins: 1 to 4, 5 to 8 ... 25 or more; characters in scripts without spaces."""
KINDS = {"text": "text (`bench run --source`)", "recorded": "recorded streams (`bench run --recorded`)"}
"""The kinds of corpora, and how a run on each is made."""


def latency_table(runs: Sequence[ScoredRun]) -> Table:
    """How late recorded streams are translated."""
    runs = of_kind(runs, "recorded", "the latency table")
    return _by_file("latency", "latency on recorded transcripts", runs, LATENCIES, lambda run: run.rows)


def calm_table(runs: Sequence[ScoredRun]) -> Table:
    """Speed, calm and quality of every method beside re-translation's, file after file."""

    def rows(run: ScoredRun) -> list[TableRow]:
        partials = partials_beside_baseline(run.run)
        return [replace(row, partials=partials.get(row.method)) for row in run.rows]

    return _by_file("calm", "calm, speed and quality", runs, CALM, rows)


def drafts_table(runs: Sequence[ScoredRun]) -> Table:
    """What a draft model proposes, how much of it is accepted, and what it gains, file after file."""
    return _by_file("drafts", "methods with a draft model", runs, DRAFTS, lambda run: run.rows)


def lengths_table(runs: Sequence[ScoredRun]) -> Table:
    """Speed and quality by the length of the source, file after file."""
    rows = [
        (f"{label}{row.method}", length, *cells_of(LENGTHS, row))
        for run, label in with_labels(runs)
        for length, part in by_length(run)
        for row in part.rows
    ]
    columns = [METHOD, WORDS, *columns_of(LENGTHS)]
    return make_table("lengths", "speed and quality by the length of the source", columns, rows, runs)


def comparison_table(run: ScoredRun, signature: Sequence[str]) -> Table:
    """The methods of one run side by side, as `replay --compare` prints them; no quality without a reference."""
    table = _by_file("", "the methods on the same updates", [run], COMPARISON, lambda run: run.rows)
    return replace(table, signature=tuple(signature))


def _by_file(
    name: str,
    title: str,
    runs: Sequence[ScoredRun],
    figures: Figures[TableRow],
    rows_of: Callable[[ScoredRun], Sequence[TableRow]],
) -> Table:
    """A line for each method, display-only masks left out, file after file."""
    rows = [
        (f"{label}{row.method}", *cells_of(figures, row))
        for run, label in with_labels(runs)
        for row in rows_of(run)
        if row.mask != "display"
    ]
    return make_table(name, title, [METHOD, *columns_of(figures)], rows, runs)


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


def with_labels(runs: Sequence[ScoredRun]) -> Iterator[tuple[ScoredRun, str]]:
    """Each run with what stands before its methods."""
    return zip(runs, row_labels(run.run for run in runs), strict=True)


def of_kind(runs: Sequence[ScoredRun], kind: str, name: str) -> Sequence[ScoredRun]:
    """The runs, for the table of that name.

    Raises:
        UsageError: one of them is of another kind of corpus.
    """
    for run in runs:
        if run.run.header.corpus.kind != kind:
            own = run.run.header.corpus.kind.replace("recorded", "recorded streams")
            raise UsageError(f"{run.run.path} is a run on {own}; {name} is of {KINDS[kind]}")
    return runs
