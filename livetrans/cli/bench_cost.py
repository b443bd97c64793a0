"""`livetrans bench cost`: what verifying a draft costs on this machine."""

from __future__ import annotations

import click

from livetrans.bench.cost import CONTEXT_TOKENS, SIZES, cost_table, measure_cost
from livetrans.bench.methods import clock_for
from livetrans.cli.bench import threads_option, time_option
from livetrans.cli.common import progress_bar
from livetrans.cli.table_output import Page, page_options, write_tables
from livetrans.config import LanguageModelSettings
from livetrans.errors import UsageError
from livetrans.models.find import find_translator
from livetrans.signature import machine, quantisation
from livetrans.text import counted


@click.command()
@click.argument("model", required=False)
@click.option("--mt", metavar="MODEL", help="The same, as other commands name the translator.")
@threads_option(help="Threads of the translator.")
@time_option
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(1, 999),
    default=11,
    show_default=True,
    help="Passes of each length; figures are medians.",
)
@page_options("new tokens,to one")
def cost_command(model: str | None, mt: str | None, threads: int, time: str, rounds: int, page: Page) -> None:
    """Measure one pass of MODEL over 1 to 40, 48 and 64 new tokens: what verifying a draft costs on this machine.

    MODEL is a GGUF file or a name from `livetrans models`; without it, the translator that runs by default.
    """
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.llama.probe import check_model

    if model and mt:
        raise UsageError(f"{model} and --mt {mt} both name the model; give one of them")
    clock = clock_for(time, threads)
    file = find_translator(model or mt).path
    check_model(file)
    context_tokens = 2 * (CONTEXT_TOKENS + max(SIZES))
    opened = LlamaModel(LanguageModelSettings(file, context_tokens, threads), maximum_rows=max(SIZES), clock=clock)
    try:
        with progress_bar() as progress:
            task = progress.add_task("passes", total=(rounds + 1) * len(SIZES))
            costs = measure_cost(opened, rounds, on_pass=lambda: progress.advance(task))
        stored = quantisation(opened)
    finally:
        opened.close()
    note = (
        f"{rounds} passes after {CONTEXT_TOKENS} tokens, logits at every new one; {file.name} ({stored}, "
        f"{file.stat().st_size / 1e6:.1f} MB), {counted(threads, 'thread')}, {time} time, {machine()['processor']}."
    )
    write_tables([cost_table(costs, note)], page)
