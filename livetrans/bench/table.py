"""A table of figures, and its pages: text, Markdown, CSV, JSON and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval
from livetrans.text import unknown, visible

Value = str | int | float | Interval | Spread | None
FORMATS = ("text", "markdown", "csv", "json", "latex")
NOTHING = "–"
"""Stands where a figure has no meaning or was not measured."""
UNLIMITED = 10_000
"""Columns of a page that is not a terminal."""
_NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    meaning: str = ""
    """One line, without the name."""
    decimals: int = 0
    """Of numbers that are not counts."""
    rank: int = 1
    """1 matters most; where text is too narrow for all columns, the highest rank is left out first."""
    group: str = ""
    """Whose figures these are, where a table has more than one model."""
    beside: str = ""
    """Another name by which `Table.only` takes the column: that of the figure it is compared with."""
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
    def stem(self) -> str:
        """`table-3`, for files and references."""
        return "-".join(self.name.replace(",", "").split()) or "table"

    @property
    def heading(self) -> str:
        return visible(f"{self.name.capitalize()}: {self.title}" if self.name else capitalized(self.title))

    @property
    def filled(self) -> list[int]:
        """Places of the columns that have a figure in some row; of all, where only the names of the rows are there."""
        places = range(len(self.columns))
        some = [index for index in places if any(row[index] is not None for row in self.rows)]
        return some if len(some) > 1 else list(places)

    def blocks(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each group of filled columns with their places, the first column in front of each."""
        first, *others = self.filled
        for group, places in groupby(others, key=lambda index: self.columns[index].group):
            yield visible(group), [first, *places]

    def about(self, places: Sequence[int] | None = None) -> str:
        """Return what the figures are of, and the units of erasure in the columns at `places` or in all filled ones."""
        shown = [self.columns[index] for index in (self.filled if places is None else places)]
        names: dict[str, dict[str, None]] = {}
        for column in shown:
            if column.unit:
                other = any(one.name == column.name and one.unit != column.unit for one in shown)
                names.setdefault(column.unit, {})[column.title if other else column.name] = None
        units = "; ".join(f"{', '.join(columns)} in {unit}" for unit, columns in names.items())
        return visible(" ".join(part for part in (self.scope, f"{units}." if units else "") if part))

    def every_caveat(self) -> list[str]:
        """Return the caveats of the table, then those of its filled columns."""
        of_columns = (caveat for index in self.filled for caveat in self.columns[index].caveats)
        return list(dict.fromkeys((*self.caveats, *of_columns)))

    def meanings(self, places: Sequence[int] | None = None) -> list[str]:
        """Return a line for each column at `places`, or for each that is filled: its name and its meaning."""
        shown = [self.columns[index] for index in (self.filled if places is None else places)]
        return list(dict.fromkeys(f"{column.name}: {column.meaning}" for column in shown if column.meaning))

    def only(self, names: Sequence[str]) -> Table:
        """Return the table with its first column and those of these names, in that order within each group.

        Raises:
            UsageError: there is no such column.
        """
        known = list(dict.fromkeys(column.name for column in self.columns))
        for name in names:
            if name not in known:
                raise UsageError(unknown("column", name, known))
        groups = list(dict.fromkeys(column.group for column in self.columns[1:]))
        order: dict[tuple[int, int], int] = {}
        for index, column in enumerate(self.columns[1:], 1):
            for name in [name for name in (column.name, column.beside) if name in names][:1]:
                order[groups.index(column.group), names.index(name)] = index
        places = [0, *(order[key] for key in sorted(order))]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in places),
            rows=tuple(tuple(row[index] for index in places) for row in self.rows),
        )

    def most_important(self, most: int) -> tuple[Table, list[str]]:
        """Return the table with at most `most` filled columns, and the names of those left out.

        Groups keep equal columns.
        """
        ranks: dict[str, int] = {}
        for column in (self.columns[index] for index in self.filled[1:]):
            ranks[column.name] = max(column.rank, ranks.get(column.name, 0))
        kept = list(ranks)
        while len(kept) > 1 and len(self.only(kept).filled) > most:
            kept.remove(max(reversed(kept), key=ranks.__getitem__))
        return self.only(kept), [name for name in ranks if name not in kept]

    def values(self) -> dict[str, object]:
        """Return the table for JSON: every row as an object, numbers unrounded."""
        titles = [column.title for column in self.columns]
        return {
            "table": self.name,
            "title": self.title,
            "about": self.about(),
            "columns": {column.title: column.meaning for column in self.columns},
            "units": {column.title: column.unit for column in self.columns if column.unit},
            "rows": [dict(zip(titles, map(_plain, row), strict=True)) for row in self.rows],
            "caveats": self.every_caveat(),
            "signature": list(self.signature),
        }


def as_text(table: Table, notes: Sequence[str] = (), width: int = UNLIMITED, *, explain: bool = False) -> str:
    """Return columns in line, a block a group, notes below, with `explain` a line for each column that is shown.

    Columns that `width` has no room for are left out, and a note names them; notes are broken between words.
    """
    from rich.cells import cell_len

    blocks: list[str] = []
    shown: list[int] = []
    left_out: list[str] = []
    for group, places in table.blocks():
        while max(map(cell_len, (block := _lines(table, places)).splitlines())) > width and len(places) > 2:
            spare = max(places[1:], key=lambda index: (table.columns[index].rank, index))
            left_out.append(table.columns[spare].name)
            places.remove(spare)
        shown += places
        blocks.append(f"{group}\n{block}" if group else block)
    notes = [*(table.meanings(shown) if explain else ()), *notes]
    if left_out:
        names = ", ".join(name.replace(" ", _NO_BREAK) for name in dict.fromkeys(reversed(left_out)))
        notes.insert(0, f"Left out at {width} columns: {names}. A wider terminal or another --format shows them.")
    heading = "\n".join([table.heading, *_folded([table.about(shown)], width)])
    return "\n\n".join(part for part in (heading, *blocks, "\n".join(_folded(notes, width))) if part) + "\n"


