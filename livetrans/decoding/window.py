"""The live window: only the end of the draft is evaluated again, and shown tokens change only where it is worth it.

Our own, on top of *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2). SSBD evaluates the
whole draft again at every update, because the source before it grew. Here the last `window` tokens of the draft are
verified; those before them are kept as text and, where that pays, *frozen*: their cells are moved by the number of
positions by which the source grew. Frozen cells are stale, computed with the shorter source: an approximation, measured
in docs/decoders.md.
"""

from __future__ import annotations

from livetrans.config import DecodingSettings
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.sequences import common_prefix_length

REWRITTEN_TOKENS = 16
"""A source that changed further back than this many tokens was rewritten: the whole draft is verified then."""
SPLIT_TOKENS = 4
"""A source that is shorter by more than this many tokens was split."""
MOVED_AT_LEAST = 8
"""Fewer tokens are evaluated again instead of moved. A move costs as much as evaluating 2 tokens (1.4 billion weights)
to 9 (5 million) on a 2-core AMD EPYC; a constant, because what is frozen may not depend on the machine."""


def live_window(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Keep the draft but for its last `settings.window` tokens, decide on those, decode the rest.

    A shown token is taken back only where the model's regret exceeds `settings.margin` nats for each (see
    `livetrans.decoding.verification.accepted_length`). With a window as long as the draft and no margin this is SSBD,
    token for token. Where the recogniser rewrote the source further back than its tail, the window is the whole draft.
    """
    return _decode(decoding, draft, settings, settings.window)


def final_by_worth(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Decide by the same rule with a longer window: nothing comes after a final that could set it right."""
    return _decode(decoding, draft, settings, max(settings.window, settings.final_window))


def _decode(decoding: Decoding, draft: Draft, settings: DecodingSettings, window: int) -> Decoded:
    standing, split = _standing_tokens(decoding, draft)
    kept = max(standing - window, 0)
    frozen = _freeze(decoding, draft, kept)
    decoding.verify(
        draft.tokens[frozen:],
        settings.bias,
        forced_tokens=kept - frozen,
        to_end=split,
        shown_tokens=len(draft.tokens) - draft.hidden_tokens - frozen,
        margin=settings.margin,
    )
    return decoding.finish()


def _standing_tokens(decoding: Decoding, draft: Draft) -> tuple[int, bool]:
    """Return how many draft tokens may stay whatever the model prefers, the window apart; and whether the source split.

    0 where the source was rewritten, or lost its end: that is a split, and what was cut off begins the next segment, or
    was never said.
    """
    unchanged = common_prefix_length(draft.prompt, tuple(decoding.prompt)) + draft.template_tokens
    changed, new = len(draft.prompt) - unchanged, len(decoding.prompt) - unchanged
    split = new <= REWRITTEN_TOKENS and changed - new > SPLIT_TOKENS
    if not draft.prompt or split or changed > REWRITTEN_TOKENS:
        return 0, split
    return min(len(draft.tokens), decoding.maximum_tokens), split


def _freeze(decoding: Decoding, draft: Draft, count: int) -> int:
    """Freeze that many tokens where it pays; returns how many are frozen. The others are evaluated again.

    The draft's last token never is: it may not have been evaluated, where the length cap ended the output.
    """
    count = min(count, len(draft.tokens) - 1)
    return count if count >= MOVED_AT_LEAST and decoding.freeze(draft, count) else 0
