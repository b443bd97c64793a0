"""The presenting stage: mask-k on non-final captions (paper section 3.4), cut to whole words."""

from __future__ import annotations

from livetrans.config import MaskSettings
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

    def flush(self) -> list[Caption]:
        """Nothing waits in this stage."""
        return []

    def _shown(self, translation: Translation) -> tuple[str, int]:
        """The visible text and the number of tokens wholly in it."""
        tokens = translation.tokens
        if translation.final or not self._masks or self.k == 0:
            return translation.text, len(tokens)
        kept = max(len(tokens) - self.k, 0)
        text = self._render(tokens[:kept])
        if self._spaced:
            text = cut_to_word(text, translation.text)
        while kept and len(self._render(tokens[:kept])) > len(text):
            kept -= 1
        return text, kept


def cut_to_word(text: str, whole: str) -> str:
    """The longest part of `text` that ends where a word of `whole` ends."""
    following = whole[len(text) : len(text) + 1]
    if not text or not following or not _is_word(following) or not _is_word(text[-1]):
        return text
    return text[: text.rfind(" ") + 1].rstrip()


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "-'’_"
