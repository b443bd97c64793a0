"""The presenting stage: mask-k on non-final captions (paper section 3.4), cut to whole words; loops said once."""

from __future__ import annotations

import unicodedata

from livetrans.config import MaskSettings
from livetrans.decoding.repetition import loop_length
from livetrans.events import Caption, Transcript, Translation
from livetrans.translation.rendering import Render


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

    def feed(self, translation: Translation, transcript: Transcript) -> list[Caption]:
        text, shown_tokens = self._shown(translation)
        accepted = self._render(translation.tokens[: translation.stats.accepted_tokens])
        return [
            Caption(
                segment_id=translation.segment_id,
                revision=translation.revision,
                final=translation.final,
                text=text,
                source=translation.source,
                committed_source=transcript.committed,
                tokens=translation.tokens[:shown_tokens],
                accepted_characters=min(len(accepted), len(text)),
                masked_tokens=len(translation.tokens) - shown_tokens,
                start=transcript.start,
                end=transcript.end,
                captured_at=transcript.captured_at,
            )
        ]

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
    """The longest part of `text` that ends where a word of `whole` ends."""
    following = whole[len(text) : len(text) + 2]
    if not text or not following or not _goes_on(text[-1], following):
        return text
    return text[: text.rfind(" ") + 1].rstrip()


def _goes_on(last: str, following: str) -> bool:
    """Whether a word is cut between `last` and `following`; a separator between digits is inside a number."""
    if last.isdigit() and following[0] in ".,":
        return following[1:].isdigit()
    return _is_word(last) and _is_word(following[0])


def _is_word(character: str) -> bool:
    """Letters, digits, the marks that combine with them, joiners, hyphen and apostrophes."""
    return character.isalnum() or unicodedata.category(character)[0] == "M" or character in "-'’_\u200c\u200d"
