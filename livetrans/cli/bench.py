"""`livetrans bench`: its commands but for `run`, how tables are printed, and what a pass of a model costs."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import click
import numpy as np

from livetrans.base.errors import UsageError
from livetrans.base.sequences import common_prefix_length
from livetrans.base.text import counted, visible
from livetrans.bench.measures import MODEL_UNIT, MeasuredRun, MeasureSettings
from livetrans.bench.run import TIMES, clock_for, parse_method, split_methods
from livetrans.bench.runfile import RunFile, Update, read_run
from livetrans.bench.tables import FORMATS, TABLES, Column, Table, as_json, kinds_of, make_table
from livetrans.cli.declarations import CountRange, LazyCommand, LazyGroup
from livetrans.cli.messages import progress_bar, say
from livetrans.config import MOST_THREADS, LanguageModelSettings
from livetrans.events import Span
from livetrans.lm.port import LanguageModel
from livetrans.metrics.latency import spread_of
from livetrans.metrics.quality import UNITS
from livetrans.models.catalogue import TRANSLATOR
from livetrans.models.chosen import find_model
from livetrans.signature import machine, quantisation
from livetrans.translation.presenter import cut_to_word

command = LazyGroup(
    "bench",
    commands_by_name={
        "case": LazyCommand(__name__, "Show how one segment was translated, update by update."),
        "cost": LazyCommand(__name__, "Measure what verifying a draft costs on this machine."),
        "plot": LazyCommand(__name__, "Draw figures over the bias, and calm over speed."),
        "run": LazyCommand("livetrans.cli.bench_run", "Translate a corpus by several methods and write a run file."),
        "table": LazyCommand(__name__, "Make the paper's tables from run files."),
    },
    help="""Measure re-translation against drafts: speed, erasure and quality, as the paper's tables do.

    `run` writes one file of everything that was translated; the other commands compute from such files alone.
    """,
)

threads_option = functools.partial(
    click.option, "--threads", metavar="N", type=CountRange(1, MOST_THREADS), default=1, show_default=True
)
time_option = click.option(
    "--time",
    type=click.Choice(TIMES),
    default="wall",
    show_default=True,
    help="Measure the time that passes, or processor time, which other programs do not lengthen.",
)


@contextmanager
def step_bar(steps: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show on standard error how many steps are done and how long the others take; the function counts one more."""
    with progress_bar() as progress:
        task = progress.add_task("", total=steps, completed=done)

        def advance() -> None:
            progress.advance(task)
            progress.update(task, description=f"{progress.tasks[0].completed:.0f} of {steps} steps")

        yield advance


format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="csv and json have every figure unrounded.",
)


def print_tables(tables: Sequence[Table], format_: str) -> None:
    """Print tables. The notes of a table as CSV go to standard error.

    Raises:
        UsageError: several tables as CSV.
    """
    if format_ == "json":
        text = as_json(tables)
    elif format_ == "text":
        text = "\n".join(table.as_text() for table in tables)
    elif len(tables) > 1:
        names = "; ".join(table.name for table in tables)
        raise UsageError(f"these files give {len(tables)} tables ({names}) and csv holds one; choose it with --table")
    else:
        text = tables[0].as_csv()
        for note in tables[0].notes:
            say(note)
    print_page(text)


