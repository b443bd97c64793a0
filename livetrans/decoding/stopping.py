"""Early stop: a partial is decoded only as far as its tokens would be shown.

Our own. A growing caption hides what the source does not support yet. To decode that text costs passes, and most of it
is written again at the next update. So decoding stops before a token that is not due yet, or of which the model is not
sure. Due is what the source read so far is expected to give: its length times the output tokens for a source token in
the finals of the run. The token before which decoding stops has been chosen already: it is kept as a draft token, and
hidden. Finals and updates that end a sentence are decoded whole. Measurements: docs/decoders.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from livetrans.events import DecodingStats
from livetrans.lm.prompts import Prompt
from livetrans.lm.rows import Rows

LEARNED_TOKENS = 30
"""Source tokens of finals from which a length is expected, and nothing is stopped before: two to eight sentences."""
REMEMBERED_TOKENS = 1000
"""Source tokens that the ratio goes back, so that it follows a change of speaker or subject."""
RAMP_TOKENS = 4
"""Length of the stretch in which the probability that a token needs grows from 0 to 1."""


class LengthRatio:
    """Output tokens for each source token, learnt from the finals of a run."""

    def __init__(self) -> None:
        self._source_tokens = self._output_tokens = 0.0

    def learn(self, prompt: Prompt, final: DecodingStats) -> None:
        """Take the lengths of a final that was decoded with this prompt; a loop says nothing, nor does an empty one."""
        if final.truncated or not final.prompt_tokens:
            return
        self._source_tokens += final.prompt_tokens - len(prompt.before) - len(prompt.after)
        self._output_tokens += final.output_tokens
        faded = min(1.0, REMEMBERED_TOKENS / self._source_tokens)
        self._source_tokens *= faded
        self._output_tokens *= faded

    @property
    def value(self) -> float | None:
        """None until the finals so far have `LEARNED_TOKENS`."""
        return self._output_tokens / self._source_tokens if self._source_tokens >= LEARNED_TOKENS else None


@dataclass(frozen=True, slots=True)
class Stop:
    """Decides before which token the decoding of one partial stops.

    A token of which `due` tokens are still expected, itself included, needs the probability (k + 2 - due) / 4: none
    where at least k + 2 are, and where no more than k - 2 are it is not written at all.
    """

    expected_tokens: float
    shown_tokens: int
    """Leading tokens of the output that the caption shows already: decoding never stops before them."""
    k: int
    """Number of expected tokens that the caption leaves out."""

    def is_before(self, rows: Rows, row: int, written_tokens: int) -> bool:
        """Return whether to stop before the most likely token of a row."""
        if written_tokens < self.shown_tokens:
            return False
        needed = (self.k + 2 - (self.expected_tokens - written_tokens)) / RAMP_TOKENS
        if needed <= 0.0 or needed >= 1.0:
            return needed >= 1.0
        return rows.confidence(row) < needed
