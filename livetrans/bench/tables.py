"""The tables: their figures, the rows of each, and how they are written. Nothing is measured here.

A new figure is a row of `FIGURES` and its name in the tables that show it (`TABLES`). What it is computed from is in
`livetrans.bench.measures`.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from livetrans.base.errors import UsageError
from livetrans.base.languages import parse_language
from livetrans.base.text import counted, visible
from livetrans.bench.measures import Lagging, MeasuredRun, Row, scaled
from livetrans.bench.run import BASELINE, PAPER_DECODER, parse_method
from livetrans.bench.runfile import RunFile
from livetrans.metrics.latency import Spread, spread_of
from livetrans.metrics.quality import Interval

Value = str | int | float | Interval | Spread | None
FORMATS = ("text", "csv", "json")
NOTHING = "–"
"""Stands for a figure that has no meaning or was not measured."""
INTERVAL = "[95 % interval, paired bootstrap]"
SPREAD = "(least-most of repeats)"


class Column(NamedTuple):
    name: str
    meaning: str = ""
    """One line, without the name."""
    decimals: int = 0
    """Decimal places of numbers that are not counts."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells in rows; the first column names the row."""

    name: str
    """`table 3`; `table 3, quick` if a run was a quick one."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    """Sentences: what would mislead, and what produced the figures."""

    def as_text(self) -> str:
        """Return the title, columns in line without those that have no figure, their meanings, and the notes."""
        from tabulate import tabulate

        known = [place for place in range(len(self.columns)) if any(row[place] is not None for row in self.rows)]
        columns = [self.columns[place] for place in known]
        cells = [[column.name for column in columns]]
        cells += [[_written(row[place], self.columns[place]) for place in known] for row in self.rows]
        sides = ["left" if all(isinstance(row[place], str) for row in self.rows) else "right" for place in known]
        # As a row: above plain columns tabulate leaves more room for a heading.
        grid = tabulate(cells, (), "plain", colalign=sides, disable_numparse=True)
        meanings = [f"{column.name}: {column.meaning}" for column in columns if column.meaning]
        heading = f"{self.name.capitalize()}: {self.title}"
        return "\n".join([visible(heading), "", str(grid), "", *map(visible, (*meanings, *self.notes))]) + "\n"

    def flat_rows(self) -> list[dict[str, str | float | None]]:
        """Return the rows by column, numbers unrounded; the ends of intervals and spreads have columns of their own."""
        rows: list[dict[str, str | float | None]] = []
        for cells in self.rows:
            row: dict[str, str | float | None] = {}
            for column, value in zip(self.columns, cells, strict=True):
                if isinstance(value, Interval | Spread):
                    row[column.name] = value[0]
                    row |= {f"{column.name} {end}": getattr(value, end) for end in value._fields[1:]}
                else:
                    row[column.name] = value
            rows.append(row)
        return rows

    def as_csv(self) -> str:
        """Return a line of column names, then the rows."""
        rows, stream = self.flat_rows(), io.StringIO()
        names = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(stream, list(names), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue()


def as_json(tables: Sequence[Table]) -> str:
    """Return all tables as one document: each row an object."""
    documents = [
        {
            "table": table.name,
            "title": table.title,
            "columns": {column.name: column.meaning for column in table.columns},
            "rows": table.flat_rows(),
            "notes": table.notes,
        }
        for table in tables
    ]
    return json.dumps({"tables": documents}, ensure_ascii=False, indent=1) + "\n"


def _written(value: Value, column: Column) -> str:
    """Return a cell as people read it, without what a terminal would execute."""
    if value is None:
        return NOTHING
    if isinstance(value, Interval | Spread):
        middle, low, high = (f"{each:z.{column.decimals}f}" for each in value)
        if isinstance(value, Interval):
            return f"{middle} [{low}, {high}]"
        return middle if low == high else f"{middle} ({low}-{high})"
    return f"{value:.{column.decimals}f}" if isinstance(value, float) else visible(str(value))


class Figure(NamedTuple):
    name: str
    meaning: str
    """One line, without the name."""
    decimals: int
    compute: Callable[[Row], Value]


def _percent(value: float | None) -> float | None:
    return scaled(100, value)


def _lagging(figure: Callable[[Lagging], float | None]) -> Callable[[Row], Value]:
    return lambda row: spread_of(map(figure, row.method.lagging))


def _lag(share: float) -> Callable[[Row], Value]:
    return lambda row: spread_of(measures.lags.percentile(share) for measures in row.method.measures)


def _drafting(figure: Callable[[Row], float | None]) -> Callable[[Row], Value]:
    """Return a figure that only a method with a draft model has."""
    return lambda row: figure(row) if row.method.has_proposals else None


def _a_written_token(count: Callable[[Row], float]) -> Callable[[Row], Value]:
    return _drafting(lambda row: 100 * count(row) / row.method.written_tokens)


def _finals_as_baseline(row: Row) -> str:
    pairs = list(zip(row.method.finals, row.method.run.baseline.finals, strict=True))
    return f"{sum(one == base for one, base in pairs)}/{len(pairs)}"


METHOD = Column("method", "decoder and bias; mask, display: tokens hidden; final: how finals are decoded")
WORDS = Column("words", "length of the source; characters in scripts without spaces")

FIGURES = {figure.name: figure for figure in (
    Figure("speedup", f"rt's update time / the method's {SPREAD}", 2,
           lambda row: row.method.against_baseline(lambda repeat: repeat.update_seconds, inverse=True)),
    Figure("NE", "normalized erasure: erased tokens / final tokens, mean over utterances", 2,
           lambda row: row.erasure.mean_per_utterance),
    Figure("NE screen", "words retracted / words, all captions as one text", 3,
           lambda row: row.method.measures[0].screen.ratio),
    Figure("meanwhile %", "right and in time (n-grams of captions before the final)", 1,
           lambda row: _percent(row.method.meanwhile)),
    Figure("AL-CA s", f"AL with the time of recognising and translating {SPREAD}", 2,
           _lagging(lambda lagging: lagging.al_aware)),
    Figure("lag p50 s", f"median from a word's end until its share stands, live streams {SPREAD}", 2,
           _lag(0.5)),
    Figure("COMET", "of finals against the references, by --comet MODEL", 3,
           lambda row: row.method.score("COMET")),
    Figure("chrF - rt", f"chrF less rt's {INTERVAL}", 1, lambda row: row.method.difference("chrF")),
    Figure("A/D %", "accepted tokens / draft tokens", 1, lambda row: _percent(row.method.counts.rates.per_draft)),
    Figure("lag p95 s", f"the 95th percentile of that {SPREAD}", 2,
           _lag(0.95)),
    Figure("chrF", "chrF2 of finals against the references, 0 to 100", 1, lambda row: row.method.score("chrF")),
    Figure("COMET - rt", f"COMET less rt's {INTERVAL}", 3, lambda row: row.method.difference("COMET")),
    Figure("LAAL-CA s", f"LAAL with the time of recognising and translating {SPREAD}", 2,
           _lagging(lambda lagging: lagging.laal_aware)),
    Figure("BLEU", "of finals against the references, 0 to 100", 1, lambda row: row.method.score("BLEU")),
    Figure("BLEU - rt", f"BLEU less rt's {INTERVAL}", 1, lambda row: row.method.difference("BLEU")),
    Figure("AL s", "average lagging, as if translating took no time", 2,
           lambda row: row.method.lagging[0].al),
    Figure("A/O %", "accepted tokens / output tokens", 1, lambda row: _percent(row.method.counts.rates.per_output)),
    Figure("LAAL s", "length-adaptive average lagging, as AL", 2, lambda row: row.method.lagging[0].laal),
    Figure("chrF partials", "shown partials against rt's of the same updates [95 % interval]", 1,
           lambda row: row.method.partials),
    Figure("update ms", f"time of a whole update {SPREAD}", 2,
           lambda row: row.method.spread(lambda repeat: repeat.update_seconds, 1000)),
    Figure("TPS ratio*", f"estimates the paper's speedup: the prompt's share left out {SPREAD}", 2,
           lambda row: row.method.against_baseline(lambda repeat: repeat.tokens_per_second_of_drafts)),
    Figure("NE sums", "all erased tokens / all final tokens", 2, lambda row: row.erasure.ratio_of_sums),
    Figure("TPS ratio", f"TPS / TPS of rt {SPREAD}", 2,
           lambda row: row.method.against_baseline(lambda repeat: repeat.rates.tokens_per_second)),
    Figure("finals as rt", "finals with the same text as rt's / finals", 0, _finals_as_baseline),
    Figure("passes", "model calls an update", 1,
           lambda row: row.method.counts.stats.forward_passes / row.method.counts.updates),
    Figure("TPS", f"output tokens / seconds of verification and decoding {SPREAD}", 0,
           lambda row: row.method.spread(lambda repeat: repeat.rates.tokens_per_second)),
    Figure("alpha %", "proposed tokens accepted / judged", 1,
           _drafting(lambda row: _percent(row.method.counts.rates.per_proposal))),
    Figure("tokens/pass", "tokens written, without the previous output's / passes of the translator", 2,
           _drafting(lambda row: row.method.written_tokens / row.method.counts.stats.forward_passes)),
    Figure("fallback %", "draft model too unsure / tokens written", 1,
           _a_written_token(lambda row: row.method.counts.stats.fallbacks)),
    Figure("rollback %", "passes that rejected / tokens written", 1,
           _a_written_token(lambda row: row.method.counts.stats.rejected_proposals)),
)}  # fmt: skip


Lines = Iterable[tuple[str, Row]]
"""The rows of a table, each with the length of its sources where lengths are told apart."""

EDGES = (1, 5, 9, 13, 17, 25, 10**9)
"""Words from which on a group begins: 1 to 4, 5 to 8 ... 25 or more; characters in scripts without spaces."""
_CORPORA = {"text": "text (`bench run --source`)", "recorded": "recorded streams (`bench run --recorded`)"}
"""The kinds of corpora, and how a run on each is made."""


def _at_one_bias(run: MeasuredRun, method: str) -> Lines:
    return [("", row) for row in run.rows if row.label in (BASELINE, method)]


def _by_bias(run: MeasuredRun, method: str) -> Lines:
    """Return `rt`, the biased methods by their bias, and the other methods."""

    def place(row: Row) -> tuple[int, str, float]:
        if row.method.bias is not None:
            return 1, row.method.decoder.name, row.method.bias
        return 0 if row.label == BASELINE else 2, "", 0.0

    return [("", row) for row in sorted((row for row in run.rows if row.mask == "none"), key=place)]


def _by_mask(run: MeasuredRun, method: str) -> Lines:
    """Return the method at one bias without a mask, then with output masks, as in the paper, then with others."""
    [chosen] = [row for row in run.rows if row.label == method]
    alike = [
        row for row in run.rows if (row.method.decoder, row.method.bias) == (chosen.method.decoder, chosen.method.bias)
    ]
    masked = [row for row in alike if row.mask != "none"]
    return [("", row) for row in (chosen, *sorted(masked, key=lambda row: (row.mask == "display", row.mask_k)))]


def _every_method(run: MeasuredRun, method: str) -> Lines:
    return [("", row) for row in run.rows if row.mask != "display"]


def _by_length(run: MeasuredRun, method: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of each group of lengths that has a segment, shortest first, each group measured alone."""
    spaced = parse_language(run.file.header.corpus.source_language).spaced
    for begin, end in pairwise(EDGES):
        ids = {
            segment.segment_id
            for segment in run.segments
            if begin <= len(segment.source.split() if spaced else segment.source) < end
        }
        if ids:
            name = f"{begin}-{end - 1}" if end < EDGES[-1] else f"{begin}+"
            # COMET is not computed again.
            settings = replace(run.settings, unit=run.unit, comet=None, display_masks=())
            yield from ((name, row) for row in MeasuredRun(run.file, settings, ids).rows)


