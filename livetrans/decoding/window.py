"""The live window: only the end of the draft is evaluated again, and a final is rewritten only where it is worth it.

Our own, on top of *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2). SSBD evaluates the
whole draft again at every update, because the source before it grew. Here the last `window` tokens of the draft are
verified; those before them are *frozen*: kept as text, their cells moved by the number of positions by which the source
grew. Frozen cells are stale, since they saw the shorter source: an approximation, measured in docs/decoders.md.
"""

from __future__ import annotations

from livetrans.config import DecodingSettings
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.sequences import common_prefix_length

REWRITTEN_TOKENS = 16
"""A source that changed by more than its last so many tokens was rewritten: nothing is frozen then."""


def live_window(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Keep the draft but for its last `settings.window` tokens, verify those, decode the rest.

    With a window as long as the draft this is SSBD, token for token. So it is where the recogniser rewrote the source
    further back than its tail, and where the model cannot move its cells.
    """
    frozen = _freeze(decoding, draft, settings.window)
    decoding.verify(draft.tokens[frozen:], settings.bias)
    return decoding.finish()


def final_by_worth(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """The shown caption, gone on to its end, unless the model itself finds another one better by enough.

    The other candidate is what the model writes greedily from its first disagreement with the shown one, within the
    last `settings.final_window` tokens of the draft. It wins if its log-probability, end of generation included, is
    higher by more than `settings.final_margin` nats for each shown token that it takes back; it is given up as soon as
    it cannot win, since a log-probability only falls. `decoding` has to be scored.
    """
    frozen = _freeze(decoding, draft, max(settings.window, settings.final_window))
    if _is_rewritten(decoding, draft):
        # What was split off begins where the model would end now.
        accepted = decoding.verify(draft.tokens, settings.bias, to_end=_is_shortened(decoding, draft))
    else:
        forced = max(len(draft.tokens) - settings.window - frozen, 0)
        accepted = frozen + decoding.verify(draft.tokens[frozen:], settings.bias, forced_tokens=forced)
    shown = decoding.finish()
    scores = decoding.scores or []
    at = next((at for at, score in enumerate(scores) if score.token != score.choice), None)
    if at is None:
        return shown
    erased = max(min(accepted, len(draft.tokens) - draft.hidden_tokens) - frozen - at, 0)
    worth = sum(score.log_probability for score in scores[at:]) + settings.final_margin * erased
    decoding.turn(at)
    while _log_probability_from(decoding, at) > worth and decoding.step():
        pass
    if decoding.is_over or _log_probability_from(decoding, at) <= worth:
        decoding.output, decoding.accepted = list(shown.tokens), list(shown.accepted)
    return decoding.decoded()


def _freeze(decoding: Decoding, draft: Draft, window: int) -> int:
    """Freeze the draft but for its last `window` tokens; gives how many are frozen."""
    count = len(draft.tokens) - window
    if _is_rewritten(decoding, draft) or not decoding.freeze(draft, count):
        return 0
    return count


def _is_rewritten(decoding: Decoding, draft: Draft) -> bool:
    """Whether the source changed further back than its last tokens."""
    return len(draft.prompt) - draft.template_tokens - _unchanged_tokens(decoding, draft) > REWRITTEN_TOKENS


def _is_shortened(decoding: Decoding, draft: Draft) -> bool:
    """Whether the source is a beginning of what it was, but for its last tokens: the segment was split."""
    return len(decoding.prompt) - draft.template_tokens - _unchanged_tokens(decoding, draft) <= REWRITTEN_TOKENS


def _unchanged_tokens(decoding: Decoding, draft: Draft) -> int:
    return common_prefix_length(draft.prompt, tuple(decoding.prompt))


def _log_probability_from(decoding: Decoding, at: int) -> float:
    return sum(score.log_probability for score in (decoding.scores or [])[at:])
