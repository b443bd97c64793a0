"""Plots of a benchmark, from table rows alone: figures over the bias, lag, and calm over speed. PNG and SVG.

A plot has a white background, so that it reads the same on a light and on a dark page. Curves differ in marker as
well as in colour. The same rows and date give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING

from livetrans.bench.figures import times
from livetrans.bench.labels import tell_apart
from livetrans.bench.rows import TableRow
from livetrans.errors import UsageError
from livetrans.installation import install_command

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure

SHEET, INK, PALE_INK, GRID = "#ffffff", "#1f2328", "#59636e", "#e4e8ec"
COLOURS = ("#0072b2", "#d55e00", "#000000", "#882255")
"""Blue and vermilion of Okabe and Ito, black, and Tol's wine: apart for every kind of colour blindness."""
MARKERS = ("o", "s", "^", "D")
DASHES = ((0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
"""Of the methods that have no bias, in their order."""
DOTS_PER_INCH = 160

Dashes = tuple[float, tuple[float, ...]]
Value = Callable[[TableRow], float | None]


def plot(rows: Sequence[TableRow], folder: Path, *, date: str, force: bool = False) -> list[Path]:
    """Write `bias`, `quality`, `lag`, `calm` and `drafts`, PNG and SVG, as far as the rows have their figures.

    Gives the paths.

    Rows of masked methods are left out: a mask moves NE by itself, so it has no place on a line over the bias. One
    line (for lag, one panel) is one run. `date` stands in the title, in the caller's words.

    Raises:
        UsageError: no matplotlib, nothing to plot, or a file that exists without `force` or cannot be written.
    """
    from livetrans.bench.plot_drafts import over_latency
    from livetrans.bench.plot_viewing import calm, lag

    if find_spec("matplotlib") is None:
        raise UsageError(f"plots need matplotlib, which is not installed; run {install_command('bench')}")
    plain = [row for row in rows if row.mask == "none"]
    with _style():
        drawn = {
            "bias": _over_bias(plain, date, BIAS_PANELS, "What the bias does"),
            "quality": _over_bias(plain, date, QUALITY_PANELS, "What the bias costs"),
            "lag": lag(plain, date),
            "calm": calm(plain, date),
            "drafts": over_latency(plain, date),
        }
        files = {
            folder / f"{name}.{kind}": _rendered(figure, kind)
            for name, figure in drawn.items()
            if figure is not None
            for kind in ("png", "svg")
        }
    if not files:
        raise UsageError(
            "there is nothing to plot; give a run of a method with two biases or more (`bench run --methods paper`), "
            "with a live window (`--methods calm`), with a draft model, or of a stream that was recorded in real time"
        )
    existing = next((path for path in files if path.exists()), None)
    if existing is not None and not force:
        raise UsageError(f"{existing} exists already; choose another folder, or --force to overwrite it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, picture in files.items():
            path.write_bytes(picture)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror}); choose another folder") from None
    return list(files)


def speedup_of(row: TableRow) -> float | None:
    return row.speed.speedup.median if row.speed.speedup else None


BIAS_PANELS: tuple[tuple[str, str, Value], ...] = (
    ("Normalized erasure", "erased / final tokens, mean per utterance", lambda row: row.ne_mean),
    ("Draft accepted (A/D)", "% of the draft's tokens", lambda row: times(100, row.accepted_per_draft)),
    ("Speedup", "update time of rt / of the method", speedup_of),
)
QUALITY_PANELS: tuple[tuple[str, str, Value], ...] = (
    ("COMET", "of finals", lambda row: row.quality.comet),
    ("BLEU", "of finals", lambda row: row.quality.bleu),
    ("chrF", "of finals", lambda row: row.quality.chrf),
)
MEASURED = (("model", "models"), ("pair", "language pairs"), ("corpus", "corpora"))
"""What a title names, and what it is called where there is too much to name."""
LEAST_SPAN = {"COMET": 0.04, "BLEU": 4.0, "chrF": 4.0}
"""Of a quality axis: less would make noise look like a fall."""


def _over_bias(
    rows: Sequence[TableRow], date: str, panels: Sequence[tuple[str, str, Value]], title: str
) -> Figure | None:
    """A panel a figure over the bias, methods without one as level lines; None where no two biases have it."""
    curves = curves_of(rows, by_method=True)
    # A single point is no curve.
    measured = [panel for panel in panels if any(len(_points(own, panel[2])) > 1 for own in curves.values())]
    if not measured:
        return None
    unbiased = dict.fromkeys(row.decoder for row in rows if row.bias is None)
    levels = dict(zip(unbiased, cycle(DASHES), strict=False))
    figure, axes = sheet(len(measured), title, rows, date, lines=1 if len(curves) == 1 else len(curves) + len(levels))
    for panel, (name, unit, value) in zip(axes, measured, strict=True):
        name_panel(panel, name, f"{unit} ({_named(rows, 'ne_unit', 'units')})" if value is BIAS_PANELS[0][2] else unit)
        panel.set_xlabel("bias β")
        for own, (colour, marker) in zip(curves.values(), curve_styles(), strict=False):
            points = _points(own, value)
            if points:
                panel.plot(*zip(*points, strict=True), color=colour, marker=marker, zorder=3)
            for row in own:
                level = value(row) if row.bias is None else None
                if level is not None:
                    panel.axhline(level, color=colour, linestyle=levels[row.decoder], linewidth=1.4, zorder=2)
        panel.set_xlim(-0.03, max(row.bias or 0.0 for row in rows) + 0.03)
        _scale(panel, LEAST_SPAN.get(name))
    legend(figure, list(curves), levels)
    return figure


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


def _points(rows: Sequence[TableRow], value: Value) -> list[tuple[float, float]]:
    """(bias, figure) of the rows that have both, from the least bias to the greatest."""
    found = ((row.bias, value(row)) for row in rows)
    return sorted((bias, figure) for bias, figure in found if bias is not None and figure is not None)


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
    subtitle = " · ".join([*(_named(rows, *names) for names in MEASURED), date])
    size = min(10.0, 118 * (width - 0.5) / len(subtitle))  # a letter is 0.0085 inches wide a point
    edge = 0.25 / width
    figure.text(edge, 1 - 0.18 / height, title, fontsize=15, fontweight="bold", va="top")
    figure.text(edge, 1 - 0.52 / height, subtitle, fontsize=size, color=PALE_INK, va="top", parse_math=False)
    return figure, axes


def _named(rows: Sequence[TableRow], field: str, plural: str) -> str:
    names = list(dict.fromkeys(str(getattr(row, field)) for row in rows))
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} {plural}"


def name_panel(panel: Axes, name: str, unit: str) -> None:
    panel.set_title(f"{name}\n", loc="left", fontsize=11, fontweight="bold", parse_math=False)
    panel.text(0, 1.03, unit, transform=panel.transAxes, fontsize=9, color=PALE_INK, parse_math=False)


def _scale(panel: Axes, least_span: float | None) -> None:
    """From zero, so that lengths compare; quality, whose zero says nothing, over at least so much."""
    low, high = panel.get_ylim()
    missing = max((least_span or 0.0) - (high - low), 0.0)
    if least_span is None:
        panel.set_ylim(-0.03 * 1.05 * high, 1.05 * high)  # a line at zero stays visible
    else:
        panel.set_ylim(low - missing / 2, high + missing / 2)


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
def _style() -> Iterator[None]:
    from matplotlib import style

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
    with style.context(settings, after_reset=True):
        yield


def _rendered(figure: Figure, kind: str) -> bytes:
    """The picture's bytes, without the day it was made or the version that made it."""
    picture = BytesIO()
    dated = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    figure.savefig(picture, format=kind, dpi=DOTS_PER_INCH, metadata=dated)
    return picture.getvalue()
