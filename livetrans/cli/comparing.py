"""`replay --compare`: several methods on the same updates of one source, interleaved, and a table of what was
measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from io import TextIOWrapper
from itertools import groupby
from typing import TYPE_CHECKING

import click

from livetrans.cli.common import say
from livetrans.clock import Clock
from livetrans.config import DecodingSettings, Settings
from livetrans.decoding import DECODERS
from livetrans.errors import SourceError, UsageError
from livetrans.events import Event, Notice, SourceProgress, Transcript
from livetrans.metrics.comparison import ComparisonRow, MethodRun, compare
from livetrans.run.translating import make_stages, open_model, prepare_prompt

if TYPE_CHECKING:
    from livetrans.lm.llama import LlamaModel
    from livetrans.run.runner import OpenListening


def compare_methods(
    settings: Settings,
    clock: Clock,
    open_listening: OpenListening,
    methods: Sequence[str],
    repeats: int,
) -> None:
    """Recognise once, then translate every update by every method, each with a cache of its own.

    Raises:
        UsageError: a method that does not exist, or fewer than two.
        SourceError: nothing was recognised.
    """
    decodings = [parse_method(method.strip(), settings.decoding) for method in methods]
    if len(decodings) < 2:
        raise UsageError("--compare needs two methods or more, for example rt,ssbd")
    transcripts = _hear(clock, open_listening)
    if not transcripts:
        raise SourceError("nothing was recognised, so there is nothing to compare; choose a recording with speech")
    finals = sum(transcript.final for transcript in transcripts)
    labels = ", ".join(label for label, _ in decodings)
    say(f"{len(transcripts)} updates of {finals} segments; translating by {labels} …")
    first = open_model(settings, clock, _say_event)
    models = [first]
    try:
        models += (first.another_context() for _ in decodings[1:])
        runs = []
        for repeat in range(repeats):
            runs.append(_translate_all(models, decodings, settings, transcripts, rotate=repeat))
            if repeats > 1:
                say(f"repeat {repeat + 1} of {repeats} done")
    finally:
        for model in reversed(models):
            model.close()
    _print_table(settings, compare(runs), decodings, repeats)


def parse_method(text: str, decoding: DecodingSettings) -> tuple[str, DecodingSettings]:
    """`ssbd@0.3` names a method and its bias; without one the run's bias holds."""
    name, at, bias = text.partition("@")
    if name not in DECODERS:
        raise UsageError(f"there is no method {name!r}; choose from {', '.join(DECODERS)}, for example rt,ssbd@0.2")
    if not at:
        return name, replace(decoding, method=name)
    try:
        value = float(bias)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"the bias in {text!r} is not a number from 0 to 1")
    return text, replace(decoding, method=name, bias=value)


def _hear(clock: Clock, open_listening: OpenListening) -> list[Transcript]:
    listening = open_listening(_say_event, lambda chunk: None)
    try:
        return list(listening.transcripts)
    finally:
        listening.close()


def _translate_all(
    models: Sequence[LlamaModel],
    decodings: Sequence[tuple[str, DecodingSettings]],
    settings: Settings,
    transcripts: Sequence[Transcript],
    *,
    rotate: int,
) -> list[MethodRun]:
    """Methods take turns segment by segment, so that a machine that drifts moves all of them alike."""
    stages = []
    for model, (label, decoding) in zip(models, decodings, strict=True):
        own = replace(settings, decoding=decoding)
        stages.append((*make_stages(model, prepare_prompt(model, own), own), MethodRun(label)))
    for number, (_, updates) in enumerate(groupby(transcripts, key=lambda transcript: transcript.segment_id)):
        segment = list(updates)
        turn = (number + rotate) % len(stages)
        for translator, presenter, run in stages[turn:] + stages[:turn]:
            for transcript in segment:
                translation = translator.translate(transcript)
                run.add(translation, presenter.present(translation))
    return [run for _, _, run in stages]


def _say_event(event: Event) -> None:
    if isinstance(event, Notice):
        say(event.text)
    elif isinstance(event, SourceProgress) and event.total and sys.stderr.isatty():
        click.echo(f"\rheard {event.heard:.0f} of {event.total:.0f} s", nl=False, err=True)
        if event.heard >= event.total:
            click.echo(err=True)


def _print_table(
    settings: Settings,
    rows: Sequence[ComparisonRow],
    decodings: Sequence[tuple[str, DecodingSettings]],
    repeats: int,
) -> None:
    from rich.console import Console
    from rich.table import Table

    if isinstance(sys.stdout, TextIOWrapper):
        # The table's dashes are not worth failing where the terminal's encoding lacks them.
        sys.stdout.reconfigure(errors="replace")
    base = rows[0].method
    final_bias = settings.decoding.final_bias
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method")
    headings = ("bias", "updates", "tokens", "speedup", "speedup*", "tokens/s", "NE raw", "NE shown", "A/D %", "A/O %")
    for heading in (*headings, f"finals = {base}"):
        table.add_column(heading, justify="right")
    for row, (_, decoding) in zip(rows, decodings, strict=True):
        table.add_row(
            row.method,
            f"{decoding.bias:g}" if decoding.method == "ssbd" else "–",
            str(row.updates),
            str(row.output_tokens),
            _figure(row.speedup),
            _figure(row.generation_speedup),
            _figure(row.tokens_per_second, 0),
            _figure(row.ne_raw),
            _figure(row.ne_shown),
            _figure(row.accepted_per_draft, 1, 100),
            _figure(row.accepted_per_output, 1, 100),
            f"{row.equal_finals}/{row.finals}",
        )
    Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
    mask = settings.mask
    said = f"mask-k {mask.k}, {mask.mode}" if mask.mode != "none" else "no mask"
    finals = "like partials" if final_bias is None else f"bias {final_bias:g}"
    click.echo(
        f"speedup: time of {base} / time of the method, per update with the prompt; "
        f"speedup*: ratio of output tokens per second; "
        f"{base}'s pass over the prompt is left out, SSBD's one pass over prompt rest and draft counts whole.\n"
        f"NE: ratio of sums over segments, in the translator's tokens; {said}; finals decoded with {finals}; "
        f"outputs differ in length, see tokens.\n"
        f"translator {settings.language_model.model.name}, {settings.source_language} to {settings.target_language}; "
        f"median of {repeats} run{'s' if repeats > 1 else ''} on the same updates, methods taking turns by segment."
    )


def _figure(value: float | None, digits: int = 2, scale: float = 1.0) -> str:
    return "–" if value is None else f"{value * scale:.{digits}f}"
