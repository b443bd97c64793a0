"""A table of figures, written as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval
from livetrans.text import display_width, unknown, visible

Value = str | int | float | Interval | Spread | None
FORMATS = ("text", "markdown", "csv", "json", "latex")
NOTHING = "–"
"""Stands where a figure has no meaning or was not measured."""
UNLIMITED = 10_000
"""Columns of a page that is not a terminal."""
_GAP = 2
"""Spaces between two columns of text."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    meaning: str = ""
    """One line, without the name."""
    decimals: int = 0
    """Of numbers that are not counts."""
    group: str = ""
    """Whose figures these are, where a table has more than one model."""
    unit: str = ""
    """Of erasure: in what it is counted."""
    caveats: tuple[str, ...] = ()
    """Sentences without which the figures of this column would be misread."""

    @property
    def title(self) -> str:
        return f"{self.name} ({self.group})" if self.group else self.name


@dataclass(frozen=True, slots=True)
class Table:
    """Cells in rows; the first column names the row."""

    name: str
    """`table 3`; `table 3, quick` where a run was a quick one."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    caveats: tuple[str, ...] = ()
    """Sentences without which the figures would be misread; those of a column stand there."""
    signature: tuple[str, ...] = ()
    """Sentences: what produced the figures."""
    scope: str = ""
    """A sentence: how many sentences of which corpus, in which languages, by which model."""

    @property
    def heading(self) -> str:
        title = self.title[:1].upper() + self.title[1:]
        return visible(f"{self.name.capitalize()}: {self.title}" if self.name else title)

    def at(self, places: Sequence[int]) -> Table:
        """Return the table with the columns at these places."""
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in places), rows=rows)

    def only(self, names: Sequence[str]) -> Table:
        """Return the table with its first column and those of these names, in that order within each group.

        Raises:
            UsageError: there is no such column.
        """
        known = [column.name for column in self.columns]
        for name in names:
            if name not in known:
                raise UsageError(unknown("column", name, list(dict.fromkeys(known))))
        groups = [column.group for column in self.columns]
        places = [place for place in range(1, len(known)) if known[place] in names]
        return self.at([0, *sorted(places, key=lambda place: (groups.index(groups[place]), names.index(known[place])))])

    def filled(self) -> Table:
        """Return the table without the columns that have no figure in any row, or all of it where no column has one."""
        places = [place for place in range(len(self.columns)) if any(row[place] is not None for row in self.rows)]
        return self.at(places) if len(places) > 1 else self

    def blocks(self) -> Iterator[tuple[str, Table]]:
        """Yield each group of columns, with the first column in front."""
        for group, places in groupby(range(1, len(self.columns)), key=lambda place: self.columns[place].group):
            yield visible(group), self.at([0, *places])

    def about(self) -> str:
        """Return what the figures are of, and the units of erasure."""
        units: dict[str, dict[str, None]] = {}
        several = len({column.unit for column in self.columns} - {""}) > 1
        for column in self.columns:
            if column.unit:
                units.setdefault(column.unit, {})[column.title if several else column.name] = None
        named = "; ".join(f"{', '.join(columns)} in {unit}" for unit, columns in units.items())
        return visible(" ".join(part for part in (self.scope, f"{named}." if named else "") if part))

    def every_caveat(self) -> list[str]:
        """Return the caveats of the table, then those of its columns."""
        of_columns = (caveat for column in self.columns for caveat in column.caveats)
        return list(dict.fromkeys((*self.caveats, *of_columns)))

    def notes(self, *, explain: bool = False, signature: bool = False) -> list[str]:
        """Return what stands below the table: with `explain` what the columns mean, caveats, with `signature` that."""
        meanings = dict.fromkeys(f"{column.name}: {column.meaning}" for column in self.columns if column.meaning)
        notes = [*(meanings if explain else ()), *self.every_caveat(), *(self.signature if signature else ())]
        return list(map(visible, notes))

    def cells(self) -> list[list[str]]:
        """Return the names of the columns, then the cells of each row, as people read them."""
        rows = [[_written(value, column) for value, column in zip(row, self.columns, strict=True)] for row in self.rows]
        return [[column.name for column in self.columns], *rows]


def as_text(table: Table, notes: Sequence[str] = (), width: int = UNLIMITED) -> str:
    """Return columns in line, a block a group, and notes below, broken between words.

    Columns that do not fit in `width` follow in another block, with the first column in front of them again.
    """
    blocks = []
    for group, block in table.filled().blocks():
        for part in _broken(block, width):
            lines = _grid(part.cells(), part, "plain").splitlines()
            blocks.append("\n".join([*([group] if group else []), *map(str.rstrip, lines)]))
    heading = "\n".join([table.heading, *_folded([table.filled().about()], width)])
    return "\n\n".join(part for part in (heading, *blocks, "\n".join(_folded(notes, width))) if part) + "\n"


def _broken(table: Table, width: int) -> Iterator[Table]:
    """Yield the table in parts that are at most so wide; a single column may be wider."""
    first, *widths = (_GAP + max(map(display_width, column)) for column in zip(*table.cells(), strict=True))
    places, taken = [0], first
    for place, needed in enumerate(widths, 1):
        if len(places) > 1 and taken + needed - _GAP > width:
            yield table.at(places)
            places, taken = [0], first
        places.append(place)
        taken += needed
    yield table.at(places)


def _folded(notes: Sequence[str], width: int) -> list[str]:
    """Return the notes in lines, broken between words."""
    fold = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  ")
    return [line for note in notes for line in fold.wrap(note)]


def as_markdown(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a pipe table a group with the title above and the notes below."""
    parts = [f"**{table.heading}**", table.filled().about()]
    for group, block in table.filled().blocks():
        cells = [[cell.replace("|", "\\|") for cell in row] for row in block.cells()]
        parts += [group.replace("|", "\\|"), _grid(cells, block, "pipe")]
    return "\n\n".join(part for part in (*parts, "\n".join(f"{note}  " for note in notes)) if part) + "\n"


