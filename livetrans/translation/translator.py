"""The translating stage: each update decoded with the segment's previous output as the draft."""

from __future__ import annotations

from dataclasses import replace

from livetrans.config import DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft, DraftModel
from livetrans.decoding.verification import Sampler
from livetrans.errors import ContextError, UsageError
from livetrans.events import Span, Transcript, Translation
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.stats import DecodingStats
from livetrans.translation.prompting import Prompts

_OUTPUT_PER_SOURCE_TOKEN = 3
_OUTPUT_AT_LEAST = 32
"""A translation longer than three times its source and some is a loop; the cap ends it early."""


class Translator:
    """What translates updates in order, and keeps the draft of each segment that grows.

    The draft is kept when the recogniser rewrites the source's tail, because verification protects the output. The
    update with which a sentence ends is decided on like a final, since its caption waits for that. `settings` and
    `mask` may be set between updates, from any thread.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: Prompt | Prompts,
        decoding: DecodingSettings,
        mask: MaskSettings,
        draft_model: DraftModel | None = None,
    ) -> None:
        """
        Raises:
            UsageError: settings that do not go together.
        """
        check_method(decoding, draft_model is not None)
        self._model = model
        self._draft_model = draft_model
        self._sampler = Sampler(decoding.sampling) if decoding.sampling else None
        self._prompts = prompt if isinstance(prompt, Prompts) else None
        self.prompt = prompt.current if isinstance(prompt, Prompts) else prompt
        """That of the last update; with one prompt only, that of the next."""
        self._text_of = text_of_tokens(model)
        self.settings = decoding
        self.mask = mask
        self._drafts: dict[int, Draft] = {}
        """The previous output of each segment that grows: two where a sentence began before the last one is final."""
        self._cached: int | None = None
        """The segment whose draft is in the model's cache."""

    def translate(self, transcript: Transcript) -> Translation:
        """Translate one update.

        Raises:
            ContextError: the source is too long for the model's context.
        """
        settings, mask = self.settings, self.mask
        source = transcript.text
        segment = transcript.segment_id
        if self._prompts and segment not in self._drafts:
            self._prompts.begin_segment()
        draft = replace(self._drafts.get(segment, Draft()), is_cached=segment == self._cached)
        if self._prompts:
            self.prompt = self._prompts.choose(transcript)
        if not any(character.isalnum() for character in source):
            # From a source without words a model invents a translation.
            return self._translation(transcript, Decoded((), DecodingStats()), settings.method)
        prompt = self.prompt.tokens(self._model, source)
        if tuple(prompt) == draft.prompt and not transcript.final and mask.mode != "output":
            return self._translation(transcript, _unchanged(draft), settings.method)
        maximum_tokens = self._maximum_tokens(prompt, source, draft)
        decoded = self._decode(draft, prompt, maximum_tokens, settings, transcript)
        translation = self._translation(transcript, decoded, settings.method)
        self._cached = segment
        if not transcript.final:
            self._drafts[segment] = self._next_draft(tuple(prompt), decoded.tokens, mask, transcript.ended)
            return translation
        self._drafts.pop(segment, None)
        if self._prompts and not decoded.stats.truncated:
            self._prompts.remember(source, translation.text)
        return translation

    def _decode(
        self, draft: Draft, prompt: list[int], maximum_tokens: int, settings: DecodingSettings, update: Transcript
    ) -> Decoded:
        decoder = DECODERS[settings.method]
        careful = decoder.final if (update.final or update.ended) and settings.final == "careful" else None
        if update.final and settings.final == "fresh":
            settings = replace(settings, bias=0.0, margin=0.0, window=maximum_tokens)
            # Moved cells stand out of order, which changes the rounding: begin again from the template alone.
            self._model.evaluate((*self.prompt.before, *self.prompt.after))
        decoding = Decoding(
            self._model,
            prompt,
            maximum_tokens,
            draft_model=self._draft_model,
            sampler=self._sampler,
        )
        return (careful or decoder.decode)(decoding, draft, settings)

    def _next_draft(self, prompt: tuple[int, ...], tokens: tuple[int, ...], mask: MaskSettings, whole: bool) -> Draft:
        hidden = 0 if whole or mask.mode == "none" else min(mask.k, len(tokens))
        after = len(self.prompt.after)
        if mask.mode == "output":
            return Draft(tokens[: len(tokens) - hidden], prompt, after)
        return Draft(tokens, prompt, after, hidden)

    def _maximum_tokens(self, prompt: list[int], source: str, draft: Draft) -> int:
        speech_tokens = len(prompt) - len(self.prompt.before) - len(self.prompt.after)
        # A shorter source must not cut a draft that continuous decoding keeps.
        cap = max(len(draft.tokens), _OUTPUT_PER_SOURCE_TOKEN * speech_tokens + _OUTPUT_AT_LEAST)
        room = self._model.context_tokens - len(prompt)
        if room < 1:
            raise ContextError(
                f"a segment of {len(source.split())} words does not fit in the context of {self._model.context_tokens} "
                "tokens; give a larger --context"
            )
        return min(self.settings.maximum_output_tokens, cap, self._model.maximum_rows - 1, room)

    def _translation(self, transcript: Transcript, decoded: Decoded, method: str) -> Translation:
        return Translation(
            transcript=transcript,
            text=self._text_of(decoded.tokens),
            tokens=decoded.tokens,
            stats=decoded.stats,
            method=method,
            accepted=decoded.accepted,
            language=self._prompts.language if self._prompts else None,
            terms=self._prompts.terms if self._prompts else (),
        )


def check_method(decoding: DecodingSettings, has_draft_model: bool) -> None:
    """Raise UsageError where the method lacks a draft model, or works with none, or cannot draw tokens."""
    decoder = DECODERS[decoding.method]
    if decoder.draft_model == "must" and not has_draft_model:
        raise UsageError(f"{decoder.name} needs a draft model; name one with --draft-model, or choose another method")
    if decoder.draft_model == "none" and has_draft_model:
        raise UsageError(f"{decoder.name} uses no draft model; drop --draft-model, or choose spec")
    if decoding.sampling and not decoder.draws:
        drawing = ", ".join(row.name for row in DECODERS.values() if row.draws)
        raise UsageError(f"{decoder.name} decodes greedily; drop the options that sample, which are for {drawing}")


def _unchanged(draft: Draft) -> Decoded:
    """Return the output again, for an update whose source did not change: nothing is computed."""
    count = len(draft.tokens)
    stats = DecodingStats(draft_tokens=count, accepted_tokens=count, output_tokens=count)
    return Decoded(draft.tokens, stats, (Span(0, count),))
