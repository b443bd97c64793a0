"""Plots of a benchmark, from rows alone: figures over the bias, calm over speed, quality over latency.

A plot has a white background, so that it reads the same on a light and on a dark page. Series differ in marker as
well as in colour. The same rows and date give the same bytes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from livetrans.base.errors import UsageError
from livetrans.base.files import require_new_files
from livetrans.base.installation import install_command
from livetrans.bench.measures import MeasuredRun, Row
from livetrans.bench.run import parse_method
from livetrans.bench.tables import FIGURES, names_of, pair_of, unit_name
from livetrans.config import CALM, Settings
from livetrans.metrics.latency import Spread
from livetrans.metrics.quality import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#000000", "#882255")
"""Blue and vermilion of Okabe and Ito, black, and Tol's wine: apart for every kind of colour blindness."""
MARKERS = "os^D"
OURS, OTHERS = "#d55e00", "#5c6670"
"""Where points have their names beside them, the live window stands out."""
NAMED_SETTINGS = tuple(name for name in CALM if name != Settings().calm)
"""The default is `window`."""
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.color": "#e4e8ec",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.hashsalt": "livetrans",
}
LEAST_SPANS = {"COMET": 0.04, "BLEU": 4.0, "chrF": 4.0}
"""Shortest span of the axis of a quality: less would make noise look like a fall. Other axes begin at zero."""
ROW = 3
"""Panels side by side: more are too small to read on a page."""
PANEL_POINTS, LETTER_POINTS = (225, 150), 4.3
"""Width and height of a panel without its axes, and the width of a letter of a name in it, about, in points."""
LINEAR = 0.1
"""NE of the screen up to which its axis is linear; a calm method's 0 has no place on a logarithmic one."""
CALM_TICKS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)

Bounds = tuple[float, float]


class Series(NamedTuple):
    name: str
    points: Sequence[tuple[float, float, Bounds | None]]
    """x, y, and the ends of a thin bar where y has an interval."""
    is_level: bool = False
    """Whether it is a line across the panel at the y of its only point."""


class Panel(NamedTuple):
    title: str
    x: str
    y: str
    """The name of a figure."""
    series: Sequence[Series]


def plot(runs: Sequence[MeasuredRun], folder: Path, *, date: str, force: bool = False) -> list[Path]:
    """Write `bias`, `quality`, `calm`, `meanwhile` and `drafts` as PNG and SVG, where the runs have their figures.

    Rows of masked methods are left out: a mask moves NE by itself, so it has no place on a line over the bias. `date`
    is shown in the title. Return the paths.

    Raises:
        UsageError: no matplotlib, nothing to plot, or a file that exists without `force` or cannot be written.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(f"plots need matplotlib, which is not installed; run {install_command('bench')}")
    from matplotlib import style

    names = names_of(runs)
    plain = ([row for row in run.rows if row.mask == "none"] for run in runs)
    rows = dict(zip(names, plain, strict=True))
    drawn = {
        "bias": ("What the bias does", _over_bias(rows, ("NE", "A/D %", "speedup"))),
        "quality": ("What the bias costs", _over_bias(rows, ("COMET", "BLEU", "chrF"))),
        "calm": ("Calm and fast", _calm_over(rows, "speedup")),
        "meanwhile": ("Calm and right", _calm_over(rows, "meanwhile %")),
        "drafts": ("Quality and latency with a draft model", _over_latency(rows)),
    }
    subtitle = _subtitle(runs, names, date)
    with style.context(STYLE, after_reset=True):
        pictures = {
            folder / f"{name}.{kind}": rendered(figure_of(title, subtitle, panels), kind)
            for name, (title, panels) in drawn.items()
            if panels
            for kind in ("png", "svg")
        }
    if not pictures:
        raise UsageError(
            "there is nothing to plot; give a run of a method with two biases or more (`bench run --methods paper`), "
            "with a live window (`--methods calm`), or with a draft model"
        )
    require_new_files(pictures, "--output", force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, picture in pictures.items():
            path.write_bytes(picture)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror}); choose another folder") from None
    return list(pictures)


def rendered(figure: Figure, kind: str) -> bytes:
    """Return the picture's bytes, without the day it was made or the version that made it."""
    picture = BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    figure.savefig(picture, format=kind, metadata=metadata)
    return picture.getvalue()