class TableKind(NamedTuple):
    """The figures and rows of a table."""

    title: str
    figures: tuple[str, ...]
    lines: Callable[[MeasuredRun, str], Lines] = _every_method
    """Its rows of a run; of the paper's method, the label at the chosen bias."""
    run_kinds: tuple[str, ...] = ()
    """The kinds of runs that it is made of without being named, see `kinds_of`."""
    corpus: str = ""
    """The only kind of corpus that it is of."""
    at_bias: bool = False
    """Whether it shows the paper's method at one bias, which a run must have."""


_OF_PAPER = (
    "COMET", "COMET - rt", "BLEU", "BLEU - rt", "chrF", "chrF - rt", "NE", "NE sums", "A/D %", "A/O %", "update ms",
    "speedup", "TPS", "TPS ratio", "TPS ratio*",
)  # fmt: skip
_QUALITY = ("chrF", "chrF - rt", "BLEU", "BLEU - rt")

TABLES = {
    "2": TableKind("re-translation and SSBD on text", _OF_PAPER, _at_one_bias, ("text",), "text", at_bias=True),
    "3": TableKind("the effect of the bias", _OF_PAPER, _by_bias, ("text", "both ends")),
    "4": TableKind("mask-k on the output and on the display only", _OF_PAPER, _by_mask, ("text",), at_bias=True),
    "6": TableKind("re-translation and SSBD on recorded transcripts", _OF_PAPER, _at_one_bias,
                   ("recorded",), "recorded", at_bias=True),
    "latency": TableKind("latency on recorded transcripts",
                         ("AL s", "AL-CA s", "LAAL s", "LAAL-CA s", "lag p50 s", "lag p95 s"),
                         run_kinds=("recorded",), corpus="recorded"),
    "calm": TableKind("calm, speed and quality",
                      ("speedup", "TPS ratio", "passes", "A/D %", "A/O %", "NE sums", "NE screen",
                       "meanwhile %", *_QUALITY, "chrF partials"), run_kinds=("windowed",)),
    "compare": TableKind("the methods on the same updates",
                         ("speedup", "update ms", "TPS", "TPS ratio", "TPS ratio*", "passes", "A/D %", "A/O %",
                          "NE sums", "NE screen", "finals as rt")),
    "drafts": TableKind("methods with a draft model",
                        ("speedup", "alpha %", "tokens/pass", "fallback %", "rollback %", "passes",
                         "finals as rt", *_QUALITY, "NE sums"), run_kinds=("drafted",)),
    "lengths": TableKind("speed and quality by the length of the source",
                         ("passes", "update ms", "speedup", "TPS ratio", *_QUALITY, "NE sums"),
                         lines=_by_length, run_kinds=("both ends",)),
}  # fmt: skip


