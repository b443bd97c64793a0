"""Renders a table: text, Markdown, CSV, JSON and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from livetrans.errors import UsageError
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval
from livetrans.text import unknown, visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Value = str | int | float | Interval | Spread | None
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

    def about(self, places: Sequence[int] | None = None) -> str:
        """What the figures are of, and the units of erasure in the columns at `places`, or in all with figures."""
        shown = [self.columns[index] for index in (filled(self) if places is None else places)]
        names: dict[str, dict[str, None]] = {}
        for column in shown:
            if column.unit:
                other = any(one.name == column.name and one.unit != column.unit for one in shown)
                names.setdefault(column.unit, {})[column.title if other else column.name] = None
        units = "; ".join(f"{', '.join(own)} in {unit}" for unit, own in names.items())
        return visible(" ".join(part for part in (self.scope, f"{units}." if units else "") if part))

    def every_caveat(self) -> list[str]:
        """Of the table, then of its columns that have figures."""
        own = (caveat for index in filled(self) for caveat in self.columns[index].caveats)
        return list(dict.fromkeys((*self.caveats, *own)))

    def only(self, names: Sequence[str]) -> Table:
        """The table with the first column, named or not, and those of these names, in that order within each group.

        Raises:
            UsageError: there is no such column.
        """
        known = list(dict.fromkeys(column.name for column in self.columns))
        for name in names:
            if name not in known:
                raise UsageError(unknown("column", name, known))
        groups = list(dict.fromkeys(column.group for column in self.columns[1:]))
        order = {
            (groups.index(column.group), names.index(name)): index
            for index, column in enumerate(self.columns)
            for name in [next((name for name in (column.name, column.beside) if name in names), None)]
            if index and name is not None
        }
        places = [0, *(order[key] for key in sorted(order))]
        columns = tuple(self.columns[index] for index in places)
        rows = tuple(tuple(row[index] for index in places) for row in self.rows)
        return replace(self, columns=columns, rows=rows)

    def most_important(self, most: int) -> tuple[Table, list[str]]:
        """The table with at most `most` columns that have figures, and the names of those left out; groups keep equal
        columns.
        """
        ranks: dict[str, int] = {}
        for index in filled(self)[1:]:
            column = self.columns[index]
            ranks[column.name] = max(column.rank, ranks.get(column.name, 0))
        kept = list(ranks)
        while len(kept) > 1 and len(filled(self.only(kept))) > most:
            kept.remove(max(reversed(kept), key=ranks.__getitem__))
        return self.only(kept), [name for name in ranks if name not in kept]

    def explained(self) -> list[str]:
        """A line for each column that has a figure: its name and its meaning."""
        return _meanings(self, filled(self))

    def values(self) -> dict[str, object]:
        """For JSON: every row as an object, numbers unrounded."""
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
    """Columns in line, a block a group, notes below, with `explain` a line for each column that is shown.

    Columns that `width` has no room for are left out, and a note names them; notes are broken between words.
    """
    blocks = []
    shown: list[int] = []
    left_out: list[str] = []
    first, *others = filled(table)
    for group, block in groupby(others, key=lambda index: table.columns[index].group):
        columns = [first, *block]
        text = _block(table, columns)
        while _width(text) > width and len(columns) > 2:
            spare = max(columns[1:], key=lambda index: (table.columns[index].rank, index))
            left_out.append(table.columns[spare].name)
            columns.remove(spare)
            text = _block(table, columns)
        shown += columns
        blocks.append(f"{visible(group)}\n{text}" if group else text)
    notes = [*(_meanings(table, shown) if explain else ()), *notes]
    if left_out:
        names = ", ".join(name.replace(" ", _NO_BREAK) for name in dict.fromkeys(reversed(left_out)))
        notes.insert(0, f"Left out at {width} columns: {names}. A wider terminal or another --format shows them.")
    heading = [table.heading, *(_folded(about, width) if (about := table.about(shown)) else [])]
    folded = [line for note in notes for line in _folded(note, width)]
    return "\n\n".join(["\n".join(heading), *blocks, *(["\n".join(folded)] if folded else [])]) + "\n"


def _folded(note: str, width: int) -> list[str]:
    """The note in lines, broken between words."""
    lines = textwrap.wrap(visible(note), width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  ")
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _meanings(table: Table, columns: Sequence[int]) -> list[str]:
    shown = [table.columns[index] for index in columns]
    return list(dict.fromkeys(f"{column.name}: {column.meaning}" for column in shown if column.meaning))


def capitalized(text: str) -> str:
    """The text with a capital letter in front, and the rest as it is."""
    return text[:1].upper() + text[1:]


def _block(table: Table, columns: Sequence[int]) -> str:
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index in columns:
        grid.add_column(Text(table.columns[index].name), justify=side(table, index), no_wrap=True)
    for row in table.rows:
        grid.add_row(*(Text(written(row[index], table.columns[index])) for index in columns))
    return rendered(grid).rstrip("\n")


def rendered(grid: RichTable) -> str:
    """The grid without colours, for a page that is not a terminal: no line is folded or ends in spaces."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=UNLIMITED, color_system=None).print(grid)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def _width(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.splitlines()))


