"""Latency of target units against the source: AL and LAAL.

Every function takes delays as plain numbers. Source times (or counts of source words) make the figure
computation-unaware, instants on the wall clock make it computation-aware: the formulas are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum

from livetrans.sequences import common_prefix_length


def stable_delays(times: Sequence[float], outputs: Sequence[Sequence[Hashable]]) -> list[float]:
    """Delay of every unit of the last output: the time of the first update from which on it was never taken back.

    A unit is taken back when it, or one before it, changes: what equation (3) erases, so that delays never fall along
    the output, as AL and LAAL need. `outputs[i]` is the whole output of the update at `times[i]`.

    Raises:
        ValueError: not one time an output.
    """
    delays: list[float] = []
    previous: Sequence[Hashable] = ()
    for time, output in zip(times, outputs, strict=True):
        kept = common_prefix_length(previous, output)
        delays[kept:] = [time] * (len(output) - kept)
        previous = output
    return delays


def unit_lags(delays: Sequence[float], source_length: float, target_length: int) -> list[float]:
    """How far each target unit is behind an ideal translator: d(i) - (i - 1) |X| / |Y|, in the delays' own unit.

    The ideal one writes the target at an even pace from the source's first moment to its last.
    """
    pace = source_length / target_length
    return [delay - index * pace for index, delay in enumerate(delays)]


def average_lagging(delays: Sequence[float], source_length: float, reference_length: int) -> float:
    """AL = 1/tau * sum of d(i) - (i - 1) |X| / |Y*| for i up to tau, the first unit whose delay reaches |X|.

    Ma et al. 2019 (STACL, arXiv 1810.08398), equations 8 and 9, with the reference's length for |Y*|, as SimulEval
    computes it. Without such a unit tau is the last one; an output that starts after the source ended has its first
    delay for AL. Delays and `source_length` share one unit; a corpus's AL is the mean over its sentences.

    Raises:
        ValueError: an output without units, a source or a reference without length.
    """
    return _mean_lag(delays, source_length, reference_length)


def length_adaptive_average_lagging(delays: Sequence[float], source_length: float, reference_length: int) -> float:
    """LAAL: AL against the longer of output and reference, so that writing too much is not rewarded.

    Papi et al. 2022 (Over-Generation Cannot Be Rewarded, arXiv 2206.05807): |Y*| becomes max(|Y|, |Y*|); everything
    else is as in `average_lagging`.

    Raises:
        ValueError: an output without units, a source without length.
    """
    return _mean_lag(delays, source_length, max(len(delays), reference_length))


def _mean_lag(delays: Sequence[float], source_length: float, target_length: int) -> float:
    if not delays or source_length <= 0 or target_length <= 0:
        raise ValueError("lagging needs an output, a source and a reference that are not empty")
    reached = next((index for index, delay in enumerate(delays) if delay >= source_length), len(delays) - 1)
    return fsum(unit_lags(delays, source_length, target_length)[: reached + 1]) / (reached + 1)
