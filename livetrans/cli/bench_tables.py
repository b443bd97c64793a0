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
from livetrans.files import write_new

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
        write_new(options.output, text, "--output", force=options.force)
    click.echo(json.dumps({"tables": [table.values() for table in tables]}, ensure_ascii=False))