def as_markdown(table: Table, notes: Sequence[str] = ()) -> str:
    """A pipe table a group with the title above and the notes below."""
    lines = [f"**{table.heading}**", *(["", about] if (about := table.about()) else [])]
    first, *others = filled(table)
    for group, block in groupby(others, key=lambda index: table.columns[index].group):
        columns = [first, *block]
        lines += ["", _cell(visible(group))] if group else []
        lines += ["", f"| {' | '.join(_cell(table.columns[index].name) for index in columns)} |"]
        lines.append(f"|{'|'.join('---:' if side(table, index) == 'right' else '---' for index in columns)}|")
        for row in table.rows:
            lines.append(f"| {' | '.join(_cell(written(row[index], table.columns[index])) for index in columns)} |")
    return "\n".join([*lines, *([""] if notes else []), *(f"{visible(note)}  " for note in notes), ""])


def as_csv(table: Table) -> str:
    """A line of titles, then the rows; numbers unrounded, an interval or a spread in three columns, no notes.

    The first column is the table's name, where it has one, so that files can be joined.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    parts = [_parts(table, index) for index in range(len(table.columns))]
    name = [table.name] if table.name else []
    titles = ["table"] if table.name else []
    for column, names in zip(table.columns, parts, strict=True):
        titles += [column.title, *(f"{column.title} {name}" for name in names)]
    writer.writerow(titles)
    for row in table.rows:
        cells: list[object] = [*name]
        for value, names in zip(row, parts, strict=True):
            cells += value if isinstance(value, Interval | Spread) else [value, *([None] * len(names))]
        writer.writerow(cells)
    return stream.getvalue()


def as_json(tables: Sequence[Table]) -> str:
    """All tables as one document."""
    return json.dumps({"tables": [table.values() for table in tables]}, ensure_ascii=False, indent=1) + "\n"


FORMATS = ("text", "markdown", "csv", "json", "latex")


def filled(table: Table) -> list[int]:
    """Columns that have a figure in some row; all, where only the names of the rows are there."""
    places = range(len(table.columns))
    some = [index for index in places if any(row[index] is not None for row in table.rows)]
    return some if len(some) > 1 else list(places)


def _parts(table: Table, index: int) -> tuple[str, ...]:
    """What CSV puts in columns of their own beside a figure: the bounds of an interval or of a spread."""
    values = (row[index] for row in table.rows)
    return next((value._fields[1:] for value in values if isinstance(value, Interval | Spread)), ())


def side(table: Table, index: int) -> Literal["left", "right"]:
    """Where a column's cells stand: figures on the right."""
    right = any(isinstance(row[index], int | float | Interval | Spread) for row in table.rows)
    return "right" if right else "left"


def written(value: Value, column: Column) -> str:
    """A cell for people; what a terminal would execute is taken out."""
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


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