def _folded(notes: Sequence[str], width: int) -> list[str]:
    """Return the notes in lines, broken between words."""
    fold = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  ")
    return [line.replace(_NO_BREAK, " ") for note in notes for line in fold.wrap(visible(note))]


def capitalized(text: str) -> str:
    """Return the text with a capital letter in front, and the rest as it is."""
    return text[:1].upper() + text[1:]


def as_markdown(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a pipe table a group with the title above and the notes below."""
    parts = [f"**{table.heading}**", table.about()]
    for group, places in table.blocks():
        parts += [group.replace("|", "\\|"), _grid(table, places, "pipe")]
    return "\n\n".join(part for part in (*parts, "\n".join(f"{visible(note)}  " for note in notes)) if part) + "\n"


def as_latex(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a `table` float in the style of booktabs, caveats in its caption and notes as comments above it."""
    caveats = table.every_caveat()
    title = capitalized(table.title) + (", quick run." if table.name.endswith(", quick") else ".")
    grid = _grid(table, table.filled, "latex_booktabs")
    lines = [
        *(f"% {visible(note)}" for note in ("needs \\usepackage{booktabs}", *notes) if note not in caveats),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(' '.join(part for part in (title, table.about(), *caveats) if part))}}}",
        rf"\label{{tab:{table.stem}}}",
        grid.replace("\\toprule\n", f"\\toprule\n{_groups(table)}", 1),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _groups(table: Table) -> str:
    """Return a line above the names of the columns that says whose figures they are; empty where all are of one."""
    cells, rules, place = [], "", 1
    for group, block in groupby(table.filled, key=lambda index: table.columns[index].group):
        width = len(list(block))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_latex(group)}}}" if group else " &" * (width - 1))
        rules += rf"\cmidrule(lr){{{place}-{place + width - 1}}}" if group else ""
        place += width
    return f"{' & '.join(cells)} \\\\\n{rules}\n" if rules else ""


def _latex(text: str) -> str:
    """Return the text without anything that LaTeX would act on."""
    from tabulate import LATEX_ESCAPE_RULES

    return "".join(LATEX_ESCAPE_RULES.get(letter, letter) for letter in visible(text))


def _cells(table: Table, places: Sequence[int]) -> tuple[list[str], list[list[str]], list[Literal["left", "right"]]]:
    """Return the names of the columns at `places`, their cells by row, and the side of each: figures on the right."""
    cells = [[_written(row[index], table.columns[index]) for index in places] for row in table.rows]
    right = [any(isinstance(row[index], int | float | Interval | Spread) for row in table.rows) for index in places]
    return [table.columns[index].name for index in places], cells, ["right" if each else "left" for each in right]


def _lines(table: Table, places: Sequence[int]) -> str:
    """Return the columns at `places` in line."""
    from rich.table import Table as Grid
    from rich.text import Text

    names, cells, sides = _cells(table, places)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, side in zip(names, sides, strict=True):
        grid.add_column(Text(name), justify=side, no_wrap=True)
    for row in cells:
        grid.add_row(*map(Text, row))
    return without_colours(grid)


def without_colours(grid: object) -> str:
    """Return what rich draws, for a page that is not a terminal: no line is folded or ends in spaces."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=UNLIMITED, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _grid(table: Table, places: Sequence[int], style: str) -> str:
    """Return the columns at `places` as tabulate writes them in this style."""
    from tabulate import tabulate

    old, new = ("|", "\\|") if style == "pipe" else (NOTHING, "--")
    names, cells, sides = _cells(table, places)
    cells = [[cell.replace(old, new) for cell in row] for row in (names, *cells)]
    grid: str = tabulate(cells[1:], cells[0], style, colalign=sides, disable_numparse=True)
    return grid


def as_csv(table: Table) -> str:
    """Return a line of titles, then the rows; numbers unrounded, an interval or a spread in three columns, no notes.

    The first column is the table's name, where it has one, so that files can be joined.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    bounds = [
        next((value._fields[1:] for row in table.rows if isinstance(value := row[index], Interval | Spread)), ())
        for index in range(len(table.columns))
    ]
    titles = ["table"] if table.name else []
    for column, names in zip(table.columns, bounds, strict=True):
        titles += [column.title, *(f"{column.title} {name}" for name in names)]
    writer.writerow(titles)
    for row in table.rows:
        cells: list[object] = [table.name] if table.name else []
        for value, names in zip(row, bounds, strict=True):
            cells += value if isinstance(value, Interval | Spread) else [value, *([None] * len(names))]
        writer.writerow(cells)
    return stream.getvalue()


def as_json(tables: Sequence[Table]) -> str:
    """Return all tables as one document."""
    return json.dumps({"tables": [table.values() for table in tables]}, ensure_ascii=False, indent=1) + "\n"


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


def _plain(value: Value) -> object:
    return value._asdict() if isinstance(value, Interval | Spread) else value
