"""From output token ids to caption text."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import without_thinking
from livetrans.text import one_line

Render = Callable[[Sequence[int]], str]
"""Text of output tokens; the text of a token prefix is a prefix of the text, once both are cut to whole characters."""


def renderer(model: LanguageModel) -> Render:
    def render(tokens: Sequence[int]) -> str:
        return render_bytes(model.detokenize(tokens))

    return render


def render_bytes(data: bytes) -> str:
    """Decode and tidy: an incomplete character at the end is held back, reasoning and control characters are left
    out.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    return one_line(without_thinking(text))
