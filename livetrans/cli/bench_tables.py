"""`bench table`: from run files to tables on stdout, or in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from livetrans.bench.layout import FORMATS
from livetrans.bench.methods import masks_of
from livetrans.bench.runfile import read_run
from livetrans.bench.scoring import ScoringSettings, score
from livetrans.bench.tables import TABLES, TableSettings, fitting_tables
from livetrans.errors import SessionError, UsageError

_PAPER_MASKS = (3, 5)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What the options of `bench table` said, named as they are."""

    files: tuple[Path, ...]
    names: tuple[str, ...]
    format_: str
    bias: float
    mask_k: tuple[int, ...]
    unit: str | None
    comet: Path | None
    paper: bool
    output: Path | None
    force: bool


def make_tables(options: TableOptions) -> None:
    """Compute and print.

    Raises:
        UsageError: files that do not belong in one table, a unit that does not exist, or a file that is there already.
        SessionError: a run file that cannot be read, or an output that cannot be written.
        ModelError: the unit, sacrebleu or COMET is not on this machine.
    """
    settings = TableSettings(options.bias, options.paper)
    runs = [read_run(file) for file in dict.fromkeys(options.files)]
    masks = options.mask_k or tuple({*_PAPER_MASKS, *(k for run in runs for k in masks_of(run.header.methods))})
    scoring = ScoringSettings(options.unit, tuple(sorted(masks)), options.comet)
    scored = [score(run, scoring) for run in runs]
    tables = [TABLES[name](scored, settings) for name in options.names or fitting_tables(scored, settings)]
    text = "\n".join(FORMATS[options.format_](table) for table in tables)
    if options.output is None:
        click.echo(text)
    else:
        write_text(options.output, text, force=options.force)
    click.echo(json.dumps({"tables": [table.values() for table in tables]}, ensure_ascii=False))


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a new file; one that is there only when asked.

    Raises:
        UsageError: it is there already.
        SessionError: it cannot be written.
    """
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already; choose another name, or --force to overwrite it") from None
    except OSError as fault:
        raise SessionError(f"{path} cannot be written ({fault.strerror}); choose another place") from None
