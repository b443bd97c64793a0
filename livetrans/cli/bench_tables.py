"""`livetrans bench table`, `case`, `plot` and `export`, computed from run files, and `cost`, measured at once."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, languages_table, measure_cost, measure_languages
from livetrans.bench.measures import MODEL_UNIT, MeasuredRun, MeasureSettings
from livetrans.bench.methods import clock_for, parse_method, split_methods
from livetrans.bench.runfile import read_run
from livetrans.bench.tables import TABLES, kinds_of, make_table
from livetrans.bench.updates import case_lines, case_of, simulstream_log
from livetrans.cli.bench import page_options, possible_tables, put, step_bar, threads_option, time_option, write_tables
from livetrans.cli.declarations import CountRange
from livetrans.cli.messages import say
from livetrans.config import LanguageModelSettings, MaskSettings
from livetrans.errors import UsageError
from livetrans.files import write_new
from livetrans.installation import data_folder
from livetrans.languages import parse_language
from livetrans.lm.prompts import build_prompt
from livetrans.metrics.quality import UNITS
from livetrans.models.catalogue import TRANSLATOR
from livetrans.models.chosen import find_model
from livetrans.session.recorded import RecordedTranscripts
from livetrans.signature import machine, quantisation
from livetrans.text import counted

_PAPER_MASKS = (3, 5)
_FILE = click.Path(dir_okay=False, path_type=Path)
_file = click.argument("file", type=_FILE)
_files = click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
_unit = click.option(
    "--unit",
    metavar="UNIT",
    help=f"Unit in which erasure is counted: {', '.join((*UNITS, MODEL_UNIT))}. The paper's is flores101.",
)


@click.command()
@_files
@click.option(
    "--table",
    "names",
    type=click.Choice(tuple(TABLES)),
    multiple=True,
    help="Which table; may be given several times. Without it, every table that the files allow. 7 is `bench case`.",
)
@click.option(
    "--bias",
    metavar="0..1",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Bias of ssbd in Tables 2, 4 and 6.",
)
@click.option(
    "--mask-k",
    metavar="K",
    type=CountRange(1, 99),
    multiple=True,
    help="Display-only masks to add; 3 and 5 without it. The first is what the calm table shows.",
)
@_unit
@click.option(
    "--comet", type=click.Path(path_type=Path), metavar="MODEL", help="Score with COMET too, by this model on disk."
)
@click.option("--paper", is_flag=True, help="Put the paper's figures beside ours.")
@page_options("NE,A/D %,speedup")
def table_command(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    bias: float,
    mask_k: tuple[int, ...],
    unit: str | None,
    comet: Path | None,
    paper: bool,
    **page: Any,
) -> None:
    """Compute tables from run files, translating nothing.

    In a terminal too narrow for all columns, the others follow in a second table below.
    """
    files_read = [read_run(file) for file in dict.fromkeys(files)]
    masks = mask_k or {*_PAPER_MASKS, *(one.output_mask_k for run in files_read for one in run.header.methods)} - {0}
    shown_k = mask_k[0] if mask_k else MaskSettings().k
    settings = MeasureSettings(unit, tuple(sorted(masks)), comet, shown_k)
    runs = [MeasuredRun(run, settings) for run in files_read]
    make = partial(make_table, bias=bias, paper=paper)
    if names:
        tables = [make(name, runs) for name in names]
    else:
        fitting = {name: [run for run in runs if kinds_of(run) & {*kind.of}] for name, kind in TABLES.items()}
        tables = possible_tables({f"table {name}": partial(make, name, some) for name, some in fitting.items() if some})
    write_tables(tables, **page)


@click.command()
@_file
@click.option(
    "--id", "segment_id", type=int, required=True, metavar="N", help="Which segment: its `segment_id` in FILE."
)
@click.option("--methods", default="", metavar="LIST", help="Methods to show; without it rt, ssbd@0.2 and cd.")
def case_command(file: Path, segment_id: int, methods: str) -> None:
    """Show how one segment of a run was translated: per update what was kept and what is new.

    What is new has a colour on a terminal, and stands in brackets elsewhere.
    """
    case = case_of(read_run(file), segment_id, [_label_of(part) for part in split_methods(methods)])
    console = Console(highlight=False)
    coloured = console.is_terminal and console.color_system is not None and not console.no_color
    if coloured:
        for line in case_lines(case, coloured=True):
            console.print(line, soft_wrap=True)
    else:
        put("".join(f"{line.plain}\n" for line in case_lines(case, coloured=False)))


def _label_of(written: str) -> str:
    """Return the label of a method; what is none stays, for the run file to say which methods it has."""
    try:
        return parse_method(written).label
    except UsageError:
        return written


@click.command()
@_files
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    show_default=True,
    help="Folder of the plots.",
)
@_unit
@click.option("--date", metavar="TEXT", help="Date in the title; without it, the day the run file was written.")
@click.option("--force", is_flag=True, help="Overwrite plots that exist.")
def plot_command(files: tuple[Path, ...], folder: Path, unit: str | None, date: str | None, force: bool) -> None:
    """Draw figures over the bias, calm over speed, and quality over latency, as PNG and SVG."""
    from livetrans.bench.plot import plot

    runs = [MeasuredRun(read_run(file), MeasureSettings(unit)) for file in dict.fromkeys(files)]
    newest = max(run.file.path.stat().st_mtime for run in runs)
    paths = plot(runs, folder, date=date or datetime.fromtimestamp(newest).date().isoformat(), force=force)
    for path in paths:
        click.echo(path)
    if not any(path.stem == "bias" for path in paths):
        say("no plot over the bias was drawn: it takes a method with two biases or more (`bench run --methods paper`)")


@click.command()
@_file
@click.option("--method", required=True, metavar="METHOD", help="One of the run's methods.")
@click.option("--unit", default="word", show_default=True, metavar="UNIT", help="Unit that simulstream counts.")
@click.option("-o", "--output", type=_FILE, required=True, metavar="FILE", help="File to write.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def export_command(file: Path, method: str, unit: str, output: Path, force: bool) -> None:
    """Write one method's outputs as the log that simulstream's metrics read."""
    write_new(output, simulstream_log(read_run(file), _label_of(method), unit), "--output", force=force)
    click.echo(output)


@click.command()
@click.option("--mt", metavar="MODEL", help="Translator: a GGUF file, or a name; without it, the default one.")
@threads_option(help="Threads of the translator.")
@time_option
@click.option(
    "--rounds",
    metavar="N",
    type=CountRange(1, 999),
    default=11,
    show_default=True,
    help="Passes of each length; figures are medians.",
)
@click.option(
    "--languages",
    metavar="N",
    type=CountRange(2, 16),
    help="Measure updates into 1 to N languages at once instead, on the recorded transcripts in the tree.",
)
@page_options("new tokens,to one")
def cost_command(mt: str | None, threads: int, time: str, rounds: int, languages: int | None, **page: Any) -> None:
    """Measure one pass over 1 to 40, 48 and 64 new tokens: what verifying a draft costs on this machine."""
    from livetrans.lm.llama.checks import check_model
    from livetrans.lm.llama.model import LlamaModel

    clock = clock_for(time, threads)
    file = find_model(TRANSLATOR, mt).path
    check_model(file)
    if languages:
        model = LlamaModel(LanguageModelSettings(file, threads=threads), clock=clock)
    else:
        settings = LanguageModelSettings(file, 2 * (CONTEXT_TOKENS + max(SIZES)), threads)
        model = LlamaModel(settings, maximum_rows=max(SIZES), clock=clock)
    with closing(model):
        if languages:
            place = data_folder("recordings") / "demo.jsonl"
            updates = list(RecordedTranscripts(place, clock, real_time=False))
            # A model of one pair says which; others know these two.
            codes = [model.metadata(f"livetrans.{key}_language") for key in ("source", "target")]
            prompt = build_prompt(model, None, parse_language(codes[0] or "en"), parse_language(codes[1] or "de"))
            with step_bar((rounds + 1) * languages) as advance:
                table = partial(languages_table, measure_languages(model, prompt, updates, languages, rounds, advance))
            what = f"{rounds} rounds of the {len(updates)} updates of {place.name}"
        else:
            with step_bar((rounds + 1) * len(SIZES)) as advance:
                table = partial(cost_table, measure_cost(model, rounds, on_pass=advance))
            what = f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one"
        stored = quantisation(model)
    note = (
        f"{what}; {file.name} ({stored}, {file.stat().st_size / 1e6:.1f} MB), {counted(threads, 'thread')}, "
        f"{time} time, {machine()['processor']}."
    )
    write_tables([table(note)], **page)
