"""Quality over latency of methods with a draft model: Figure 4 of *Speculative Decoding with Big Little Decoder* (arXiv
2302.07863).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from livetrans.bench.methods import BASELINE
from livetrans.bench.plot import DASHES, INK, PALE_INK, curve_styles, curves_of, legend, name_panel, sheet, speedup_of
from livetrans.bench.rows import TableRow

if TYPE_CHECKING:
    from livetrans.bench.plot import Figure

DEGRADATION = 1.0
"""Points below re-translation at which the second level line is, as in the paper."""
LEVELS = {"rt (the cross) and its quality": DASHES[0], f"{DEGRADATION:g} point less": DASHES[1]}


def over_latency(rows: Sequence[TableRow], date: str) -> Figure | None:
    """A panel for BLEU and one for chrF, a curve for each run and decoder, a point for each method.

    The cross is re-translation; the lines are its quality and one point less. None where nothing was drafted.
    """
    runs = curves_of([row for row in rows if row.drafting or row.method == BASELINE])
    measures = [
        (name, measure)
        for name, measure in (("BLEU", _bleu), ("chrF", _chrf))
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
    for panel, (name, measure) in zip(axes, measures, strict=True):
        name_panel(panel, name, "of finals, 0 to 100")
        panel.set_xlabel("update time of the method / of rt")
        for own, (colour, marker) in zip(lines.values(), curve_styles(), strict=False):
            points = sorted((1 / (speedup_of(row) or 1.0), measure(row) or 0.0) for row in own)
            panel.plot(*zip(*points, strict=True), color=colour, marker=marker, linewidth=1, zorder=3)
        level = next((measure(row) for row in rows if row.method == BASELINE), None)
        if level is not None:
            panel.plot([1.0], [level], "x", color=INK, markersize=9, zorder=4)
            for height, dashes in zip((level, level - DEGRADATION), LEVELS.values(), strict=True):
                panel.axhline(height, color=PALE_INK, linewidth=1.4, linestyle=dashes, zorder=2)
        panel.set_xlim(0, 1.05 * panel.get_xlim()[1])  # a marker at the right edge stays whole
    legend(figure, list(lines), LEVELS, levels_colour=PALE_INK)
    return figure


def _bleu(row: TableRow) -> float | None:
    return row.quality.bleu


def _chrf(row: TableRow) -> float | None:
    return row.quality.chrf
