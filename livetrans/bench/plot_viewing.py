"""What a viewer sees, as plots: how long words wait for their translations, and calm over speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from livetrans.bench.methods import BASELINE
from livetrans.bench.plot import COLOURS, INK, SHEET, curve_styles, curves_of, legend, name_panel, sheet, speedup_of
from livetrans.bench.rows import TableRow
from livetrans.decoding import DECODERS
from livetrans.metrics.latency import percentile

if TYPE_CHECKING:
    from livetrans.bench.plot import Figure

CALM_TICKS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)


def lag(rows: Sequence[TableRow], date: str) -> Figure | None:
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


def calm(rows: Sequence[TableRow], date: str) -> Figure | None:
    """A panel a corpus, a point a method: NE of the screen over speedup; None where no live window was run."""
    curves = {name: own for name, own in curves_of(rows).items() if any(DECODERS[row.decoder].final for row in own)}
    if not curves:
        return None
    looks = dict(zip(dict.fromkeys(row.method for own in curves.values() for row in own), curve_styles(), strict=False))
    figure, axes = sheet(len(curves), "Calm and fast", rows, date, tall=3.4, lines=-(-len(looks) // 2))
    for panel, (name, own) in zip(axes, curves.items(), strict=True):
        name_panel(panel, name or "NE of the screen", "NE of the screen: words taken back / words")
        panel.set_xlabel("update time of rt / of the method")
        for row in own:
            colour, marker = looks[row.method]
            panel.plot(speedup_of(row) or 0.0, row.screen.erasure or 0.0, marker, color=colour, zorder=3)
        panel.set_yscale("symlog", linthresh=0.1)
        panel.set_yticks(CALM_TICKS, [f"{tick:g}" for tick in CALM_TICKS])
        panel.set_ylim(-0.01, 1.3 * max(0.1, *(row.screen.erasure or 0.0 for row in own)))
    legend(figure, list(looks), {}, points=True)
    return figure
