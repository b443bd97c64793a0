"""Plots of a benchmark, from rows alone: figures over the bias, lag, calm over speed, quality over latency.

A plot has a white background, so that it reads the same on a light and on a dark page. Curves differ in marker as
well as in colour. The same rows and date give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from livetrans.bench.figures import FIGURES
from livetrans.bench.measures import Row
from livetrans.bench.methods import BASELINE
from livetrans.bench.notes import origin_of, pair_of, tell_apart
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.installation import install_command
from livetrans.metrics.latency import Spread, percentile
from livetrans.metrics.quality import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHEET, INK, PALE_INK = "#ffffff", "#1f2328", "#59636e"
COLOURS = ("#0072b2", "#d55e00", "#000000", "#882255")
"""Blue and vermilion of Okabe and Ito, black, and Tol's wine: apart for every kind of colour blindness."""
MARKERS = ("o", "s", "^", "D")
DASHES = ((0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
"""Of the methods that have no bias, in their order."""
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": PALE_INK,
    "axes.facecolor": SHEET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": SHEET,
    "font.family": "DejaVu Sans",  # matplotlib brings it along, so every machine draws the same
    "grid.color": "#e4e8ec",
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.5,
    "savefig.dpi": 160,
    "svg.hashsalt": "livetrans",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}

Dashes = tuple[float, tuple[float, ...]]
Bounds = tuple[float, float]


class Panel(NamedTuple):
    """What a panel shows of each row."""

    figure: str
    """Its name in `FIGURES`."""
    name: str
    unit: str
    least_span: float | None = None
    """Of a quality axis: less would make noise look like a fall. The other axes begin at zero."""

    def value(self, row: Row) -> float | None:
        value = FIGURES[self.figure].of(row)
        value = value.median if isinstance(value, Spread) else value
        return value if isinstance(value, int | float) else None

    def bounds(self, row: Row) -> Bounds | None:
        """Return the spread over the repeats, or where quality lies by the interval of its difference to `rt`."""
        value = FIGURES[self.figure].of(row)
        if isinstance(value, Spread):
            return value.least, value.most
        difference = FIGURES[f"{self.figure} - rt"].of(row) if self.least_span is not None else None
        base = row.of.run.baseline.score(self.figure)
        return (base + difference.low, base + difference.high) if base and isinstance(difference, Interval) else None


_QUALITY = "of finals; bars: 95 % of the difference to rt"
ERASURE = Panel("NE", "Normalized erasure", "erased / final tokens, mean per utterance")
ACCEPTED = Panel("A/D %", "Draft accepted (A/D)", "% of the draft's tokens")
SPEEDUP = Panel("speedup", "Speedup", "update time of rt / of the method; bars: repeats")
COMET = Panel("COMET", "COMET", _QUALITY, 0.04)
BLEU, CHRF = (Panel(name, name, _QUALITY, 4.0) for name in ("BLEU", "chrF"))
LINEAR = 0.1
"""NE of the screen up to which the axis is linear; a calm method's 0 has no place on a logarithmic one."""
CALM_TICKS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
LEVELS = {"rt (the cross) and its quality": DASHES[0], "1 point less": DASHES[1]}
"""As in the paper."""


def plot(rows: Sequence[Row], folder: Path, *, date: str, force: bool = False) -> list[Path]:
    """Write `bias`, `quality`, `lag`, `calm`, `meanwhile` and `drafts` as PNG and SVG, where rows have their figures.

    Rows of masked methods are left out: a mask moves NE by itself, so it has no place on a line over the bias. One
    line (for lag, one panel) is one run. `date` stands in the title, in the caller's words. Return the paths.

    Raises:
        UsageError: no matplotlib, nothing to plot, or a file that exists without `force` or cannot be written.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(f"plots need matplotlib, which is not installed; run {install_command('bench')}")
    from matplotlib import style

    plain = [row for row in rows if row.mask == "none"]
    with style.context(STYLE, after_reset=True):
        drawn = {
            "bias": _over_bias(plain, date, (ERASURE, ACCEPTED, SPEEDUP), "What the bias does"),
            "quality": _over_bias(plain, date, (COMET, BLEU, CHRF), "What the bias costs"),
            "lag": _lag(plain, date),
            "calm": calm_over_speed(plain, date),
            "meanwhile": calm_over_meanwhile(plain, date),
            "drafts": over_latency(plain, date),
        }
        pictures = {
            folder / f"{name}.{kind}": rendered(figure, kind)
            for name, figure in drawn.items()
            if figure is not None
            for kind in ("png", "svg")
        }
    if not pictures:
        raise UsageError(
            "there is nothing to plot; give a run of a method with two biases or more (`bench run --methods paper`), "
            "with a live window (`--methods calm`), with a draft model, or of a stream that was recorded in real time"
        )
    existing = next((path for path in pictures if path.exists()), None)
    if existing is not None and not force:
        raise UsageError(f"{existing} exists already; choose another folder, or --force to overwrite it")
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
    figure.savefig(
        picture, format=kind, metadata={"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    )
    return picture.getvalue()


def _over_bias(rows: Sequence[Row], date: str, panels: Sequence[Panel], title: str) -> Figure | None:
    """Draw a panel a figure over the bias, methods without one as level lines; None where no two biases have it."""
    curves = curves_of(rows, by_method=True)

    def points(curve: Sequence[Row], panel: Panel) -> list[tuple[float, float, Row]]:
        found = ((row.of.bias, panel.value(row), row) for row in curve)
        known = [(bias, value, row) for bias, value, row in found if bias is not None and value is not None]
        return sorted(known, key=lambda point: point[:2])

    # A single point is no curve.
    measured = [panel for panel in panels if any(len(points(curve, panel)) > 1 for curve in curves.values())]
    if not measured:
        return None
    unbiased = dict.fromkeys(row.of.decoder for row in rows if row.of.bias is None)
    levels = dict(zip(unbiased, cycle(DASHES), strict=False))
    figure, axes = _figure(len(measured), title, rows, date)
    units = {row.of.run.unit for row in rows}
    for place, panel in zip(axes, measured, strict=True):
        in_units = f" ({_named(units, 'units')})" if panel is ERASURE else ""
        _name_panel(place, panel.name, f"{panel.unit}{in_units}")
        place.set_xlabel("bias β")
        for curve, (colour, marker) in zip(curves.values(), _curve_styles(), strict=False):
            known = points(curve, panel)
            if known:
                place.plot(
                    [bias for bias, _, _ in known],
                    [value for _, value, _ in known],
                    color=colour,
                    marker=marker,
                    zorder=3,
                )
            for bias, _, row in known:
                _bar(place, bias, panel.bounds(row), colour)
            for row in curve:
                level = panel.value(row) if row.of.bias is None else None
                if level is not None:
                    place.axhline(level, color=colour, linestyle=levels[row.of.decoder], linewidth=1.4, zorder=2)
        place.set_xlim(-0.03, max(row.of.bias or 0.0 for row in rows) + 0.03)
        low, high = place.get_ylim()
        if panel.least_span is None:
            place.set_ylim(-0.03 * 1.05 * high, 1.05 * high)  # a line at zero stays visible
        else:
            missing = max(panel.least_span - (high - low), 0.0)
            place.set_ylim(low - missing / 2, high + missing / 2)
    _legend(figure, list(curves), levels)
    return figure


def _bar(place: Axes, x: float, bounds: Bounds | None, colour: str) -> None:
    """Draw an interval at a point; none where it is a single value."""
    if bounds and bounds[0] < bounds[1]:
        place.plot([x, x], bounds, color=colour, linewidth=1.0, alpha=0.6, zorder=2)


def _lag(rows: Sequence[Row], date: str) -> Figure | None:
    """Draw a panel a run, a bar a method: from the 5th to the 95th percentile, thick in the middle half, the median."""
    curves = curves_of([row for row in rows if row.of.latencies[0].lags])
    if not curves:
        return None
    tall = 1.0 + 0.34 * max(map(len, curves.values()))
    figure, axes = _figure(len(curves), "How long a word waits for its translation", rows, date, tall=tall)
    for panel, (name, curve) in zip(axes, curves.items(), strict=True):
        _name_panel(panel, name or "Lag", "median, middle 50 %, middle 90 % of updates")
        panel.set_xlabel("seconds since the newest word was heard")
        for place, row in enumerate(curve):
            colour = INK if row.label == BASELINE else COLOURS[0] if row.of.bias is not None else COLOURS[1]
            ordered = sorted(row.of.latencies[0].lags)
            p5, q1, median, q3, p95 = (percentile(ordered, share) or 0.0 for share in (0.05, 0.25, 0.5, 0.75, 0.95))
            panel.plot([p5, p95], [place, place], color=colour, linewidth=2)
            panel.plot([q1, q3], [place, place], color=colour, linewidth=9, solid_capstyle="butt")
            panel.plot([median], [place], "o", color=colour, markerfacecolor=SHEET, markersize=7, zorder=4)
            panel.annotate(f"{median:.2f} s", (p95, place), (6, 0), textcoords="offset points", va="center", fontsize=9)
        panel.set_yticks(range(len(curve)), [row.label for row in curve])
        panel.set_ylim(len(curve) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
        low, high = panel.get_xlim()
        panel.set_xlim(min(low, 0.0), high + 0.15 * (high - low))
    return figure


def calm_over_speed(rows: Sequence[Row], date: str) -> Figure | None:
    """Draw NE of the screen over the speedup, see `_calm_over`."""
    return _calm_over(rows, date, "Calm and fast", SPEEDUP.value, "update time of rt / of the method")


def calm_over_meanwhile(rows: Sequence[Row], date: str) -> Figure | None:
    """Draw NE of the screen over the figure `meanwhile %`, see `_calm_over`; None without references too."""
    if all(row.of.screen.meanwhile.score is None for row in rows):
        return None
    meaning = "right n-grams before the final / mean of shown and due ones"
    return _calm_over(rows, date, "Calm and right", lambda row: row.of.screen.meanwhile.score, meaning)


def _calm_over(
    rows: Sequence[Row], date: str, title: str, x: Callable[[Row], float | None], meaning: str
) -> Figure | None:
    """Draw a panel a run, a point a method: NE of the screen over `x`; None where no live window was run."""
    curves = {
        name: curve for name, curve in curves_of(rows).items() if any(DECODERS[row.of.decoder].final for row in curve)
    }
    if not curves:
        return None
    looks = dict(
        zip(dict.fromkeys(row.label for curve in curves.values() for row in curve), _curve_styles(), strict=False)
    )
    figure, axes = _figure(len(curves), title, rows, date, tall=4.2)
    for panel, (name, curve) in zip(axes, curves.items(), strict=True):
        unit = "words taken back / words"
        _name_panel(panel, name or "NE of the screen", f"NE of the screen: {unit}" if name else unit)
        panel.set_ylabel(f"linear to {LINEAR:g}, logarithmic above", fontsize=9, color=PALE_INK)
        panel.set_xlabel(meaning)
        for row in curve:
            colour, marker = looks[row.label]
            panel.plot(x(row) or 0.0, row.of.screen.erasure or 0.0, marker, color=colour, zorder=3)
        panel.set_yscale("symlog", linthresh=LINEAR)
        panel.set_yticks(CALM_TICKS, [f"{tick:g}" for tick in CALM_TICKS])
        panel.set_ylim(-0.01, 1.3 * max(LINEAR, *(row.of.screen.erasure or 0.0 for row in curve)))
    _legend(figure, list(looks), {}, points=True)
    return figure


def over_latency(rows: Sequence[Row], date: str) -> Figure | None:
    """Draw quality over latency, as Figure 4 of *Speculative Decoding with Big Little Decoder* (arXiv 2302.07863).

    A panel for BLEU and one for chrF, a curve for each run and decoder, a point for each method. The cross is
    re-translation; the lines are its quality and one point less. None where nothing was drafted.
    """
    drafted = [row for row in rows if row.of.drafted]
    measured = [panel for panel in (BLEU, CHRF) if any(panel.value(row) is not None for row in drafted)]
    if not measured:
        return None
    curves = {
        " ".join(part for part in (decoder, run) if part): [row for row in curve if row.of.decoder == decoder]
        for run, curve in curves_of(drafted).items()
        for decoder in dict.fromkeys(row.of.decoder for row in curve)
    }
    figure, axes = _figure(len(measured), "Quality and latency with a draft model", rows, date, tall=3.8)
    for place, panel in zip(axes, measured, strict=True):
        _name_panel(place, panel.name, panel.unit)
        place.set_xlabel("update time of the method / of rt")
        for curve, (colour, marker) in zip(curves.values(), _curve_styles(), strict=False):
            found = ((SPEEDUP.value(row), panel.value(row), panel.bounds(row)) for row in curve)
            points = sorted((1 / speed, value, bounds) for speed, value, bounds in found if speed and value is not None)
            place.plot(
                [x for x, _, _ in points], [y for _, y, _ in points], color=colour, marker=marker, linewidth=1, zorder=3
            )
            for x, _, bounds in points:
                _bar(place, x, bounds, colour)
        for level in dict.fromkeys(panel.value(row) for row in rows if row.label == BASELINE):
            if level is not None:
                place.plot([1.0], [level], "x", color=INK, markersize=9, zorder=4)
                for height, dashes in zip((level, level - 1.0), LEVELS.values(), strict=True):
                    place.axhline(height, color=PALE_INK, linewidth=1.4, linestyle=dashes, zorder=2)
        place.margins(x=0.08)  # markers at the edges stay whole
    _legend(figure, list(curves), LEVELS)
    return figure


def _figure(panels: int, title: str, rows: Sequence[Row], date: str, *, tall: float = 2.9) -> tuple[Figure, list[Axes]]:
    """Return panels side by side, `tall` inches high, under a title and a line that says what the rows are of."""
    from matplotlib.figure import Figure

    runs = [row.of.run.file for row in rows]
    models, pairs = _named((run.model_name for run in runs), "models"), _named(map(pair_of, runs), "language pairs")
    subtitle = " · ".join([models, pairs, _named((run.header.corpus.name for run in runs), "corpora"), date])
    figure = Figure(figsize=(max(6.1, 3.95 * panels), tall + 1.2), layout="constrained")
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    size = min(10.0, 118 * (figure.get_figwidth() - 0.5) / len(subtitle))  # a letter is 0.0085 inches wide a point
    figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=15, fontweight="bold")
    below = 1 - 0.36 / figure.get_figheight()  # in the second line of the title
    figure.text(0.01, below, subtitle, va="top", fontsize=size, color=PALE_INK, parse_math=False)
    return figure, axes


def _named(names: Iterable[str], plural: str) -> str:
    different = list(dict.fromkeys(names))
    return ", ".join(different) if len(different) <= 3 else f"{len(different)} {plural}"


def _name_panel(panel: Axes, name: str, unit: str) -> None:
    panel.set_title(f"{name}\n", loc="left", fontsize=11, fontweight="bold", parse_math=False)
    panel.text(0, 1.03, unit, transform=panel.transAxes, fontsize=9, color=PALE_INK, parse_math=False)


def curves_of(rows: Sequence[Row], *, by_method: bool = False) -> dict[str, list[Row]]:
    """Return rows by run, named by what tells the runs apart: nothing where there is one.

    With `by_method` each biased method has a curve over its biases, named by it too (`window3+worth`); methods without
    a bias are on the first of their run.
    """

    def without_bias(row: Row) -> str:
        return row.label.replace(f"@{row.of.bias:g}", "")

    methods = list(dict.fromkeys(without_bias(row) for row in rows if row.of.bias is not None)) if by_method else []
    origins = [origin_of(row.of.run.file) for row in rows]
    curves: dict[str, list[Row]] = {}
    for origin, name in tell_apart(origins).items():
        for method in methods or [""]:
            curves[" ".join(part for part in (method, name) if part)] = [
                row
                for row, of in zip(rows, origins, strict=True)
                if of == origin
                and (not method or method == (without_bias(row) if row.of.bias is not None else methods[0]))
            ]
    return {name: curve for name, curve in curves.items() if curve}


def _curve_styles() -> Iterator[tuple[str, str]]:
    """Yield a colour and a marker for each curve; only their pair comes round again, and late."""
    for place in count():
        yield COLOURS[place % len(COLOURS)], MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]


def _legend(
    figure: Figure,
    curves: Sequence[str],
    levels: Mapping[str, Dashes],
    *,
    points: bool = False,
) -> None:
    """Name the curves under the panels, and what the dashes mean in whatever colour."""
    from matplotlib.lines import Line2D

    dashes_colour = COLOURS[0] if len(curves) == 1 and levels is not LEVELS else PALE_INK
    handles = [
        Line2D([], [], color=colour, marker=marker, label=curve, linestyle="" if points else "-")
        for curve, (colour, marker) in zip(curves, _curve_styles(), strict=False)
    ] + [
        Line2D([], [], color=dashes_colour, linestyle=dashes, linewidth=1.4, label=level)
        for level, dashes in levels.items()
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=2 if points else 3 if len(curves) == 1 else 1)
