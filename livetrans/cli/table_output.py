"""How tables leave: the options that choose a format, and printing or writing them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from livetrans.bench.table import FORMATS, UNLIMITED, Table, as_csv, as_json, as_latex, as_markdown, as_text
from livetrans.cli.common import say
from livetrans.errors import UsageError
from livetrans.files import write_new

LATEX_COLUMNS = 8
"""Of a LaTeX table unless the user chooses them: about what a page is wide enough for."""
_ENDINGS = {".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".tex": "latex"}


@dataclass(frozen=True, slots=True)
class Page:
    """How tables are written: the options of `page_options`, named as they are."""

    format_: str | None = None
    explain: bool = False
    signature: bool = False
    columns: str | None = None
    output: Path | None = None
    force: bool = False
    choosable: bool = True
    """Whether the command has --columns."""

    @property
    def format(self) -> str:
        """The chosen format, else the one that the output's name ends in."""
        ending = self.output.suffix.lower() if self.output else ""
        if self.format_ or not ending:
            return self.format_ or "text"
        if ending not in _ENDINGS:
            known = ", ".join(_ENDINGS)
            raise UsageError(
                f"{ending} is no format of tables; end the file's name in one of {known}, or give --format"
            )
        return _ENDINGS[ending]

    def notes(self, table: Table) -> list[str]:
        return [*table.every_caveat(), *(table.signature if self.signature else ())]


def page_options(columns: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a table, `columns` as the example; it receives them as `page`, a `Page`."""
    options = (
        click.option(
            "--format",
            "format_",
            type=click.Choice(FORMATS),
            show_default="that of --output's file name, else text",
            help="text fits the terminal; csv and json have every figure unrounded; latex needs booktabs.",
        ),
        click.option("--columns", metavar="NAMES", help=f"Only these columns, separated by commas: '{columns}'."),
        click.option("--explain", is_flag=True, help="Below the table, say in a line each what the columns mean."),
        click.option("--signature", is_flag=True, help="Below the table, say what produced the figures."),
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            metavar="PLACE",
            help="Write to this file and print its name; for csv, a folder gets a file for each table.",
        ),
        click.option("--force", is_flag=True, help="Overwrite files that exist."),
    )

    def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**values: Any) -> Any:
            page = Page(**{field.name: values.pop(field.name) for field in fields(Page) if field.name in values})
            return function(page=page, **values)

        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def write_tables(tables: Sequence[Table], page: Page) -> None:
    """Print tables, or write them to `page.output`.

    Raises:
        UsageError: several tables as CSV without a folder for them, no such column, or a file that is there already.
        SessionError: the output cannot be written.
    """
    if page.columns is not None:
        tables = _with_columns(tables, [name.strip() for name in page.columns.split(",") if name.strip()])
    if page.format == "csv":
        _write_csv(tables, page)
    elif page.format == "json":
        put(as_json(tables), page.output, force=page.force)
    else:
        put("\n".join(_written(table, page) for table in tables), page.output, force=page.force)


def _with_columns(tables: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """Return the tables that have all columns of these names, with these alone, and say which are left out."""
    chosen: list[Table] = []
    left_out: dict[str, UsageError] = {}
    for table in tables:
        try:
            chosen.append(table.only(names))
        except UsageError as reason:
            left_out[table.name] = reason
    if not chosen:
        raise next(iter(left_out.values()))
    for name, fault in left_out.items():
        say(f"{name} is left out: {fault}")
    return chosen


def _written(table: Table, page: Page) -> str:
    if page.format == "text":
        # A terminal's own width; a file has none.
        width = UNLIMITED if page.output or not sys.stdout.isatty() else terminal_width()
        return as_text(table, page.notes(table), width, explain=page.explain)
    fewer: list[str] = []
    if page.format == "latex" and page.columns is None:
        table, left_out = table.most_important(LATEX_COLUMNS)
        advice = "--columns chooses" if page.choosable else "--format json has them"
        fewer = [f"left out: {', '.join(left_out)}; {advice}"] if left_out else []
    notes = [*(table.meanings() if page.explain else ()), *page.notes(table), *fewer]
    return (as_latex if page.format == "latex" else as_markdown)(table, notes)


def _write_csv(tables: Sequence[Table], page: Page) -> None:
    """Write a file for each table where there are several, since CSV holds one; notes go to standard error."""
    place = page.output
    if len(tables) > 1 and (place is None or place.suffix):
        names = "; ".join(table.name.removeprefix("table ") for table in tables)
        raise UsageError(
            f"these files give {len(tables)} tables ({names}) and csv holds one; choose one with --table, or name a "
            "folder with -o for a file each"
        )
    for table in tables:
        in_folder = place is not None and (len(tables) > 1 or place.is_dir())
        put(as_csv(table), place / f"{table.stem}.csv" if place and in_folder else place, force=page.force)
        for note in (table.about(), *(table.meanings() if page.explain else ()), *page.notes(table)):
            if note:
                say(f"{table.name}: {note}" if len(tables) > 1 else note)


def put(text: str, place: Path | None = None, *, force: bool = False) -> None:
    """Print the text, or write it to a file and print the file's name; half a character becomes a question mark.

    Raises:
        UsageError: the place is a folder, or a file that is there already.
        SessionError: the file cannot be written.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    if place is None:
        if isinstance(sys.stdout, TextIOWrapper):
            # A dash that the terminal's encoding lacks is not worth failing.
            sys.stdout.reconfigure(errors="replace")
        click.echo(text, nl=False)
        return
    if place.is_dir():
        raise UsageError(f"{place} is a folder; name a file in it with -o")
    place.parent.mkdir(parents=True, exist_ok=True)
    write_new(place, [text], "--output", force=force)
    click.echo(place)


def terminal_width() -> int:
    """Return the columns of standard output."""
    from rich.console import Console

    return Console(file=sys.stdout).width