def as_latex(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a `table` float in the style of booktabs, a tabular a group, with the notes as comments above it."""
    shown = table.filled()
    caption = " ".join(part for part in (f"{shown.heading}.", shown.about(), *shown.every_caveat()) if part)
    label = "-".join(table.name.replace(",", "").split()) or "table"
    lines = [f"% {note}" for note in (r"needs \usepackage{booktabs}", *notes)]
    lines += [r"\begin{table}", r"\centering", rf"\caption{{{_latex(caption)}}}", rf"\label{{tab:{label}}}"]
    for group, block in shown.blocks():
        cells = [[cell.replace(NOTHING, "--") for cell in row] for row in block.cells()]
        lines += [*([rf"\par\smallskip {_latex(group)}\par"] if group else []), _grid(cells, block, "latex_booktabs")]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex(text: str) -> str:
    """Return the text without anything that LaTeX would act on."""
    from tabulate import LATEX_ESCAPE_RULES

    return "".join(LATEX_ESCAPE_RULES.get(letter, letter) for letter in visible(text))


def _grid(cells: Sequence[Sequence[str]], table: Table, style: str) -> str:
    """Return the cells as tabulate writes them in this style, figures on the right."""
    from tabulate import tabulate

    figures = [
        any(isinstance(value, int | float | tuple) for value in column) for column in zip(*table.rows, strict=True)
    ]
    sides = ["right" if each else "left" for each in figures]
    # Above plain columns tabulate leaves more room for a heading than for a row.
    headings, rows = ((), cells) if style == "plain" else (cells[0], cells[1:])
    grid: str = tabulate(rows, headings, style, colalign=sides, disable_numparse=True)
    return grid


def as_csv(table: Table) -> str:
    """Return a line of titles, then the rows; numbers unrounded, an interval or a spread in three columns, no notes.

    The first column is the table's name, where it has one, so that files can be joined.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    bounds = [
        next((value._fields[1:] for value in column if isinstance(value, Interval | Spread)), ())
        for column in zip(*table.rows, strict=True)
    ]
    name = [table.name] if table.name else []
    titles = ["table"] if table.name else []
    for column, names in zip(table.columns, bounds, strict=True):
        titles += [column.title, *(f"{column.title} {each}" for each in names)]
    writer.writerow(titles)
    for row in table.rows:
        cells: list[object] = [*name]
        for value, names in zip(row, bounds, strict=True):
            cells += value if isinstance(value, Interval | Spread) else [value, *([None] * len(names))]
        writer.writerow(cells)
    return stream.getvalue()


def as_json(tables: Sequence[Table]) -> str:
    """Return all tables as one document: every row as an object, numbers unrounded."""
    documents = []
    for table in tables:
        titles = [column.title for column in table.columns]
        plain = (
            [value._asdict() if isinstance(value, Interval | Spread) else value for value in row] for row in table.rows
        )
        documents.append(
            {
                "table": table.name,
                "title": table.title,
                "about": table.filled().about(),
                "columns": {column.title: column.meaning for column in table.columns},
                "units": {column.title: column.unit for column in table.columns if column.unit},
                "rows": [dict(zip(titles, row, strict=True)) for row in plain],
                "caveats": table.filled().every_caveat(),
                "signature": list(table.signature),
            }
        )
    return json.dumps({"tables": documents}, ensure_ascii=False, indent=1) + "\n"


def _written(value: Value, column: Column) -> str:
    """Return a cell for people; what a terminal would execute is taken out."""
    if value is None:
        return NOTHING
    if isinstance(value, Interval | Spread):
        middle, low, high = (f"{each:z.{column.decimals}f}" for each in value)
        if isinstance(value, Interval):
            return f"{middle} [{low}, {high}]"
        return middle if low == high else f"{middle} ({low}-{high})"
    return f"{value:.{column.decimals}f}" if isinstance(value, float) else visible(str(value))