def make_table(name: str, runs: Sequence[MeasuredRun], bias: float = 0.2, *, paper: bool = False) -> Table:
    """Return the table of that name in `TABLES`, with the paper's figures beside ours if `paper` is set.

    `bias` is of the method that Tables 2, 4 and 6 compare with the baseline.

    Raises:
        UsageError: a run is not of the table's kind.
    """
    kind = TABLES[name]
    method = parse_method(f"{PAPER_DECODER}@{bias!r}").label
    title = f"table {name}" if name.isdigit() else name
    for run in runs:
        corpus = run.file.header.corpus.kind
        if kind.corpus not in ("", corpus):
            raise UsageError(f"{run.file.path} is a run on {_CORPORA[corpus]}; {title} needs {_CORPORA[kind.corpus]}")
        if kind.at_bias and run.row(method) is None:
            biases = [
                f"{row.method.bias:g}"
                for row in run.rows
                if row.method.decoder.name == PAPER_DECODER and row.mask == "none"
            ]
            advice = f"choose its --bias from {', '.join(biases)}" if biases else "run that method too"
            raise UsageError(f"{run.file.path} has no {method}; {advice}")
    printed = _paper()["tables"].get(name, {}) if paper else {}
    columns = [Column(*FIGURES[figure][:3]) for figure in kind.figures]
    for group in printed:
        columns += [Column(f"paper {group} {one}", "", FIGURES[one].decimals) for one in _paper()["columns"]]
    rows: list[tuple[Value, ...]] = []
    has_lengths = False
    for name_of_run, run in zip(names_of(runs), runs, strict=True):
        for length, row in kind.lines(run, method):
            has_lengths |= bool(length)
            cells: list[Value] = [f"{name_of_run} {row.label}".strip(), *([length] if length else [])]
            cells += [FIGURES[figure].compute(row) for figure in kind.figures]
            for known in printed.values():
                figures = known.get(f"{pair_of(run.file)} {row.label}") or known.get(row.label)
                cells += [None if one == "" else one for one in figures or [""] * len(_paper()["columns"])]
            rows.append(tuple(cells))
    return Table(
        name=title + (", quick" if any(run.file.header.quick for run in runs) else ""),
        title=kind.title,
        columns=(METHOD, *([WORDS] if has_lengths else []), *columns),
        rows=tuple(rows),
        notes=tuple(dict.fromkeys((*_notes(runs, kind), *(_paper_notes(runs) if printed else ())))),
    )


