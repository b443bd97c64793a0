"""The method in one loop: a transcript that grows, the previous output as the draft, captions and NE printed.

python examples/minimal.py [METHOD]     METHOD: rt, ssbd, window (the default), cd
"""

from __future__ import annotations

import sys
from pathlib import Path

from livetrans import (
    DECODERS,
    Decoding,
    DecodingSettings,
    Draft,
    LanguageModelSettings,
    LlamaModel,
    NormalizedErasure,
    build_prompt,
    language,
    text_of_tokens,
)

MODEL = Path(__file__).parents[1] / "models" / "livetrans-en-de.q8_0.gguf"
SENTENCES = (
    "The train to Hamburg leaves at nine o'clock from the other side of the station.",
    "My brother lives in a small house near the river and works at the hospital.",
)
MASK = 3
"""Last tokens of an unfinished caption that are not shown: they change most."""


def caption(method: str, sentences: tuple[str, ...] = SENTENCES) -> float:
    """Translate each sentence as it grows word by word; return the normalized erasure of what was shown."""
    model = LlamaModel(LanguageModelSettings(MODEL))
    prompt, text_of = build_prompt(model, None, language("en"), language("de")), text_of_tokens(model)
    decoder, settings, erased = DECODERS[method], DecodingSettings(method=method), NormalizedErasure()
    for number, sentence in enumerate(sentences):
        words, draft = sentence.split(), Draft()
        for count in range(1, len(words) + 1):
            source = tuple(prompt.source_tokens(model, " ".join(words[:count])))
            tokens = (*prompt.before, *source, *prompt.after)
            decoding = Decoding(model, tokens, maximum_tokens=96, source=source)
            final = count == len(words)
            decode = (final and decoder.final) or decoder.decode
            output = decode(decoding, draft, settings).tokens
            hidden = 0 if final else min(MASK, len(output))
            shown = output[: len(output) - hidden]
            erased.add(number, shown, final=final)
            draft = Draft(output, tokens, source, hidden)
            print(f"{'=' if final else ' '} {text_of(shown)}")
    print(f"NE {erased.ratio_of_sums:.2f}")
    return erased.ratio_of_sums or 0.0


if __name__ == "__main__":
    caption(sys.argv[1] if len(sys.argv) > 1 else "window")