def print_page(text: str) -> None:
    """Print a text; half a character becomes a question mark."""
    click.echo(text.encode("utf-8", "replace").decode("utf-8"), nl=False)


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
    help="Display-only masks to add; 3 and 5 without it. The first is what the calm table shows, else the run's.",
)
@_unit
@click.option(
    "--comet", type=click.Path(path_type=Path), metavar="MODEL", help="Score with COMET too, by this model on disk."
)
@click.option("--paper", is_flag=True, help="Put the paper's figures beside ours.")
@format_option
def table_command(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    bias: float,
    mask_k: tuple[int, ...],
    unit: str | None,
    comet: Path | None,
    paper: bool,
    format_: str,
) -> None:
    """Compute tables from run files, translating nothing. Below each table are the meanings of its columns."""
    if comet and names and not any("COMET" in TABLES[name].figures for name in names):
        raise UsageError(f"--comet has no effect on table {' and '.join(names)}; drop it, or drop --table")
    files_read = [read_run(file) for file in dict.fromkeys(files)]
    output_masks = {parse_method(label).mask_k for run in files_read for label in run.header.methods}
    masks = mask_k or {*_PAPER_MASKS, *output_masks} - {0}
    settings = MeasureSettings(unit, tuple(sorted(masks)), comet, mask_k[0] if mask_k else None)
    runs = [MeasuredRun(run, settings) for run in files_read]
    if names:
        print_tables([make_table(name, runs, bias, paper=paper) for name in names], format_)
        return
    tables: list[Table] = []
    left_out: dict[str, UsageError] = {}
    for name, kind in TABLES.items():
        fitting = [run for run in runs if kinds_of(run) & {*kind.run_kinds}]
        try:
            tables += [make_table(name, fitting, bias, paper=paper)] if fitting else []
        except UsageError as reason:
            left_out[name] = reason
    if left_out and not tables:
        raise next(iter(left_out.values()))
    for name, fault in left_out.items():
        say(f"table {name} is left out: {fault}")
    print_tables(tables, format_)


@click.command()
@_file
@click.option(
    "--id", "segment_id", type=int, required=True, metavar="N", help="Which segment: its `segment_id` in FILE."
)
@click.option("--methods", default="", metavar="LIST", help="Methods to show; without it rt, ssbd@0.2 and cd.")
def case_command(file: Path, segment_id: int, methods: str) -> None:
    """Show how one segment of a run was translated, update by update.

    New text is in [square brackets], and what is kept from a draft model in <angle brackets>.
    """
    case = case_of(read_run(file), segment_id, [_label_of(part) for part in split_methods(methods)])
    for title, texts in case.items():
        print_page(f"    {visible(title)}\n")
        for number, text in enumerate(texts, 1):
            print_page(f"{number:>2}  {visible(text)}\n")


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


