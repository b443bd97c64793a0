"""What a command tells the user beside its output."""

from __future__ import annotations

import click

from livetrans.text import visible


def say(text: str) -> None:
    """A line on stderr, free of anything that a terminal would act on."""
    click.echo(visible(text), err=True)
