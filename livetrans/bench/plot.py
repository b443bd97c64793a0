"""Plots of a benchmark, from table rows alone: figures over the bias, lag, calm over speed, quality over latency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from livetrans.bench.figures import times
from livetrans.bench.methods import BASELINE
from livetrans.bench.rows import TableRow
from livetrans.bench.sheet import (
    COLOURS,
    DASHES,
    INK,
    PALE_INK,
    SHEET,
    curve_styles,
    curves_of,
    legend,
    name_panel,
    named,
    rendered,
    sheet,
    style,
)
from livetrans.decoding import DECODERS
from livetrans.errors import UsageError
from livetrans.installation import install_command
from livetrans.metrics.latency import percentile

if TYPE_CHECKING:
    from livetrans.bench.sheet import Axes, Figure

Value = Callable[[TableRow], float | None]
Panel = tuple[str, str, Value]
"""Name, unit and figure."""


def speedup_of(row: TableRow) -> float | None:
    return row.speed.speedup.median if row.speed.speedup else None


ERASURE: Panel = ("Normalized erasure", "erased / final tokens, mean per utterance", lambda row: row.ne_mean)
ACCEPTED: Panel = ("Draft accepted (A/D)", "% of the draft's tokens", lambda row: times(100, row.accepted_per_draft))
SPEEDUP: Panel = ("Speedup", "update time of rt / of the method", speedup_of)
COMET: Panel = ("COMET", "of finals", lambda row: row.quality.comet)
BLEU: Panel = ("BLEU", "of finals, 0 to 100", lambda row: row.quality.bleu)
CHRF: Panel = ("chrF", "of finals, 0 to 100", lambda row: row.quality.chrf)
LEAST_SPAN = {"COMET": 0.04, "BLEU": 4.0, "chrF": 4.0}
"""Of a quality axis: less would make noise look like a fall."""
LINEAR = 0.1
"""NE of the screen up to which the axis is linear; a calm method's 0 has no place on a logarithmic one."""
CALM_TICKS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
DEGRADATION = 1.0
"""Points below re-translation at which the second level line is, as in the paper."""
LEVELS = {"rt (the cross) and its quality": DASHES[0], f"{DEGRADATION:g} point less": DASHES[1]}


