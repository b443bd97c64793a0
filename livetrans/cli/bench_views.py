"""`bench case`, `plot`, `export` and `cost`: what is computed from runs, or measured, and is no table of them."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as RichTable
from rich.text import Text

from livetrans.bench.case import Case, Split, as_markdown, case_of
from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, Cost, measure_cost
from livetrans.bench.methods import parse_method
from livetrans.bench.runfile import read_run
from livetrans.bench.scoring import ScoringSettings, score
from livetrans.bench.signature import machine, quantisation, versions
from livetrans.bench.timing import clock_for
from livetrans.catalogue import find_translator
from livetrans.config import LanguageModelSettings
from livetrans.errors import UsageError
from livetrans.files import write_new
from livetrans.text import visible


def show_case(file: Path, segment_id: int, methods: str, *, markdown: bool) -> None:
    """Print the case study of one segment.

    Raises:
        UsageError: no such segment or method.
        SessionError: the run file cannot be read.
    """
    labels = [parse_method(part.strip()).label for part in methods.split(",") if part.strip()]
    case = case_of(read_run(file), segment_id, labels)
    if markdown:
        click.echo(as_markdown(case))
    else:
        console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120)
        console.print(_case_table(case))


def _case_table(case: Case) -> RichTable:
    """Dim and underlined what was kept, green what is new."""
    table = RichTable(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    stories = [(case.segment.name, case.source), *case.outputs.items()]
    for title, splits in stories:
        table.add_row("", Text(visible(title), style="bold"))
        for number, split in enumerate(splits, 1):
            table.add_row(str(number), _coloured(split))
    if case.segment.reference is not None:
        table.add_row("", Text("reference", style="bold"))
        table.add_row("", Text(visible(case.segment.reference)))
    table.add_row("", Text.assemble(("kept", "underline"), " ", ("new", "bold green")))
    return table


def _coloured(split: Split) -> Text:
    return Text.assemble((visible(split.kept), "underline"), (visible(split.new), "bold green"))


def make_plots(files: tuple[Path, ...], folder: Path, unit: str | None, date: str | None, *, force: bool) -> None:
    """Draw what the runs have figures for; prints the files written.

    Raises:
        UsageError: no matplotlib, nothing to plot, or a plot that is there already.
        SessionError: a run file that cannot be read.
    """
    from livetrans.bench.plot import plot

    runs = [read_run(file) for file in dict.fromkeys(files)]
    rows = [row for run in runs for row in score(run, ScoringSettings(unit)).rows]
    newest = max(run.path.stat().st_mtime for run in runs)
    day = date or datetime.fromtimestamp(newest).date().isoformat()
    for path in plot(rows, folder, date=day, force=force):
        click.echo(path)


def export_run(file: Path, method: str, format_: str, unit: str, output: Path, *, force: bool) -> None:
    """Write one method's first repeat for an outside scorer.

    Raises:
        UsageError: no such method or unit, or the file is there already.
        SessionError: the run file cannot be read, or the output cannot be written.
    """
    from livetrans.bench.exports import exported, simulstream_lines, stream_lines
    from livetrans.bench.tokens import tokenizer

    run = read_run(file)
    label = parse_method(method).label
    own = [update for update in run.updates if update.method == label and update.repeat == 0]
    if not own:
        known = ", ".join(one.label for one in run.header.methods)
        raise UsageError(f"{file} has no updates by {label}; choose from {known}")
    corpus = run.header.corpus
    updates = exported(own, run.segments, tokenizer(unit), step_unit=corpus.step_unit or "words")
    if format_ == "simulstream":
        lines = simulstream_lines(updates)
    else:
        segmentation: dict[str, str | int] | None = {"policy": "interval", "n": corpus.step} if corpus.step else None
        lines = stream_lines(updates, segmentation)
    # Joined first: an export that is refused leaves no file.
    write_new(output, "".join(lines), "--output", force=force)


def show_cost(mt: str | None, threads: int, measured: str, rounds: int) -> None:
    """Measure and print; the last line is all of it as JSON.

    Raises:
        ModelError: the model cannot be used.
    """
    from livetrans.lm.llama import LlamaModel

    clock = clock_for(measured, threads)
    file = find_translator(mt).path
    context_tokens = 2 * (CONTEXT_TOKENS + max(SIZES))
    model = LlamaModel(LanguageModelSettings(file, context_tokens, threads), maximum_rows=max(SIZES), clock=clock)
    console = Console(stderr=True)
    try:
        with Progress(console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task("passes", total=(rounds + 1) * len(SIZES))
            costs = measure_cost(model, rounds, on_pass=lambda: progress.advance(task))
        name, stored = model.name, quantisation(model)
    finally:
        model.close()
    about = {
        "model": file.name,
        "name": name,
        "quantisation": stored,
        "size_bytes": file.stat().st_size,
        "threads": threads,
        "time": measured,
        "rounds": rounds,
        "context_tokens": CONTEXT_TOKENS,
        "versions": versions(),
        **machine(),
    }
    click.echo(_cost_text(costs))
    several = "s" if threads > 1 else ""
    click.echo(
        f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one; {file.name} ({stored}, "
        f"{file.stat().st_size / 1e6:.1f} MB), {threads} thread{several}, {measured} time, {about['processor']}."
    )
    click.echo(json.dumps({"cost": [asdict(cost) for cost in costs], **about}, ensure_ascii=False))


def _cost_text(costs: list[Cost]) -> str:
    lines = ["new tokens    median ms  to one  ms a token    least ms  to one"]
    lines += [
        f"{cost.new_tokens:10}  {cost.seconds * 1000:11.2f}  {cost.ratio:6.2f}"
        f"  {cost.seconds * 1000 / cost.new_tokens:10.3f}  {cost.least_seconds * 1000:10.2f}  {cost.least_ratio:6.2f}"
        for cost in costs
    ]
    return "\n".join([*lines, ""])
