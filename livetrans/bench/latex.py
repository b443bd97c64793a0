"""Tables in LaTeX, in the style of booktabs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from livetrans.bench.layout import NOTHING, Table, capitalized, filled, side, written
from livetrans.errors import UsageError
from livetrans.installation import install_command
from livetrans.text import visible


def as_latex(table: Table, notes: Sequence[str] = ()) -> str:
    """A `table` float in the style of booktabs, caveats in its caption and notes as comments above it.

    Raises:
        UsageError: tabulate is not installed.
    """
    if find_spec("tabulate") is None:
        raise UsageError(f"latex needs tabulate, which is not installed; run {install_command('bench')}")
    from tabulate import tabulate

    columns = filled(table)
    quick = ", quick run" if table.name.endswith(", quick") else ""
    grid = tabulate(
        [[written(row[index], table.columns[index]).replace(NOTHING, "--") for index in columns] for row in table.rows],
        [table.columns[index].title for index in columns],
        tablefmt="latex_booktabs",
        colalign=[side(table, index) for index in columns],
        disable_numparse=True,
    )
    lines = [
        *(f"% {visible(note)}" for note in ("needs \\usepackage{booktabs}", *notes) if note not in table.caveats),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_literal(' '.join([f'{capitalized(table.title)}{quick}.', *table.caveats]))}}}",
        rf"\label{{tab:{table.stem}}}",
        grid,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_literal(text: str) -> str:
    """The text without anything that LaTeX would act on."""
    from tabulate import LATEX_ESCAPE_RULES

    return "".join(LATEX_ESCAPE_RULES.get(letter, letter) for letter in visible(text))
