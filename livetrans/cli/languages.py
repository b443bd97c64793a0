"""`livetrans languages`: the list of languages."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from livetrans.base.languages import LANGUAGES, Language

WIDTH = 80


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the languages that --from and --to take, by code or by usual name in most languages.

    A model may know fewer: `livetrans models` lists those of each.
    """
    spoken, captions_only = [
        [language for language in LANGUAGES.values() if bool(language.whisper_code) is known] for known in (True, False)
    ]
    if as_json:
        listed = [
            {"code": one.code, "name": one.name, "spoken": one.whisper_code is not None} for one in LANGUAGES.values()
        ]
        click.echo(json.dumps({"languages": listed}))
        return
    click.echo("For --from and --to:")
    for line in _columns(spoken):
        click.echo(line)
    click.echo("\nFor --to only, as no recogniser knows them:")
    for line in _columns(captions_only):
        click.echo(line)


def _columns(languages: list[Language]) -> Iterator[str]:
    """Yield code and name, sorted by name down as many columns as 80 characters hold."""
    entries = [f"{one.code:<8}{one.name}" for one in sorted(languages, key=lambda one: one.name)]
    width = max(map(len, entries)) + 2
    rows = -(-len(entries) // (WIDTH // width))
    for row in range(rows):
        yield ("  " + "".join(f"{entry:<{width}}" for entry in entries[row::rows])).rstrip()
