"""The option of the engine that computes the recogniser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from livetrans.cli.declarations import GroupedOption
from livetrans.config import ENGINES

engine_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--engine",
    cls=GroupedOption,
    heading="Models",
    field="recogniser.engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    help="What computes the recogniser, each with models of its own: faster-whisper, or whisper.cpp, which uses a GPU "
    "(on Apple Silicon too). auto takes whisper.cpp where it is installed with a GPU and has a model here.",
)