def figure_of(title: str, subtitle: str, panels: Sequence[Panel]) -> Figure:
    """Return the panels in rows of at most `ROW`, with the title above and a legend below.

    Where each series is one point, its name stands beside it and there is no legend.
    """
    from matplotlib.figure import Figure

    looks = _looks(series.name for panel in panels for series in panel.series)
    named = all(len(series.points) == 1 and not series.is_level for panel in panels for series in panel.series)
    if named:
        looks = {name: (OURS if name.startswith(("window", *NAMED_SETTINGS)) else OTHERS, "o") for name in looks}
    longest = 8 + max(map(len, looks))  # letters of a legend, 11 of which are an inch
    across, rows = min(len(panels), ROW), -(-len(panels) // ROW)
    width = max(6.1, 4.0 * across, longest / 11)
    columns = int(11 * width / longest)
    height = 0.6 + 3.0 * rows + 0.2 * -(-len(looks) // columns)
    figure = Figure(figsize=(width, height), layout="constrained")
    heading = "\n".join([title, *textwrap.wrap(subtitle, int(12 * width))])
    figure.suptitle(heading, x=0.01, ha="left", fontsize=10, parse_math=False)
    known = {}
    places = figure.subplots(rows, across, squeeze=False).flat
    for panel, axes in zip(panels, places, strict=False):
        for series in panel.series:
            colour, marker = looks[series.name]
            if series.is_level:
                known[series.name] = axes.axhline(series.points[0][1], color=colour, linestyle="--", linewidth=1.2)
                continue
            xs, ys, bounds = zip(*sorted(series.points, key=lambda point: point[:2]), strict=True)
            [known[series.name]] = axes.plot(xs, ys, color=colour, marker=marker)
            for x, ends in zip(xs, bounds, strict=True):
                if ends:
                    axes.vlines(x, *ends, color=colour, linewidth=1.0, alpha=0.6)
        axes.set_title(panel.title, loc="left", fontsize=10, parse_math=False)
        axes.set_xlabel(panel.x)
        axes.set_ylabel(f"{panel.y} (linear to {LINEAR:g})" if panel.y == "NE screen" else panel.y)
        low, high = axes.get_ylim()
        if panel.y == "NE screen":
            axes.set_yscale("symlog", linthresh=LINEAR)
            axes.set_yticks(CALM_TICKS, [f"{tick:g}" for tick in CALM_TICKS])
            axes.set_ylim(-0.01, max(2 * LINEAR, 1.3 * high))
        elif panel.y in LEAST_SPANS:
            missing = max(LEAST_SPANS[panel.y] - (high - low), 0.0)
            axes.set_ylim(low - missing / 2, high + missing / 2)
        else:
            axes.set_ylim(-0.03 * high, 1.03 * high)  # lines at the edges stay visible
        if named:
            _name_points(axes, [(one.name, one.points[0][:2], looks[one.name][0]) for one in panel.series])
    for axes in places:  # what is left of the last row
        axes.remove()
    if not named:
        figure.legend(known.values(), known, loc="outside lower left", ncols=columns)
    return figure


def _name_points(axes: Axes, points: Sequence[tuple[str, tuple[float, float], str]]) -> None:
    """Write each point's name beside it, at the nearest place within the panel where it covers nothing."""
    (width, height), gap = PANEL_POINTS, 5
    to_panel = axes.transData + axes.transAxes.inverted()
    spots = [to_panel.transform(at) * (width, height) for _, at, _ in points]
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in spots]
    places = sorted(product(range(60, -61, -4), (1, -1)), key=lambda place: (abs(place[0]), -place[1]))
    for (name, at, colour), (x, y) in sorted(zip(points, spots, strict=True), key=lambda one: -len(one[0][0])):
        length = LETTER_POINTS * len(name)
        for up, side in places:
            left = x + gap if side > 0 else x - gap - length
            box = (left, y + up - 4, left + length, y + up + 4)
            is_inside = left >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height + 6
            if is_inside and not any(_overlap(box, other) for other in taken):
                break
        taken.append(box)
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.5} if abs(up) > 4 else None
        axes.annotate(
            name, at, (gap * side, up), textcoords="offset points", arrowprops=line, color=colour, fontsize=7,
            horizontalalignment="left" if side > 0 else "right", verticalalignment="center",
        ).set_in_layout(False)  # fmt: skip