@cache
def _paper() -> dict[str, Any]:
    paper = tomllib.loads(files("livetrans.bench").joinpath("paper.toml").read_text(encoding="utf-8"))
    for table in paper["tables"].values():
        for group, rows in table.items():
            table[group] = {name: figures for name, *figures in rows}
    return paper


def _paper_notes(runs: Sequence[MeasuredRun]) -> Iterator[str]:
    yield f"The paper's NE is in {_paper()['unit']}, its TPS of an {_paper()['machine']}."
    if any(unit_name(run.unit) != _paper()["unit"] for run in runs):
        yield (
            "The paper's NE cannot be compared with ours: the units differ. --unit flores101 counts as the paper does; "
            'docs/bench.md says under "What to download" where its model comes from.'
        )


def kinds_of(run: MeasuredRun) -> set[str]:
    """Return what a run has the figures for: draft models, both ends, or plain decoding of text or recorded streams."""
    if any(row.method.has_proposals for row in run.rows):
        return {"drafted"}
    if run.file.header.double_model:
        return {"both ends"}
    windowed = any(row.method.decoder.final for row in run.rows)
    return {run.file.header.corpus.kind, *(["windowed"] if windowed else [])}


UNSTEADY = 0.2
"""Relative difference of the baseline's times in two repeats above which a table notes that the machine was busy."""


