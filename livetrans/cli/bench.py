"""`livetrans bench`: the paper's tables on this machine."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

from livetrans.bench.methods import PAPER_METHODS, QUICK_REPEATS, QUICK_SENTENCES, REPEATS, TIMES
from livetrans.cli.common import AdvisingGroup
from livetrans.cli.options import MOST_THREADS, PROMPTS
from livetrans.cli.pages import Page, page_options
from livetrans.cli.values import NumberRange
from livetrans.config import LanguageModelSettings
from livetrans.errors import UsageError
from livetrans.files import input_path
from livetrans.models.find import TRANSLATOR_VARIABLE

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_threads = functools.partial(
    click.option, "--threads", metavar="N", type=click.IntRange(1, MOST_THREADS), default=1, show_default=True
)


class _TableNames(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "7":
            raise UsageError("Table 7 is one segment, update by update; `livetrans bench case FILE --id N` shows it")
        return super().convert(value, param, ctx)


@click.group(cls=AdvisingGroup)
def command() -> None:
    """Measure re-translation against drafts: speed, erasure and quality, as the paper's tables do.

    `run` writes one file of everything that was translated; the other commands compute from such files alone.
    """


@command.command(
    "run",
    short_help="Translate a corpus by several methods and write a run file.",
    context_settings={"allow_extra_args": True},
)
@click.option("--source", type=input_path, metavar="FILE", help="Text to translate, a sentence a line.")
@click.option("--reference", type=input_path, metavar="FILE", help="Its translation, line by line, to score against.")
@click.option(
    "--recorded",
    type=input_path,
    metavar="SESSION",
    help="Recorded transcripts instead: a session, a .jsonl file, or a folder of them.",
)
@click.option("--from", "from_", metavar="LANGUAGE", default="en", show_default=True, help="Language of the source.")
@click.option("--to", metavar="LANGUAGE", default="de", show_default=True, help="Language of the translation.")
@click.option(
    "--mt",
    metavar="MODEL",
    envvar=TRANSLATOR_VARIABLE,
    show_envvar=True,
    help="Translator: a GGUF file, or a name from `livetrans models`.",
)
@click.option(
    "--draft-model", metavar="MODEL", help="Small translator of the same vocabulary, for spec, bild and +draft."
)
@click.option("--double-model", metavar="MODEL", help="Translator that writes from both ends, for the method double.")
@click.option("--prompt", type=click.Choice(PROMPTS), help="Prompt template.")
@click.option(
    "--methods",
    metavar="LIST",
    default=",".join(PAPER_METHODS),
    show_default="those of the paper's tables",
    help="Methods to run, separated by commas; or one set of them: paper, calm.",
)
@click.option(
    "--words", metavar="W", type=click.IntRange(min=1), default=3, show_default=True, help="Words revealed at a time."
)
@click.option("--sentences", metavar="N", type=click.IntRange(min=1), help="Translate only the first N.")
@click.option(
    "--quick",
    is_flag=True,
    help=f"The first {QUICK_SENTENCES} sentences, {QUICK_REPEATS} times: a minute with a small model. Tables say so.",
)
@click.option(
    "--minimum-words",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    help="With --source: only sentences of at least N words.",
)
@click.option(
    "--repeats",
    metavar="N",
    type=click.IntRange(1, 99),
    show_default=str(REPEATS),
    help="How often everything is done; times are medians.",
)
@_threads(help="Threads of the translator; with 1, results repeat exactly.")
@click.option(
    "--time",
    type=click.Choice(TIMES),
    default="wall",
    show_default=True,
    help="Measure the time that passes, or processor time, which other programs do not lengthen.",
)
@click.option("--temperature", metavar="T", type=NumberRange(0.01, 100), help="Draw tokens, at this temperature.")
@click.option("--top-k", metavar="K", type=click.IntRange(min=0), help="Draw among the K most likely; 0 among all.")
@click.option("--top-p", metavar="P", type=NumberRange(0, 1), help="Draw among the most likely that add up to P.")
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Seed of the draws.")
@click.option(
    "--context",
    metavar="TOKENS",
    type=click.IntRange(min=32),
    default=LanguageModelSettings(Path()).context_tokens,
    show_default=True,
    help="Context window: prompt and output together.",
)
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Run file; without it, named by corpus and model.")
@click.option("--force", is_flag=True, help="Overwrite the run file if it exists, instead of continuing it.")
def run_command(**values: Any) -> None:
    """Translate a corpus by several methods, interleaved, and write every update to a run file.

    Methods are written as DECODER, or DECODER@BIAS where it has a bias, with +maskK for an output mask: rt, ssbd@0.2,
    cd, ssbd@0.2+mask3. With --draft-model there are spec@GAMMA, bild@FALLBACK,ROLLBACK and +draft: spec@4, bild@0.6,3,
    ssbd@0.2+draft; with --double-model there is double@BIAS. Decoding is greedy without --temperature, --top-k,
    --top-p and --seed, which rt, spec and bild take. Given again, the same command continues an interrupted run where
    it stopped.
    """
    from livetrans.cli.benching import BenchOptions, run_bench
    from livetrans.cli.common import say

    unnamed = click.get_current_context().args
    if unnamed:
        named = " ".join(f"{option} {file}" for option, file in zip(("--source", "--reference"), unnamed, strict=False))
        raise UsageError(
            f"{unnamed[0]} has no option before it; write `bench run {named}` for texts, or --recorded for a session"
        )

    try:
        output = run_bench(BenchOptions(**values))
    except KeyboardInterrupt:
        say("stopped; the same command continues from here")
        raise
    click.echo(output)


@command.command("table", short_help="Make the paper's tables from run files.")
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--table",
    "names",
    type=_TableNames(("2", "3", "4", "6", "latency", "calm", "drafts", "lengths")),
    multiple=True,
    help="Which table; may be given several times. Without it, every table that the files allow.",
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
    type=click.IntRange(1, 99),
    multiple=True,
    help="Display-only masks to add; 3 and 5 without it. The first is what the calm table shows.",
)
@click.option("--unit", metavar="UNIT", help="Unit in which erasure is counted: 13a, zh, char, word, model, ...")
@click.option("--comet", type=_ANY, metavar="MODEL", help="Score with COMET too, by this model on disk.")
@click.option("--paper", is_flag=True, help="Put the paper's figures beside ours.")
@page_options("NE,A/D %,speedup")
def table_command(**values: Any) -> None:
    """Compute tables from run files, translating nothing.

    A terminal too narrow for all columns shows the most important ones and names the others.
    """
    from livetrans.cli.bench_views import TableOptions, make_tables

    make_tables(TableOptions(**values))


@command.command("case", short_help="Show how one segment was translated, update by update.")
@click.argument("file", type=_FILE)
@click.option(
    "--id", "segment_id", type=int, required=True, metavar="N", help="Which segment: its `segment_id` in FILE."
)
@click.option("--methods", default="", metavar="LIST", help="Methods to show; without it rt, a modest bias and cd.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "markdown", "json", "latex")),
    default="text",
    show_default=True,
    help="text has colours on a terminal, and marks what is new by characters elsewhere.",
)
def case_command(file: Path, segment_id: int, methods: str, format_: str) -> None:
    """Show how one segment of a run was translated: per update what was kept and what is new."""
    from livetrans.cli.bench_views import show_case

    show_case(file, segment_id, methods, format_)


@command.command("plot", short_help="Draw figures over the bias, lag, and calm over speed.")
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    show_default=True,
    help="Folder of the plots.",
)
@click.option("--unit", metavar="UNIT", help="Unit in which erasure is counted.")
@click.option("--date", metavar="TEXT", help="Date in the title; without it, the day the run file was written.")
@click.option("--force", is_flag=True, help="Overwrite plots that exist.")
def plot_command(files: tuple[Path, ...], folder: Path, unit: str | None, date: str | None, force: bool) -> None:
    """Draw erasure, acceptance, speedup and quality over the bias, lag, and calm over speed, as PNG and SVG."""
    from livetrans.cli.bench_views import make_plots

    make_plots(files, folder, unit, date, force=force)


@command.command("export", short_help="Write a run for an outside scorer.")
@click.argument("file", type=_FILE)
@click.option("--method", required=True, metavar="METHOD", help="One of the run's methods.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("stream", "simulstream")),
    default="stream",
    show_default=True,
    help="The authors' format, or simulstream's.",
)
@click.option("--unit", default="word", show_default=True, metavar="UNIT", help="Unit that simulstream counts.")
@click.option("-o", "--output", type=_FILE, required=True, metavar="FILE", help="File to write.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def export_command(file: Path, method: str, format_: str, unit: str, output: Path, force: bool) -> None:
    """Write one method's outputs for an outside scorer: the authors' stream.jsonl, or simulstream's log."""
    from livetrans.cli.bench_views import export_run

    export_run(file, method, format_, unit, output, force=force)


@command.command("cost", short_help="Measure what verifying a draft costs on this machine.")
@click.argument("model", required=False)
@_threads(help="Threads of the translator.")
@click.option(
    "--time",
    "measured",
    type=click.Choice(TIMES),
    default="wall",
    show_default=True,
    help="Wall-clock or processor time.",
)
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(1, 999),
    default=11,
    show_default=True,
    help="Passes of each length; figures are medians.",
)
@page_options("new tokens,to one")
def cost_command(model: str | None, threads: int, measured: str, rounds: int, page: Page) -> None:
    """Measure one pass of MODEL over 1 to 40, 48 and 64 new tokens: what verifying a draft costs on this machine.

    MODEL is a GGUF file or a name from `livetrans models`; without it, the translator that runs by default. The figures
    are kept in the user's cache folder.
    """
    from livetrans.cli.bench_views import show_cost

    show_cost(model, threads, measured, rounds, page)