def _overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two boxes (left, bottom, right, top) share room."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a marker for each series; only their pair comes round again, and late."""
    return {
        name: (COLOURS[place % len(COLOURS)], MARKERS[(place + place // len(COLOURS)) % len(MARKERS)])
        for place, name in enumerate(dict.fromkeys(names))
    }


def _over_bias(rows: Mapping[str, Sequence[Row]], figures: Sequence[str]) -> list[Panel]:
    """Return a panel for each figure of two biases of a method or more; methods without a bias are levels."""
    panels = []
    for figure in figures:
        curves: dict[str, list[tuple[float, float, Bounds | None]]] = {}
        levels = []
        for name, row, value in _valued(rows, figure):
            if row.method.bias is None:
                levels.append(Series(f"{row.label} {name}".strip(), [(0.0, value, None)], is_level=True))
            else:
                method = row.label.replace(f"@{row.method.bias:g}", "")
                curves.setdefault(f"{method} {name}".strip(), []).append((row.method.bias, value, _bounds(row, figure)))
        if any(len(points) > 1 for points in curves.values()):
            units = {unit_name(row.method.run.unit) for run in rows.values() for row in run}
            title = f"in {', '.join(sorted(units))}" if figure == "NE" else _meaning(figure)
            panels.append(Panel(title, "bias β", figure, [*(Series(*curve) for curve in curves.items()), *levels]))
    return panels


def _calm_over(rows: Mapping[str, Sequence[Row]], x: str) -> list[Panel]:
    """Return a panel for each run with a live window: NE of the screen over a figure, a point a method."""
    panels = []
    for name, run in rows.items():
        if any(row.method.decoder.final for row in run):
            points = [(_short(row), _value(row, x), _value(row, "NE screen")) for row in run]
            series = [Series(label, [(at, y, None)]) for label, at, y in points if at is not None and y is not None]
            panels += [Panel(name, f"{x}: {_meaning(x)}", "NE screen", series)] if series else []
    return panels


def _short(row: Row) -> str:
    """Return the name of the calm setting that a method is, but for the default's; else the method as it is written."""
    decoding = parse_method(row.label).decoding
    return next((name for name in NAMED_SETTINGS if CALM[name].decoding == decoding), row.label)


def _over_latency(rows: Mapping[str, Sequence[Row]]) -> list[Panel]:
    """Return quality over latency, as Figure 4 of *Speculative Decoding with Big Little Decoder* (arXiv 2302.07863).

    A panel for BLEU and one for chrF, a curve for each decoder with a draft model, a point for each method. The lines
    are the quality of re-translation and one point less.
    """
    panels = []
    for figure in ("BLEU", "chrF"):
        curves: dict[str, list[tuple[float, float, Bounds | None]]] = {}
        levels = []
        for name, row, value in _valued(rows, figure):
            speedup = _value(row, "speedup")
            if row.method.has_proposals and speedup:
                points = curves.setdefault(f"{row.method.decoder.name} {name}".strip(), [])
                points.append((1 / speedup, value, _bounds(row, figure)))
            elif row.method is row.method.run.baseline:
                levels.append(Series(f"rt {name}".strip(), [(1.0, value, None)]))
                levels += [
                    Series(f"{text} {name}".strip(), [(1.0, height, None)], is_level=True)
                    for text, height in (("quality of rt", value), ("1 point less", value - 1.0))
                ]
        if curves:
            series = [*(Series(*curve) for curve in curves.items()), *levels]
            panels.append(Panel(_meaning(figure), "update time of the method / of rt", figure, series))
    return panels


def _valued(rows: Mapping[str, Sequence[Row]], figure: str) -> Iterator[tuple[str, Row, float]]:
    for name, run in rows.items():
        for row in run:
            value = _value(row, figure)
            if value is not None:
                yield name, row, value


def _value(row: Row, figure: str) -> float | None:
    value = FIGURES[figure].compute(row)
    value = value.median if isinstance(value, Spread) else value
    return value if isinstance(value, int | float) else None


def _bounds(row: Row, figure: str) -> Bounds | None:
    """Return the spread over the repeats, or where quality lies by the interval of its difference to `rt`."""
    value = FIGURES[figure].compute(row)
    if isinstance(value, Spread):
        return (value.least, value.most) if value.least < value.most else None
    difference = FIGURES[f"{figure} - rt"].compute(row) if figure in LEAST_SPANS else None
    base = row.method.run.baseline.score(figure) if isinstance(difference, Interval) else None
    return (base + difference.low, base + difference.high) if base and isinstance(difference, Interval) else None


def _meaning(figure: str) -> str:
    return FIGURES[figure].meaning.partition(" (")[0]


def _subtitle(runs: Sequence[MeasuredRun], names: Sequence[str], date: str) -> str:
    """Return a line with models, pairs, corpora and date, and the names of quick runs."""
    files = [run.file for run in runs]
    parts = [(file.header.model.file.removesuffix(".gguf"), pair_of(file), file.header.corpus.name) for file in files]
    texts = [", ".join(dict.fromkeys(part)) for part in zip(*parts, strict=True)]
    quick = [name for name, file in zip(names, files, strict=True) if file.header.quick]
    which = f": {', '.join(quick)}" if len(quick) < len(files) else ""
    return " · ".join([*texts, date, *([f"quick{which}"] if quick else [])])
