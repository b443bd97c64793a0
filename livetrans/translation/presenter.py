"""The presenting stage: mask-k on non-final captions (paper section 3.4), cut to whole words; loops said once."""

from __future__ import annotations

import unicodedata

from livetrans.config import MaskSettings
from livetrans.events import Caption, Span, Translation
from livetrans.lm.prompts import Render
from livetrans.sequences import loop_length


class Presenter:
    """Turns what the model wrote into what is shown; `k` may be set between updates, from any thread.

    A display-only mask hides tokens here and nowhere else. An output mask hides the same tokens: that the draft loses
    them too is the translator's business.
    """

    def __init__(self, render: Render, mask: MaskSettings, *, spaced: bool) -> None:
        self._render = render
        self._masks = mask.mode != "none"
        self.k = mask.k
        self._spaced = spaced

    def present(self, translation: Translation) -> Caption:
        text, shown_tokens = self._shown(translation)
        return Caption(
            transcript=translation.transcript,
            text=text,
            tokens=translation.tokens[:shown_tokens],
            accepted=self._spans(translation, len(text)),
            masked_tokens=len(translation.tokens) - shown_tokens,
        )

    def _spans(self, translation: Translation, length: int) -> tuple[Span, ...]:
        """The accepted tokens as characters of the shown text, which has `length`."""

        def characters(tokens: int) -> int:
            return min(len(self._render(translation.tokens[:tokens])), length)

        spans = (Span(characters(span.begin), characters(span.end), span.draft) for span in translation.accepted)
        return tuple(span for span in spans if span.begin < span.end)

    def _shown(self, translation: Translation) -> tuple[str, int]:
        """The visible text and the number of tokens wholly in it."""
        tokens = translation.tokens
        masked = 0 if translation.final or not self._masks else self.k
        kept = max(len(tokens) - max(masked, loop_length(tokens)), 0)
        if kept == len(tokens):
            return translation.text, kept
        text = self._render(tokens[:kept])
        if self._spaced:
            text = cut_to_word(text, translation.text)
        while kept and len(self._render(tokens[:kept])) > len(text):
            kept -= 1
        return text, kept


def cut_to_word(text: str, whole: str) -> str:
    """The longest part of `text` that ends where a word of `whole` ends.

    A word ends at a space; what follows up to the next space without a letter, a mark or a digit
    is its punctuation.
    """
    following = whole[len(text) :].split(" ", 1)[0]
    if not any(unicodedata.category(character)[0] in "LMN" for character in following):
        return text
    return text[: text.rfind(" ") + 1].rstrip()
