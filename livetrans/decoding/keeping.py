"""The kept prefix: for models that say what they would write, and not what they think of other words.

Our own. The beginning of the draft is given to the model as written, and its end is written anew. A change of shown
words is made only if the next update doubts the same word again; until then the model goes on behind the shown
words. Nothing but the model's own choices is needed, so that every server will do.
"""

from __future__ import annotations

from dataclasses import replace

from livetrans.base.sequences import common_prefix_length
from livetrans.config import DecodingSettings
from livetrans.decoding.loop import Decoded, Decoding, Draft
from livetrans.decoding.window import keepable_tokens
from livetrans.lm.port import unit_tokens

_SHARE = 2 / 3
"""Part of the window that an update writes anew: by default two hidden words and one shown. A doubted word costs a
request, and doubts further back are seldom repeated."""


def kept_prefix(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Keep the draft but for the end of the window; change shown words if they are doubted twice."""
    return _decode(decoding, draft, settings.window * _SHARE)


def careful_prefix(decoding: Decoding, draft: Draft, settings: DecodingSettings) -> Decoded:
    """Decide by the same rule with a longer window."""
    return _decode(decoding, draft, max(settings.window, settings.final_window))


def _decode(decoding: Decoding, draft: Draft, window: float) -> Decoded:
    keepable, _ = keepable_tokens(decoding, draft)
    kept = _word_start(decoding, draft.tokens, max(keepable - round(window / unit_tokens(decoding.model)), 0))
    shown = draft.shown_tokens if keepable else 0
    doubted = draft.doubted if tuple(decoding.prompt) != draft.prompt else None
    decoding.force(draft.tokens[:kept])
    while (place := _change(decoding, draft, shown)) in (None, doubted):
        if not decoding.step():
            place = _change(decoding, draft, shown, has_ended=True)
            if place in (None, doubted):
                return decoding.decoded()
            break
    first = decoding.decoded()
    again = decoding.anew()
    again.force(draft.tokens[:shown])
    second = again.finish()
    return replace(second, stats=second.stats.with_cost_of(first.stats), doubted=place)


def _change(decoding: Decoding, draft: Draft, shown: int, *, has_ended: bool = False) -> int | None:
    """Return the first place where the output takes shown tokens back."""
    output = decoding.output
    same = common_prefix_length(output, draft.tokens[:shown])
    return same if same < shown and (has_ended or same < len(output)) else None


def _word_start(decoding: Decoding, tokens: tuple[int, ...], count: int) -> int:
    """Return the last place up to `count` where a word begins, so that the text before it is cut into the same tokens
    again.
    """
    while 0 < count < len(tokens):
        piece = decoding.model.detokenize(tokens[count : count + 1])
        if piece[:1] == b" " or not piece[:1].isalnum():
            break
        count -= 1
    return count
