"""Renders a table in four formats: text, Markdown, CSV, and values for JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from livetrans.metrics.quality import Interval

Value = str | int | float | Interval | None
NOTHING = "–"
"""Stands where a figure has no meaning or was not measured."""
UNLIMITED = 10_000
"""Columns of a page that is not a terminal."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    decimals: int = 0
    """Of numbers that are not counts."""
    group: str = ""
    """Whose figures these are, where a table has more than one model."""
    spare: bool = False
    """Left out of text first, where the terminal is too narrow for all columns."""

    @property
    def title(self) -> str:
        return f"{self.name} ({self.group})" if self.group else self.name


@dataclass(frozen=True, slots=True)
class Table:
    """Cells in rows; the first column names the row."""

    name: str
    """`table 3`."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...]
    """Sentences: units, what produced the figures, and what is missing."""

    def values(self) -> dict[str, object]:
        """For JSON: every row as an object, numbers unrounded."""
        titles = [column.title for column in self.columns]
        return {
            "table": self.name,
            "title": self.title,
            "rows": [dict(zip(titles, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }


def as_text(table: Table, width: int = UNLIMITED) -> str:
    """Columns in line, a block a group, notes below; what `width` has no room for is left out, and a note says so."""
    blocks = []
    left_out: list[str] = []
    filled = _filled(table)
    for group, block in groupby(filled[1:], key=lambda index: table.columns[index].group):
        columns = [filled[0], *block]
        text = _block(table, columns)
        while _width(text) > width and (spare := _most_spare(table, columns)) is not None:
            left_out.append(table.columns[spare].name)
            columns.remove(spare)
            text = _block(table, columns)
        blocks.append(f"{group}\n{text}" if group else text)
    notes = list(table.notes)
    if left_out:
        names = ", ".join(dict.fromkeys(reversed(left_out)))
        notes.append(f"The terminal is too narrow for: {names}.")
    title = f"{table.name.capitalize()}: {table.title}" if table.name else table.title
    return "\n\n".join([title, *blocks, "\n".join(notes)]) + "\n"


def _block(table: Table, columns: Sequence[int]) -> str:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index in columns:
        right = any(isinstance(row[index], int | float | Interval) for row in table.rows)
        grid.add_column(Text(table.columns[index].name), justify="right" if right else "left", no_wrap=True)
    for row in table.rows:
        grid.add_row(*(Text(_written(row[index], table.columns[index])) for index in columns))
    page = io.StringIO()
    Console(file=page, width=UNLIMITED, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _width(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.splitlines()))


def _most_spare(table: Table, columns: Sequence[int]) -> int | None:
    return next((index for index in reversed(columns) if table.columns[index].spare), None)


def as_markdown(table: Table) -> str:
    """A pipe table with its title above and its notes below."""
    columns = _filled(table)
    titles = [_cell(table.columns[index].title) for index in columns]
    numeric = [any(isinstance(row[index], int | float | Interval) for row in table.rows) for index in columns]
    lines = [f"**{table.name.capitalize()}: {table.title}**", "", f"| {' | '.join(titles)} |"]
    lines.append(f"|{'|'.join('---:' if right else '---' for right in numeric)}|")
    for row in table.rows:
        lines.append(f"| {' | '.join(_cell(_written(row[index], table.columns[index])) for index in columns)} |")
    return "\n".join([*lines, "", *(f"{note}  " for note in table.notes), ""])


def as_csv(table: Table) -> str:
    """Comma-separated values, a line of titles first, empty where there is no figure; title and notes are left out."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", *(column.title for column in table.columns)])
    for row in table.rows:
        cells = (
            "" if value is None else _written(value, column) for value, column in zip(row, table.columns, strict=True)
        )
        writer.writerow([table.name, *cells])
    return stream.getvalue()


FORMATS: dict[str, Callable[[Table], str]] = {"text": as_text, "markdown": as_markdown, "csv": as_csv}


def _filled(table: Table) -> list[int]:
    """Columns that have a figure in some row."""
    return [index for index in range(len(table.columns)) if any(row[index] is not None for row in table.rows)]


def _written(value: Value, column: Column) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, Interval):
        middle, low, high = (f"{each:z.{column.decimals}f}" for each in value)
        return f"{middle} [{low}, {high}]"
    return f"{value:.{column.decimals}f}" if isinstance(value, float) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
