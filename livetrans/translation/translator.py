"""The translating stage: what waits to be translated, and each update decoded with the segment's previous output."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from livetrans.config import FINALS, DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft
from livetrans.errors import ContextError, UsageError
from livetrans.events import Coalesced, DecodingStats, Span, Transcript, Translation
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, renderer

_OUTPUT_PER_SOURCE_TOKEN = 3
_OUTPUT_AT_LEAST = 32
"""A translation longer than three times its source and some is a loop; the cap ends it early."""


class Translator:
    """Translates updates in order, and keeps the draft of the current segment.

    The draft is kept when the recogniser rewrites the source's tail, because verification protects the output. Where a
    segment was split, what the final left of the draft is the next segment's first draft. `bias` may be set between
    updates, from any thread.
    """

    def __init__(self, model: LanguageModel, prompt: Prompt, decoding: DecodingSettings, mask: MaskSettings) -> None:
        if decoding.method not in DECODERS:
            raise UsageError(f"there is no method {decoding.method!r}; choose one of {', '.join(DECODERS)}")
        if decoding.final not in FINALS:
            raise UsageError(f"finals cannot be {decoding.final!r}; choose one of {', '.join(FINALS)}")
        self._model = model
        self._prompt = prompt
        self._decoder = DECODERS[decoding.method]
        self._settings = decoding
        self._render = renderer(model)
        self._mask_mode = mask.mode
        self._mask_k = mask.k
        self.bias = decoding.bias
        self._segment_id: int | None = None
        self._draft = Draft()
        self._cap = 0

    def set_mask_k(self, k: int) -> None:
        """Move k of the mask: with an output mask the draft loses so many tokens."""
        self._mask_k = k

    def translate(self, transcript: Transcript) -> Translation:
        """Translate one update.

        Raises:
            ContextError: the source is too long for the model's context.
        """
        if transcript.segment_id != self._segment_id:
            self._segment_id, self._cap = transcript.segment_id, 0
            if self._draft.prompt:
                self._draft = Draft()  # The last segment never had a final.
        source = transcript.text
        if not any(character.isalnum() for character in source):
            # From a source without words a model invents a translation.
            return self._translation(transcript, Decoded((), DecodingStats()))
        prompt = self._prompt.tokens(self._model, source)
        if tuple(prompt) == self._draft.prompt and not transcript.final and self._mask_mode != "output":
            return self._translation(transcript, _unchanged(self._draft))
        decoded = self._decode(prompt, self._maximum_tokens(prompt, source), transcript.final)
        self._draft = self._next_draft(tuple(prompt), decoded.tokens, transcript.final)
        return self._translation(transcript, decoded)

    def _decode(self, prompt: list[int], maximum_tokens: int, final: bool) -> Decoded:
        settings = replace(self._settings, bias=self.bias)
        decode = self._decoder.decode
        by_worth = final and settings.final == "worth" and self._decoder.final is not None
        if by_worth and self._decoder.final:
            decode = self._decoder.final
        elif final and settings.final == "exact":
            settings = replace(settings, bias=0.0, window=maximum_tokens)
            # Moved cells stand out of order, which changes the rounding: begin again from the template alone.
            self._model.evaluate((*self._prompt.before, *self._prompt.after))
        return decode(Decoding(self._model, prompt, maximum_tokens, scored=by_worth), self._draft, settings)

    def _next_draft(self, prompt: tuple[int, ...], tokens: tuple[int, ...], final: bool) -> Draft:
        if final:
            drafted = self._draft.tokens
            return Draft(drafted[len(tokens) :] if drafted[: len(tokens)] == tokens else ())
        hidden = 0 if self._mask_mode == "none" else min(self._mask_k, len(tokens))
        after = len(self._prompt.after)
        if self._mask_mode == "output":
            return Draft(tokens[: len(tokens) - hidden], prompt, after)
        return Draft(tokens, prompt, after, hidden)

    def _maximum_tokens(self, prompt: list[int], source: str) -> int:
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
        return min(self._settings.maximum_output_tokens, self._cap, self._model.maximum_rows - 1, room)

    def _translation(self, transcript: Transcript, decoded: Decoded) -> Translation:
        return Translation(
            transcript=transcript,
            text=self._render(decoded.tokens),
            tokens=decoded.tokens,
            stats=decoded.stats,
            method=self._settings.method,
            accepted=decoded.accepted,
        )


def _unchanged(draft: Draft) -> Decoded:
    """The output again, for an update whose source did not change: nothing is computed."""
    count = len(draft.tokens)
    stats = DecodingStats(draft_tokens=count, accepted_tokens=count, output_tokens=count)
    return Decoded(draft.tokens, stats, (Span(0, count),))


class LatestPerSegment:
    """Coalescing: the newest partial of a segment replaces the waiting one; finals queue and are never dropped.

    Bounded by one partial per segment and the finals, which have to be shown. The pipeline guards it with a lock.
    """

    def __init__(self) -> None:
        self._waiting: deque[Transcript] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, transcript: Transcript) -> Coalesced | None:
        """Add an update; returns what it replaced, if anything."""
        replaced = None
        if self._waiting and self._waiting[-1].segment_id == transcript.segment_id and not self._waiting[-1].final:
            old = self._waiting.pop()
            replaced = Coalesced(old.segment_id, old.revision)
        self._waiting.append(transcript)
        return replaced

    def take(self) -> Transcript:
        """The oldest waiting update.

        Raises:
            IndexError: nothing waits.
        """
        return self._waiting.popleft()
