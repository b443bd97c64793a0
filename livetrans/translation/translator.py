"""The translating stage: each update of a segment is decoded with the segment's previous output as the draft."""

from __future__ import annotations

from livetrans.config import DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS, Decoded, Decoding
from livetrans.errors import ContextError, UsageError
from livetrans.events import DecodingStats, Transcript, Translation
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt
from livetrans.translation.rendering import renderer

_OUTPUT_PER_SOURCE_TOKEN = 3
_OUTPUT_AT_LEAST = 32
"""A translation longer than three times its source and some is a loop; the cap ends it early."""


class Translator:
    """Keeps the draft of the current segment.

    The draft is kept when the recogniser rewrites the source's tail (verification protects the output) and dropped
    only when the segment changes. `bias` may be set between updates, from any thread.
    """

    def __init__(self, model: LanguageModel, prompt: Prompt, decoding: DecodingSettings, mask: MaskSettings) -> None:
        if decoding.method not in DECODERS:
            raise UsageError(f"there is no method {decoding.method!r}; choose one of {', '.join(DECODERS)}")
        self._model = model
        self._prompt = prompt
        self._decoder = DECODERS[decoding.method]
        self._settings = decoding
        self._render = renderer(model)
        self._masks_output = mask.mode == "output"
        self._mask_k = mask.k
        self.bias = decoding.bias
        self._segment_id: int | None = None
        self._draft: tuple[int, ...] = ()
        self._cap = 0

    def set_mask_k(self, k: int) -> None:
        """Move k of an output mask; a display-only mask does not concern the draft."""
        self._mask_k = k

    def translate(self, transcript: Transcript) -> Translation:
        """Translate one update.

        Raises:
            ContextError: the source is too long for the model's context.
        """
        if transcript.segment_id != self._segment_id:
            self._segment_id, self._draft, self._cap = transcript.segment_id, (), 0
        source = transcript.text
        if not any(character.isalnum() for character in source):
            # Asked to translate nothing, a model invents something.
            return self._translation(transcript, Decoded((), DecodingStats()))
        prompt = self._prompt.tokens(self._model, source)
        speech_tokens = len(prompt) - len(self._prompt.before) - len(self._prompt.after)
        # The cap never falls within a segment: a shorter source must not cut a draft that continuous decoding has to
        # keep.
        self._cap = max(self._cap, _OUTPUT_PER_SOURCE_TOKEN * speech_tokens + _OUTPUT_AT_LEAST)
        room = self._model.context_tokens - len(prompt)
        if room < 1:
            raise ContextError(
                f"a segment of {len(source.split())} words does not fit in the context of {self._model.context_tokens} "
                "tokens; give a larger --context"
            )
        maximum = min(self._settings.maximum_output_tokens, self._cap, self._model.maximum_rows - 1, room)
        final_bias = self._settings.final_bias
        bias = final_bias if transcript.final and final_bias is not None else self.bias
        decoded = self._decoder.decode(Decoding(self._model, prompt, maximum), self._draft, bias)
        self._draft = decoded.tokens
        if self._masks_output and not transcript.final:
            self._draft = decoded.tokens[: max(len(decoded.tokens) - self._mask_k, 0)]
        return self._translation(transcript, decoded)

    def _translation(self, transcript: Transcript, decoded: Decoded) -> Translation:
        return Translation(
            transcript=transcript,
            text=self._render(decoded.tokens),
            tokens=decoded.tokens,
            stats=decoded.stats,
            method=self._settings.method,
            accepted=decoded.accepted,
        )
