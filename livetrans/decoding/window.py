"""The live window: only the end of the draft is evaluated again, and shown tokens change only if that is worth it.

Our own, on top of *Self-Speculative Biased Decoding for Faster Re-translation* (arXiv 2509.21740v2). SSBD evaluates the
whole draft again at every update, because the source before it grew. Here the last `window` tokens of the draft are
verified; those before them are kept as text and, if that pays, *frozen*: their cells are moved by the number of
positions by which the source grew. Frozen cells are stale, computed with the shorter source: an approximation, measured
in docs/decoders.md.
"""

from __future__ import annotations

from collections.abc import Callable

from livetrans.base.sequences import common_prefix_length
from livetrans.base.text import has_unspaced_script
from livetrans.config import DecodingSettings
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.lm.port import unit_tokens
from livetrans.lm.prompts import TextOf, text_of_tokens
from livetrans.metrics.captions import screen_units

REWRITTEN_TOKENS = 16
"""A source that changed further back than this many tokens was rewritten: the whole draft is verified then."""
LOST_TOKENS = 4
"""A source that is shorter by more than this many tokens lost its end."""
WORDS_A_CHARACTER = 0.6
"""Weight of one character in scripts without spaces: 5 characters carry about as much as 3 words."""
MOVED_AT_LEAST = 8
"""Fewer tokens are evaluated again instead of moved. A move costs as much as evaluating 2 tokens (1.4 billion weights)
to 9 (5 million) on a 2-core AMD EPYC; a constant, because what is frozen may not depend on the machine."""


def live_window(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Keep the draft but for its last `settings.window` tokens, decide on those, decode the rest.

    Shown words are retracted only if the model's regret reaches `settings.margin` nats for each (see
    `livetrans.decoding.verification.accepted_length`). With a window as long as the draft and no margin this is SSBD,
    token for token. If the recogniser rewrote the source further back than its tail, the window is the whole draft.
    """
    return _decode(decoding, draft, settings, settings.window)


def careful_final(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Decide by the same rule with a longer window: nothing comes after a final that could set it right."""
    return _decode(decoding, draft, settings, max(settings.window, settings.final_window))


def _decode(decoding: Decoding, draft: Draft, settings: DecodingSettings, window: int) -> Decoded:
    keepable, lost_end = keepable_tokens(decoding, draft)
    kept = max(keepable - window, 0)
    frozen = _freeze(decoding, draft, kept)
    words_taken_back = words_taken_back_from(draft, text_of_tokens(decoding.model))
    decoding.verify(
        draft.tokens[frozen:],
        settings.bias,
        forced_tokens=kept - frozen,
        until_end_of_generation=lost_end,
        cost=(lambda at: settings.margin * words_taken_back(frozen + at)) if settings.margin > 0.0 else None,
    )
    return decoding.finish()


def words_taken_back_from(draft: Draft, text_of: TextOf) -> Callable[[int], float]:
    """Return a function of a place in the draft: the number of shown words that are retracted if the draft is written
    anew from there on.

    Words are counted as in the screen's erasure (`screen_units`), a character of a script without spaces as
    `WORDS_A_CHARACTER`. A word whose last token is hidden was not shown. A word that the place cuts through changes.
    """

    def whole_units(tokens: int) -> int:
        return common_prefix_length(screen_units(text_of(draft.tokens[:tokens])), units)

    units = screen_units(text_of(draft.tokens))
    shown = whole_units(draft.shown_tokens)
    return lambda at: sum(
        WORDS_A_CHARACTER if has_unspaced_script(unit) else 1.0 for unit in units[whole_units(at) : shown]
    )


def keepable_tokens(decoding: Decoding, draft: Draft) -> tuple[int, bool]:
    """Return how many draft tokens may stay whatever the model prefers, and whether the source lost its end.

    None may stay if the source was rewritten, or lost its end: the words that were cut off begin the next segment, or
    were never said. The window is left out of the count. The text around the source makes no difference.
    """
    unchanged = common_prefix_length(draft.source, decoding.source)
    unit = unit_tokens(decoding.model)
    changed, new = (len(draft.source) - unchanged) * unit, (len(decoding.source) - unchanged) * unit
    lost_end = new <= REWRITTEN_TOKENS and changed - new > LOST_TOKENS
    if not draft.source or lost_end or changed > REWRITTEN_TOKENS:
        return 0, lost_end
    return min(len(draft.tokens), decoding.maximum_tokens), lost_end


def _freeze(decoding: Decoding, draft: Draft, count: int) -> int:
    """Freeze that many tokens if it pays and the cache still has them; return how many are frozen.

    The others are evaluated again. The draft's last token is never frozen: if the length cap ended the output, it was
    not evaluated.
    """
    count = min(count, len(draft.tokens) - 1)
    return count if count >= MOVED_AT_LEAST and decoding.freeze(draft, count) else 0
