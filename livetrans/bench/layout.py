"""A table as text, Markdown, CSV or values: the same cells in four dresses."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livetrans.text import display_width

Value = str | int | float | None
NOTHING = "–"
"""Stands where a figure has no meaning or was not measured."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    decimals: int = 0
    """Of numbers that are no counts."""
    group: str = ""
    """Whose figures these are, where a table has more than one model."""

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


def as_text(table: Table) -> str:
    """Columns in line, figures to the right, groups above their columns, notes below."""
    columns = _without_empty(table)
    names = [table.columns[index].name for index in columns]
    cells = [names, *([_written(row[index], table.columns[index]) for index in columns] for row in table.rows)]
    widths = [max(display_width(line[place]) for line in cells) for place in range(len(columns))]
    lines = [f"{table.name.capitalize()}: {table.title}", ""]
    groups = [table.columns[index].group for index in columns]
    if any(groups):
        lines.append(_groups_line(groups, widths))
    numeric = [any(isinstance(row[index], int | float) for row in table.rows) for index in columns]
    for number, line in enumerate(cells):
        padded = (_padded(cell, width, right=right) for cell, width, right in zip(line, widths, numeric, strict=True))
        lines.append("  ".join(padded).rstrip())
        if number == 0:
            lines.append("  ".join("─" * width for width in widths))
    return "\n".join([*lines, "", *table.notes, ""])


def _groups_line(groups: Sequence[str], widths: Sequence[int]) -> str:
    """Each group's name above its first column, cut where the next group begins."""
    line = ""
    for place, group in enumerate(groups):
        if group and (place == 0 or group != groups[place - 1]):
            begin = sum(widths[:place]) + 2 * place
            line = f"{line[: begin - 1]:{begin}}{group}"
    return line


def as_markdown(table: Table) -> str:
    """A pipe table with its title above and its notes below."""
    columns = _without_empty(table)
    titles = [_cell(table.columns[index].title) for index in columns]
    numeric = [any(isinstance(row[index], int | float) for row in table.rows) for index in columns]
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


def _without_empty(table: Table) -> list[int]:
    """Columns that say something in some row."""
    return [index for index in range(len(table.columns)) if any(row[index] is not None for row in table.rows)]


def _written(value: Value, column: Column) -> str:
    if value is None:
        return NOTHING
    return f"{value:.{column.decimals}f}" if isinstance(value, float) else str(value)


def _padded(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - display_width(cell))
    return space + cell if right else cell + space


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
