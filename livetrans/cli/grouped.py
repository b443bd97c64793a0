"""Options under headings, so that a long `--help` can be read."""

from __future__ import annotations

from typing import Any

import click


class GroupedOption(click.Option):
    """An option that `--help` lists under a heading; every default is shown."""

    def __init__(self, *declarations: Any, heading: str, **settings: Any) -> None:
        super().__init__(*declarations, **{"show_default": True, **settings})
        self.heading = heading


class GroupedCommand(click.Command):
    """A command whose `--help` lists its own options first, then those with headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Option):
                continue  # The usage line names arguments, and the text below it explains them.
            line = parameter.get_help_record(ctx)
            if line is not None:
                sections.setdefault(getattr(parameter, "heading", "Options"), []).append(line)
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(lines)