SIZES = (*range(1, 41), 48, 64)
"""Every length that a draft of a sentence has, and two of long ones."""
CONTEXT_TOKENS = 64
"""Tokens in the cache before each pass: about a prompt with its sentence."""
COST_COLUMNS = (
    Column("new tokens", "evaluated in one pass"),
    Column("median ms", "median of the rounds (least-most)", 2),
    Column("to one", "median / the median of a pass over one token", 2),
    Column("ms a token", "median / new tokens", 3),
    Column("least to one", "the fastest round / the fastest over one token", 2),
)


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
@format_option
def cost_command(mt: str | None, threads: int, time: str, rounds: int, format_: str) -> None:
    """Measure one pass over 1 to 40, 48 and 64 new tokens: what verifying a draft costs on this machine."""
    from livetrans.lm.llama.checks import check_model
    from livetrans.lm.llama.model import LlamaModel

    clock = clock_for(time, threads)
    file = find_model(TRANSLATOR, mt).path
    check_model(file)
    settings = LanguageModelSettings(file, 2 * (CONTEXT_TOKENS + max(SIZES)), threads)
    with closing(LlamaModel(settings, maximum_rows=max(SIZES), clock=clock)) as model:
        with step_bar((rounds + 1) * len(SIZES)) as advance:
            seconds = measure_cost(model, rounds, on_pass=advance)
        stored = quantisation(model)
    note = (
        f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one; {file.name} ({stored}, "
        f"{file.stat().st_size / 1e6:.1f} MB), {counted(threads, 'thread')}, {time} time, {machine()['processor']}."
    )
    print_tables([cost_table(seconds, note)], format_)


def measure_cost(
    model: LanguageModel, rounds: int, on_pass: Callable[[], None] = lambda: None
) -> dict[int, list[float]]:
    """Return the seconds of passes over each number of new tokens, one per round, with logits read at each token.

    All sizes are measured in each round, starting with another one each time, so a drifting machine slows all alike.

    Raises:
        ContextError: the model's context is smaller than the largest pass.
    """
    beginning = model.beginning_tokens or tuple(model.tokenize("a"))[:1]
    vocabulary = model.evaluate(beginning).logits.shape[1]
    # Which tokens they are does not matter for time; the seed makes the passes the same in every run.
    tokens = np.random.default_rng(0).integers(0, vocabulary, CONTEXT_TOKENS + max(SIZES)).tolist()
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    for turn in range(rounds + 1):
        first = turn % len(SIZES)
        for size in (*SIZES[first:], *SIZES[:first]):
            model.evaluate(tokens[:CONTEXT_TOKENS])
            started = model.clock.now()
            model.evaluate(tokens[: CONTEXT_TOKENS + size], size)
            if turn:  # The first round warms the memory up.
                seconds[size].append(model.clock.now() - started)
            on_pass()
    return seconds


def cost_table(seconds: Mapping[int, Sequence[float]], note: str) -> Table:
    """Return the times as a table, a row a size.

    The fastest round is beside the median because a busy machine interrupts long passes more often.
    """
    one = seconds[1]
    rows = tuple(
        (
            size,
            spread_of(1000 * each for each in taken),
            statistics.median(taken) / statistics.median(one),
            1000 * statistics.median(taken) / size,
            min(taken) / min(one),
        )
        for size, taken in seconds.items()
    )
    return Table("cost", "one pass, by its new tokens", COST_COLUMNS, rows, (note,))


PAPERS = ("rt", "ssbd@0.2", "cd")
"""The methods of Table 7."""


def case_of(run: RunFile, segment_id: int, methods: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return the texts of one segment's updates in the first repeat: its source, then each method's output, marked.

    The source has the segment's name, and the reference is last. Without `methods`, the paper's are shown, or all if a
    run has only one of them.

    Raises:
        UsageError: no such segment or method, or not yet done.
    """
    segment = next((one for one in run.segments if one.segment_id == segment_id), None)
    if segment is None:
        raise UsageError(f"{run.path} has no segment {segment_id}; its segments are 0 to {len(run.segments) - 1}")
    case: dict[str, list[str]] = {segment.name: []}
    usual = [label for label in PAPERS if label in run.header.methods]
    for method in methods or (usual if len(usual) > 1 else run.header.methods):
        if method not in run.header.methods:
            raise UsageError(f"{run.path} has no method {method!r}; choose from {', '.join(run.header.methods)}")
        updates = run.units.get((0, segment_id, method))
        if not updates:
            raise UsageError(f"{run.path} stops before segment {segment_id} by {method}; continue it with `bench run`")
        case[segment.name] = case[segment.name] or _marked_sources([update.source for update in updates])
        case[method] = [_marked_output(update) for update in updates]
    if segment.reference is not None:
        case["reference"] = [segment.reference]
    return case


def _marked_sources(sources: Sequence[str]) -> list[str]:
    """Return growing sources; what the one before had is in the cache."""
    kept = (
        len(cut_to_word(source[: common_prefix_length(previous, source)], source))
        for previous, source in pairwise(["", *sources])
    )
    return [marked(source, [Span(0, length)]) for source, length in zip(sources, kept, strict=True)]


def _marked_output(update: Update) -> str:
    begins = (0, *update.ends)
    return marked(update.text, [Span(begins[span.begin], begins[span.end], span.draft) for span in update.accepted])


def marked(text: str, kept: Sequence[Span]) -> str:
    """Return the text with what is new in square brackets, and what is kept from a draft model in angle brackets.

    `kept` are the spans of characters that an earlier output or a draft model wrote.
    """
    parts, end = [], 0
    for span in (*kept, Span(len(text), len(text))):
        parts += [_enclosed(text[end : span.begin], "[]")]
        parts += [_enclosed(text[span.begin : span.end], "" if span.draft == "previous" else "<>")]
        end = span.end
    return "".join(parts)


def _enclosed(text: str, brackets: str) -> str:
    bare = text.strip()
    return text.replace(bare, f"{brackets[:1]}{bare}{brackets[1:]}", 1) if bare else text
