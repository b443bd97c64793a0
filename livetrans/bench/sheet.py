"""What all plots share: the sheet with its title, panels and legend, and the curves' names and colours.

A plot has a white background, so that it reads the same on a light and on a dark page. Curves differ in marker as
well as in colour. The same rows and date give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from typing import TYPE_CHECKING

from livetrans.bench.labels import tell_apart
from livetrans.bench.rows import TableRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

SHEET, INK, PALE_INK, GRID = "#ffffff", "#1f2328", "#59636e", "#e4e8ec"
COLOURS = ("#0072b2", "#d55e00", "#000000", "#882255")
"""Blue and vermilion of Okabe and Ito, black, and Tol's wine: apart for every kind of colour blindness."""
MARKERS = ("o", "s", "^", "D")
DASHES = ((0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
"""Of the methods that have no bias, in their order."""
DOTS_PER_INCH = 160

Dashes = tuple[float, tuple[float, ...]]
MEASURED = (("model", "models"), ("pair", "language pairs"), ("corpus", "corpora"))
"""What a title names, and what it is called where there is too much to name."""


def sheet(
    panels: int,
    title: str,
    rows: Sequence[TableRow],
    date: str,
    *,
    tall: float = 2.35,
    left: float = 0.7,
    lines: int = 0,
) -> tuple[Figure, list[Axes]]:
    """Panels side by side, `tall` inches high with `left` for the scale, a title, and room for a legend of `lines`."""
    from matplotlib.figure import Figure

    each, above, below = max(3.2, 5.8 / panels - left), 1.2, 0.65 + 0.25 * lines
    width, height = panels * (each + left) + 0.25, above + tall + below
    figure = Figure(figsize=(width, height))
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    figure.subplots_adjust(
        left=left / width, right=1 - 0.25 / width, bottom=below / height, top=1 - above / height, wspace=left / each
    )
    subtitle = " · ".join([*(named(rows, *names) for names in MEASURED), date])
    size = min(10.0, 118 * (width - 0.5) / len(subtitle))  # a letter is 0.0085 inches wide a point
    edge = 0.25 / width
    figure.text(edge, 1 - 0.18 / height, title, fontsize=15, fontweight="bold", va="top")
    figure.text(edge, 1 - 0.52 / height, subtitle, fontsize=size, color=PALE_INK, va="top", parse_math=False)
    return figure, axes


def named(rows: Sequence[TableRow], field: str, plural: str) -> str:
    names = list(dict.fromkeys(str(getattr(row, field)) for row in rows))
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} {plural}"


def name_panel(panel: Axes, name: str, unit: str) -> None:
    panel.set_title(f"{name}\n", loc="left", fontsize=11, fontweight="bold", parse_math=False)
    panel.text(0, 1.03, unit, transform=panel.transAxes, fontsize=9, color=PALE_INK, parse_math=False)


def curves_of(rows: Sequence[TableRow], *, by_method: bool = False) -> dict[str, list[TableRow]]:
    """Rows by run, named by what tells the runs apart: nothing where there is one.

    With `by_method` each biased method has a curve over its biases, named by it too (`window3+worth`); methods without
    a bias are on the first of their run.
    """
    biased = list(dict.fromkeys(map(_unbiased, (row for row in rows if row.bias is not None)))) if by_method else []

    def method_of(row: TableRow) -> str:
        return _unbiased(row) if row.bias is not None else biased[0]

    curves = {
        " ".join(part for part in (method, name) if part): [
            row for row in rows if row.origin == origin and (not method or method_of(row) == method)
        ]
        for origin, name in tell_apart(row.origin for row in rows).items()
        for method in biased or [""]
    }
    return {name: own for name, own in curves.items() if own}


def _unbiased(row: TableRow) -> str:
    """The method's label without its bias."""
    return row.method.replace(f"@{row.bias:g}", "")


def curve_styles() -> Iterator[tuple[str, str]]:
    """A colour and a marker for each curve; only their pair comes round again, and late."""
    for place in count():
        yield COLOURS[place % len(COLOURS)], MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]


def legend(
    figure: Figure,
    curves: Sequence[str],
    levels: Mapping[str, Dashes],
    *,
    points: bool = False,
    levels_colour: str | None = None,
) -> None:
    """Under the panels: the curves, and what the dashes mean in whatever colour."""
    from matplotlib.lines import Line2D

    dashes_colour = levels_colour or (COLOURS[0] if len(curves) == 1 else PALE_INK)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=curve, linestyle="" if points else "-")
        for curve, (colour, marker) in zip(curves, curve_styles(), strict=False)
    ] + [
        Line2D([], [], color=dashes_colour, linestyle=dashes, linewidth=1.4, label=level)
        for level, dashes in levels.items()
    ]
    place = (0.1 / figure.get_figwidth(), 0.05 / figure.get_figheight())
    columns = 2 if points else 3 if len(curves) == 1 else 1
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=place, ncols=columns)


@contextmanager
def style() -> Iterator[None]:
    from matplotlib import style as styles

    settings = {
        **dict.fromkeys(("axes.axisbelow", "axes.grid"), True),
        **dict.fromkeys(("axes.facecolor", "figure.facecolor"), SHEET),
        **dict.fromkeys(("axes.spines.right", "axes.spines.top"), False),
        **dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
        "axes.edgecolor": PALE_INK,
        "font.family": "DejaVu Sans",  # matplotlib brings it along, so every machine draws the same
        "grid.color": GRID,
        "legend.frameon": False,
        "lines.linewidth": 2.0,
        "lines.markersize": 6.5,
        "svg.hashsalt": "livetrans",
    }
    with styles.context(settings, after_reset=True):
        yield


def rendered(figure: Figure, kind: str) -> bytes:
    """The picture's bytes, without the day it was made or the version that made it."""
    picture = BytesIO()
    dated = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    figure.savefig(picture, format=kind, dpi=DOTS_PER_INCH, metadata=dated)
    return picture.getvalue()
