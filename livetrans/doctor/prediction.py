"""Lag and load of a pair of models on a machine, predicted from the costs of a pass and of an update.

Passes fall on the step, or follow each other where one takes longer than the step (`livetrans.speech.transcriber`).
Each gives an update. The translator takes the newest that waits; coalescing drops the others. Lag counts from the end
of a word (`livetrans.metrics.latency.caption_lag`).
"""

from __future__ import annotations

from dataclasses import dataclass

from livetrans.config import GateSettings, TranscriberSettings

NEWEST_WORD_AGE = 0.23
"""Seconds from the end of the newest word to the end of the sound in which it was recognised: 0.20, the median of 465
passes over the seven recordings (embedded recogniser, step 0.8 s, 2026-11-21), and half a chunk of sound."""
PAUSE_BEGINS = 0.26
"""Seconds from the end of a segment's last word to where the gate's silence begins, in the same recordings."""
STRETCH = 4.4
"""Seconds from one pause to the next in the same recordings: 518 s, 118 pauses. A stretch of speech has a pass after
its first step and one at its end, however long passes take."""
SPEECH = 2.95
"""Seconds of a stretch from its first word to the end of its last: the mean of finals' buffers, less what the gate adds
at both ends. The rest of a stretch is silence."""
ROOM = 0.8
"""Load up to which a stage keeps up: costs vary, and other programs take their share."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a stage in seconds: of a partial, as a mean, and of a final."""

    partial: float
    final: float

    def slowed(self, factor: float) -> Costs:
        return Costs(self.partial * factor, self.final * factor)


@dataclass(frozen=True, slots=True)
class Load:
    """How busy the two stages of a live run are while somebody speaks, and how far its captions are behind."""

    recogniser: float
    """Time of a pass over the step: above 1, passes come less often than every step."""
    translator: float
    """Time of an update over the time between two: above 1, partials are dropped."""
    lag: float
    """Seconds from the end of a word to the growing caption that translates it: about the median."""
    final_lag: float
    """Seconds from the end of a segment's last word to its final caption, after a pause."""
    falls_behind: bool = False
    """Whether even the fewest passes, or the finals alone, take longer than the speech: both lags then only grow."""

    @property
    def keeps_up(self) -> bool:
        return max(self.recogniser, self.translator) <= ROOM

    @property
    def advice(self) -> str | None:
        """What to do about the busier stage, without a capital at its beginning; None if both keep up."""
        if self.keeps_up:
            return None
        if self.recogniser >= self.translator:
            return (
                f"the recogniser takes {self.recogniser:.1f} times its step: choose a smaller one with --asr, give it "
                "--window partials, or a longer --step"
            )
        return (
            f"the translator takes {self.translator:.1f} times as long as there is between two updates: choose a "
            "smaller one with --mt, or give a longer --step"
        )


def predict_load(
    passes: Costs,
    updates: Costs,
    transcriber: TranscriberSettings,
    gate: GateSettings,
    contention: float = 1.0,
) -> Load:
    """Predict the load of a live run with these settings.

    `passes` and `updates` are costs of a stage that runs alone. `contention`, at least 1, is how many times slower a
    stage runs while the other one does too: the threads of both over the cores, where there are fewer cores.
    """
    step = transcriber.step
    share = min(passes.partial / step, 1.0)
    between = max(step, passes.partial)
    passes = passes.slowed(1 + (contention - 1) * min(updates.partial / between, 1.0))
    updates = updates.slowed(1 + (contention - 1) * share)
    between = max(step, passes.partial)
    # A translator that is always busy finds the newest update waiting since any moment between two.
    waiting = 0.0 if updates.partial <= between else between / 2
    # A final's pass may last into the next stretch, whose first partial then waits, as a share of all its partials.
    late = max(PAUSE_BEGINS + gate.pause + passes.final - (STRETCH - SPEECH + step), 0.0)
    late /= max((SPEECH - late) / between, 1.0)
    # From here on: seconds after the end of the last word. The gate passes a little silence on, and the last partial's
    # pass begins at any moment within a step before that.
    pass_ends = gate.hang_over - step / 2 + late + passes.partial
    text_is_final = max(PAUSE_BEGINS + gate.pause, pass_ends) + passes.final
    update_ends = pass_ends + waiting + updates.partial
    return Load(
        recogniser=passes.partial / step,
        translator=updates.partial / between,
        lag=NEWEST_WORD_AGE + late + passes.partial + waiting + updates.partial,
        final_lag=max(text_is_final, update_ends) + updates.final,
        falls_behind=max(passes.partial + passes.final, updates.final) > STRETCH,
    )
