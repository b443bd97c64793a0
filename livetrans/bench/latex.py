"""Tables in LaTeX, in the style of booktabs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import groupby
from types import ModuleType

from livetrans.bench.layout import NOTHING, Table, capitalized, filled, side, written
from livetrans.errors import UsageError
from livetrans.installation import install_command
from livetrans.text import visible


def as_latex(table: Table, notes: Sequence[str] = ()) -> str:
    """A `table` float in the style of booktabs, caveats in its caption and notes as comments above it.

    Raises:
        UsageError: tabulate is not installed.
    """
    columns = filled(table)
    caveats = table.every_caveat()
    title = capitalized(table.title) + (", quick run." if table.name.endswith(", quick") else ".")
    grid: str = _library().tabulate(
        [[written(row[index], table.columns[index]).replace(NOTHING, "--") for index in columns] for row in table.rows],
        [table.columns[index].name for index in columns],
        tablefmt="latex_booktabs",
        colalign=[side(table, index) for index in columns],
        disable_numparse=True,
    )
    lines = [
        *(f"% {visible(note)}" for note in ("needs \\usepackage{booktabs}", *notes) if note not in caveats),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_literal(' '.join(part for part in (title, table.about(), *caveats) if part))}}}",
        rf"\label{{tab:{table.stem}}}",
        grid.replace("\\toprule\n", f"\\toprule\n{_groups(table, columns)}", 1),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _groups(table: Table, columns: Sequence[int]) -> str:
    """A line above the names of the columns that says whose figures they are; empty where all are of one."""
    cells, rules, place = [], "", 1
    for group, block in groupby(columns, key=lambda index: table.columns[index].group):
        width = len(list(block))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_literal(group)}}}" if group else " &" * (width - 1))
        rules += rf"\cmidrule(lr){{{place}-{place + width - 1}}}" if group else ""
        place += width
    return f"{' & '.join(cells)} \\\\\n{rules}\n" if rules else ""


def latex_literal(text: str) -> str:
    """The text without anything that LaTeX would act on.

    Raises:
        UsageError: tabulate is not installed.
    """
    rules: Mapping[str, str] = _library().LATEX_ESCAPE_RULES
    return "".join(rules.get(letter, letter) for letter in visible(text))


def _library() -> ModuleType:
    try:
        return import_module("tabulate")
    except ModuleNotFoundError:
        raise UsageError(f"latex needs tabulate, which is not installed; run {install_command('bench')}") from None