def pair_of(run: RunFile) -> str:
    """Return the languages of a run: `en-de`."""
    return f"{run.header.corpus.source_language}-{run.header.corpus.target_language}"


def names_of(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return a name for each run: empty for a single run, else its file's name, with the folder if names repeat."""
    paths = [run.file.path for run in runs]
    if len(runs) == 1:
        return [""]
    return [path.stem if len({path.stem for path in paths}) == len(paths) else str(path) for path in paths]


def scope_of(runs: Sequence[MeasuredRun]) -> str:
    """Return a sentence with the size and names of the corpora, the language pairs and the models."""
    scopes: dict[str, None] = {}
    for run in runs:
        header, streams = run.file.header, len(_streams(run))
        count = counted(len(run.segments), "sentence" if header.corpus.kind == "text" else "segment")
        place = f"{streams} streams in {header.corpus.name}" if streams > 1 else header.corpus.name
        double = f" (double: {header.double_model.file})" if header.double_model else ""
        scopes[f"{count} of {place}, {pair_of(run.file)}, {run.file.header.model.file}{double}"] = None
    return f"{'; '.join(scopes)}."


def _streams(run: MeasuredRun) -> set[str]:
    return {segment.stream for segment in run.segments if segment.stream}


def _unscored(run: MeasuredRun) -> str:
    """Return a sentence about the parts that have a reference, unless every segment has one of its own."""
    single = sum(segment.reference is not None for segment in run.segments)
    whole = sum(segment.stream_reference is not None for segment in run.segments)
    parts = [f"{single} of {len(run.segments)} segments"] if single else []
    parts += [f"{whole} of {len(_streams(run))} streams as wholes"] if whole else []
    if not parts or single == len(run.segments):
        return ""
    return f"quality is computed on what has a reference, {' and '.join(parts)}."


def _unheard(run: MeasuredRun) -> str:
    """Return a sentence about streams without the times of a live run."""
    known = _streams(run)
    live = {segment.stream for segment, updates in run.baseline.units if updates[-1].captured is not None}
    if known == live:
        return ""
    which = f"{len(known - live)} of {len(known)} streams have" if len(known) > 1 else "it has"
    return (
        f"{which} no times of a live run, whose updates can be others: delays are without the recogniser's time, and "
        "there is no lag."
    )


def _without_captions(run: MeasuredRun) -> str:
    """Return a sentence about methods of which there are no captions under the table's mask."""
    stopped = [label for label, method in run.methods.items() if method.stops_early]
    if run.has_own_mask or not stopped:
        return ""
    return (
        f"{', '.join(stopped)} stopped early by the run's mask of {run.file.header.mask.k} tokens, so there are no "
        f"captions with {run.shown_mask_k} hidden; make the run with --mask-k {run.shown_mask_k}."
    )


def _notes(runs: Sequence[MeasuredRun], kind: TableKind) -> Iterator[str]:
    """Yield what the figures are of, what would mislead, and what produced them: sentences for each run."""
    yield scope_of(runs)
    for run in runs:
        masked = _without_captions(run) if "NE screen" in kind.figures else ""
        about = (_unscored(run), _unheard(run), masked, *_unsteady(run))
        yield from (f"{run.file.path.name}: {sentence}" for sentence in about if sentence)
    for run in runs:
        header = ", ".join(f"{name} {value}" for name, value in run.file.header.parts().items())
        words = "words" if run.language.spaced else "characters"
        yield (
            f"{run.file.path.name}: {header}; measured on {len(run.segments)} segments and "
            f"{run.baseline.counts.updates} updates, NE in {unit_name(run.unit)}, NE screen in {words}."
        )
        scores = run.scores(run.baseline.finals)
        yield from (f"Quality: {score.signature}." for score in scores.values())
        if not scores:
            yield "No quality: the run has no reference."
        elif "COMET" not in scores:
            yield "COMET was not computed: give --comet MODEL (needs the extra comet)."


def _unsteady(run: MeasuredRun) -> Iterator[str]:
    """Yield in what a run is unfinished, or its repeats differ."""
    header = run.file.header
    if not run.file.complete:
        whole = sum(len(done) == header.corpus.segments for done in run.repeats)
        yield (
            f"the run is not finished: figures are of the {len(run.segments)} of {header.corpus.segments} "
            f"segments that every method did; {whole} of {header.repeats} repeats are whole."
        )
    changed = sum(repeat.changed for method in run.methods.values() for repeat in method.repeats)
    if changed:
        yield (f"{changed} outputs differ between repeats; counts are of the first (--threads 1 repeats exactly).")
    seconds = [repeat.update_seconds for repeat in run.baseline.repeats]
    longer = max(seconds) / min(seconds) - 1
    if run.file.complete and longer > UNSTEADY:
        advice = "" if header.time == "cpu" else "; --time cpu does not count other programs"
        yield (
            f"the machine was busy: in one repeat an update of {BASELINE} took {longer:.0%} longer than in "
            f"another{advice}."
        )


def unit_name(unit: str) -> str:
    names = {"model": "the model's own tokens", "flores101": "Flores-101 tokens", "flores200": "Flores-200 tokens"}
    return names.get(unit, f"{unit} tokens")