def plot(rows: Sequence[TableRow], folder: Path, *, date: str, force: bool = False) -> list[Path]:
    """Write `bias`, `quality`, `lag`, `calm` and `drafts`, PNG and SVG, as far as the rows have their figures.

    Gives the paths.

    Rows of masked methods are left out: a mask moves NE by itself, so it has no place on a line over the bias. One
    line (for lag, one panel) is one run. `date` stands in the title, in the caller's words.

    Raises:
        UsageError: no matplotlib, nothing to plot, or a file that exists without `force` or cannot be written.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(f"plots need matplotlib, which is not installed; run {install_command('bench')}")
    plain = [row for row in rows if row.mask == "none"]
    with style():
        drawn = {
            "bias": _over_bias(plain, date, (ERASURE, ACCEPTED, SPEEDUP), "What the bias does"),
            "quality": _over_bias(plain, date, (COMET, BLEU, CHRF), "What the bias costs"),
            "lag": _lag(plain, date),
            "calm": calm_over_speed(plain, date),
            "drafts": over_latency(plain, date),
        }
        files = {
            folder / f"{name}.{kind}": rendered(figure, kind)
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


def _over_bias(rows: Sequence[TableRow], date: str, panels: Sequence[Panel], title: str) -> Figure | None:
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
        name_panel(panel, name, f"{unit} ({named(rows, 'ne_unit', 'units')})" if name == ERASURE[0] else unit)
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


def _points(rows: Sequence[TableRow], value: Value) -> list[tuple[float, float]]:
    """(bias, figure) of the rows that have both, from the least bias to the greatest."""
    found = ((row.bias, value(row)) for row in rows)
    return sorted((bias, figure) for bias, figure in found if bias is not None and figure is not None)


def _scale(panel: Axes, least_span: float | None) -> None:
    """From zero, so that lengths compare; quality, whose zero says nothing, over at least so much."""
    low, high = panel.get_ylim()
    missing = max((least_span or 0.0) - (high - low), 0.0)
    if least_span is None:
        panel.set_ylim(-0.03 * 1.05 * high, 1.05 * high)  # a line at zero stays visible
    else:
        panel.set_ylim(low - missing / 2, high + missing / 2)


def _lag(rows: Sequence[TableRow], date: str) -> Figure | None:
    """A panel a corpus, a bar a method: from the 5th to the 95th percentile, thick in the middle half, the median."""
    curves = curves_of([row for row in rows if row.latencies[0].lags])
    if not curves:
        return None
    tall = 0.4 + 0.34 * max(map(len, curves.values()))
    figure, axes = sheet(len(curves), "How long a word waits for its translation", rows, date, tall=tall, left=1.3)
    for panel, (name, own) in zip(axes, curves.items(), strict=True):
        name_panel(panel, name or "Lag", "median, middle 50 %, middle 90 % of updates")
        panel.set_xlabel("seconds since the newest word was heard")
        for place, row in enumerate(own):
            colour = INK if row.method == BASELINE else COLOURS[0] if row.bias is not None else COLOURS[1]
            ordered = sorted(row.latencies[0].lags)
            p5, q1, median, q3, p95 = (percentile(ordered, share) or 0.0 for share in (0.05, 0.25, 0.5, 0.75, 0.95))
            panel.plot([p5, p95], [place, place], color=colour, linewidth=2)
            panel.plot([q1, q3], [place, place], color=colour, linewidth=9, solid_capstyle="butt")
            panel.plot([median], [place], "o", color=colour, markerfacecolor=SHEET, markersize=7, zorder=4)
            panel.annotate(f"{median:.2f} s", (p95, place), (6, 0), textcoords="offset points", va="center", fontsize=9)
        panel.set_yticks(range(len(own)), [row.method for row in own])
        panel.set_ylim(len(own) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
        low, high = panel.get_xlim()
        panel.set_xlim(min(low, 0.0), high + 0.15 * (high - low))
    return figure


def calm_over_speed(rows: Sequence[TableRow], date: str) -> Figure | None:
    """A panel a corpus, a point a method: NE of the screen over speedup; None where no live window was run."""
    curves = {name: own for name, own in curves_of(rows).items() if any(DECODERS[row.decoder].final for row in own)}
    if not curves:
        return None
    looks = dict(zip(dict.fromkeys(row.method for own in curves.values() for row in own), curve_styles(), strict=False))
    figure, axes = sheet(len(curves), "Calm and fast", rows, date, tall=3.4, lines=-(-len(looks) // 2))
    for panel, (name, own) in zip(axes, curves.items(), strict=True):
        unit = "words taken back / words"
        name_panel(panel, name or "NE of the screen", f"NE of the screen: {unit}" if name else unit)
        panel.set_ylabel(f"linear to {LINEAR:g}, logarithmic above", fontsize=9, color=PALE_INK)
        panel.set_xlabel("update time of rt / of the method")
        for row in own:
            colour, marker = looks[row.method]
            panel.plot(speedup_of(row) or 0.0, row.screen.erasure or 0.0, marker, color=colour, zorder=3)
        panel.set_yscale("symlog", linthresh=LINEAR)
        panel.set_yticks(CALM_TICKS, [f"{tick:g}" for tick in CALM_TICKS])
        panel.set_ylim(-0.01, 1.3 * max(LINEAR, *(row.screen.erasure or 0.0 for row in own)))
    legend(figure, list(looks), {}, points=True)
    return figure


def over_latency(rows: Sequence[TableRow], date: str) -> Figure | None:
    """Quality over latency, as Figure 4 of *Speculative Decoding with Big Little Decoder* (arXiv 2302.07863).

    A panel for BLEU and one for chrF, a curve for each run and decoder, a point for each method. The cross is
    re-translation; the lines are its quality and one point less. None where nothing was drafted.
    """
    runs = curves_of([row for row in rows if row.drafting or row.method == BASELINE])
    measures = [
        (name, unit, measure)
        for name, unit, measure in (BLEU, CHRF)
        if any(measure(row) is not None for row in rows if row.drafting)
    ]
    if not measures:
        return None
    lines = {
        " ".join(part for part in (decoder, run) if part): [
            row for row in own if row.drafting and row.decoder == decoder
        ]
        for run, own in runs.items()
        for decoder in dict.fromkeys(row.decoder for row in own if row.drafting)
    }
    figure, axes = sheet(
        len(measures), "Quality and latency with a draft model", rows, date, tall=3.2, lines=len(lines) + len(LEVELS)
    )
    for panel, (name, unit, measure) in zip(axes, measures, strict=True):
        name_panel(panel, name, unit)
        panel.set_xlabel("update time of the method / of rt")
        for own, (colour, marker) in zip(lines.values(), curve_styles(), strict=False):
            measured = ((speedup_of(row), measure(row)) for row in own)
            points = sorted((1 / speedup, height) for speedup, height in measured if speedup and height is not None)
            panel.plot(*zip(*points, strict=True) or ((), ()), color=colour, marker=marker, linewidth=1, zorder=3)
        for level in dict.fromkeys(measure(row) for row in rows if row.method == BASELINE):
            if level is not None:
                panel.plot([1.0], [level], "x", color=INK, markersize=9, zorder=4)
                for height, dashes in zip((level, level - DEGRADATION), LEVELS.values(), strict=True):
                    panel.axhline(height, color=PALE_INK, linewidth=1.4, linestyle=dashes, zorder=2)
        panel.margins(x=0.08)  # markers at the edges stay whole
    legend(figure, list(lines), LEVELS, levels_colour=PALE_INK)
    return figure
