"""The translating stage: each update decoded with the segment's previous output as the draft."""

from __future__ import annotations

from dataclasses import replace

from livetrans.config import FINALS, DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft, DraftModel
from livetrans.decoding.verification import Sampler
from livetrans.errors import ContextError, UsageError
from livetrans.events import Span, Transcript, Translation
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.stats import DecodingStats
from livetrans.text import graphemes, has_unspaced_script
from livetrans.translation.prompting import Prompts

_OUTPUT_PER_SOURCE_TOKEN = 3
_OUTPUT_AT_LEAST = 32
"""A translation longer than three times its source and some is a loop; the cap ends it early."""


class Translator:
    """Translates updates in order, and keeps the draft of the current segment.

    The draft is kept when the recogniser rewrites the source's tail, because verification protects the output. After a
    split, the rest of the draft is the next segment's first draft. `settings` and `mask` may be
    set between updates, from any thread.
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
            UsageError: settings that do not exist, or do not go together.
        """
        if decoding.method not in DECODERS:
            raise UsageError(f"there is no method {decoding.method!r}; choose one of {', '.join(DECODERS)}")
        if decoding.final not in FINALS:
            raise UsageError(f"finals cannot be {decoding.final!r}; choose one of {', '.join(FINALS)}")
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
        self._segment_id: int | None = None
        self._source = ""
        self._draft = Draft()
        self._cap = 0

    @property
    def language(self) -> str | None:
        """The code of its translations; None for a translator with one prompt."""
        return self._prompts.language if self._prompts else None

    def carried(self, transcript: Transcript) -> Translation | None:
        """Return the part of the last segment's output that a split left to this new segment, if any.

        It is shown until the words are translated in their own segment. The model did not write it for this update, so
        it has no `captured_at`, and is never a final.
        """
        self._begin(transcript)
        tokens = () if self._draft.prompt else self._draft.tokens
        if not tokens:
            return None
        update = replace(transcript, final=False, captured_at=None)
        return self._translation(update, _unchanged(self._draft), self.settings.method)

    def translate(self, transcript: Transcript) -> Translation:
        """Translate one update.

        Raises:
            ContextError: the source is too long for the model's context.
        """
        self._begin(transcript)
        settings, mask = self.settings, self.mask
        source = transcript.text
        if self._prompts:
            self.prompt = self._prompts.choose(transcript)
        if not any(character.isalnum() for character in source):
            # From a source without words a model invents a translation.
            return self._translation(transcript, Decoded((), DecodingStats()), settings.method)
        prompt = self.prompt.tokens(self._model, source)
        if tuple(prompt) == self._draft.prompt and not transcript.final and mask.mode != "output":
            return self._translation(transcript, _unchanged(self._draft), settings.method)
        maximum_tokens = self._maximum_tokens(prompt, source)
        decoded = self._decode(prompt, maximum_tokens, settings, transcript.final)
        translation = self._translation(transcript, decoded, settings.method)
        if transcript.final:
            self._leave(decoded.tokens, source)
            if self._prompts and not decoded.stats.truncated:
                self._prompts.remember(source, translation.text)
        else:
            self._draft, self._source = self._next_draft(tuple(prompt), decoded.tokens, mask), source
        return translation

    def _begin(self, transcript: Transcript) -> None:
        """Prepare for the update's segment, if it is new."""
        if transcript.segment_id == self._segment_id:
            return
        self._segment_id, self._cap = transcript.segment_id, 0
        if self._prompts:
            self._prompts.begin_segment()
        if self._draft.prompt or _first_word(transcript.text) != _first_word(self._source):
            # The last segment never had a final, or what it left is not what this one begins with.
            self._draft = Draft()

    def _decode(self, prompt: list[int], maximum_tokens: int, settings: DecodingSettings, final: bool) -> Decoded:
        decoder = DECODERS[settings.method]
        by_worth = decoder.final if final and settings.final == "worth" else None
        if final and settings.final == "exact":
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
        return (by_worth or decoder.decode)(decoding, self._draft, settings)

    def _leave(self, tokens: tuple[int, ...], source: str) -> None:
        """Keep the rest of draft and source that is not in the final: after a split it belongs to the next segment."""
        drafted, hidden = self._draft.tokens, self._draft.hidden_tokens
        self._source = self._source[len(source) :].strip() if self._source.startswith(source) else ""
        left = drafted[len(tokens) :] if self._source and drafted[: len(tokens)] == tokens else ()
        self._draft = Draft(left, hidden_tokens=min(hidden, len(left)))

    def _next_draft(self, prompt: tuple[int, ...], tokens: tuple[int, ...], mask: MaskSettings) -> Draft:
        hidden = 0 if mask.mode == "none" else min(mask.k, len(tokens))
        after = len(self.prompt.after)
        if mask.mode == "output":
            return Draft(tokens[: len(tokens) - hidden], prompt, after)
        return Draft(tokens, prompt, after, hidden)

    def _maximum_tokens(self, prompt: list[int], source: str) -> int:
        speech_tokens = len(prompt) - len(self.prompt.before) - len(self.prompt.after)
        # Within a segment the cap never falls: a shorter source must not cut a draft that continuous decoding keeps.
        self._cap = max(self._cap, _OUTPUT_PER_SOURCE_TOKEN * speech_tokens + _OUTPUT_AT_LEAST)
        room = self._model.context_tokens - len(prompt)
        if room < 1:
            raise ContextError(
                f"a segment of {len(source.split())} words does not fit in the context of {self._model.context_tokens} "
                "tokens; give a larger --context"
            )
        return min(self.settings.maximum_output_tokens, self._cap, self._model.maximum_rows - 1, room)

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


def _first_word(source: str) -> str:
    """Return the first word without case and punctuation, which a split changes; a letter in scripts without spaces."""
    word = source.partition(" ")[0]
    first = graphemes(word)[0] if has_unspaced_script(word) else word
    return "".join(filter(str.isalnum, first)).casefold()


def _unchanged(draft: Draft) -> Decoded:
    """Return the output again, for an update whose source did not change: nothing is computed."""
    count = len(draft.tokens)
    stats = DecodingStats(draft_tokens=count, accepted_tokens=count, output_tokens=count)
    return Decoded(draft.tokens, stats, (Span(0, count),))
