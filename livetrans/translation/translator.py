"""The translating stage: decodes each update with the segment's previous output as the draft."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from livetrans.base.errors import ContextError, UsageError
from livetrans.base.sequences import common_prefix_length
from livetrans.base.text import has_unspaced_script
from livetrans.config import DecodingSettings, MaskSettings
from livetrans.decoding import DECODERS, Decoded, Decoding, Draft, DraftModel
from livetrans.decoding.stopping import Stop
from livetrans.decoding.verification import Sampler
from livetrans.decoding.window import words_taken_back_from
from livetrans.events import DecodingStats, Span, Transcript, Translation
from livetrans.lm.port import LanguageModel, unit_tokens
from livetrans.lm.prompts import Prompt, text_of_tokens
from livetrans.lm.stand_ins import LIMIT, WithNames

_OUTPUT_PER_SOURCE_TOKEN = 3
_OUTPUT_AT_LEAST = 32
"""A translation longer than three times its source and some more tokens is a loop; the cap ends it early."""


class Translator:
    """Translates updates in order, and keeps the draft of each growing segment.

    The draft is kept when the recogniser rewrites the source's tail, because verification protects the output. The
    update that ends a sentence is decided like a final, because its whole translation is shown.
    """

    def __init__(
        self, model: LanguageModel, draft_model: DraftModel | None = None, sampler: Sampler | None = None
    ) -> None:
        """Without a `sampler` decoding is greedy."""
        self._model = model
        self._draft_model = draft_model
        self._sampler = sampler
        self._text_of = text_of_tokens(model)
        self._drafts: dict[int, Draft] = {}
        """The previous output of each growing segment: two if a sentence began before the one before it was final."""

    def translate(
        self,
        transcript: Transcript,
        prompt: Prompt,
        decoding: DecodingSettings,
        mask: MaskSettings,
        tokens_per_source_token: float | None = None,
    ) -> Translation:
        """Translate one update.

        `tokens_per_source_token` is the expected length of an output (`LengthRatio`); without it nothing stops early.
        """
        started, segment = self._model.clock.now(), transcript.segment_id
        draft = self._drafts.get(segment, Draft())
        if not any(character.isalnum() for character in transcript.text):
            # From a source without words a model invents a translation.
            if transcript.final:
                self.forget(segment)
            return self._translation(transcript, Decoded((), DecodingStats()), decoding.method)
        source = tuple(prompt.source_tokens(self._model, transcript.text))
        tokens = (*prompt.before, *source, *prompt.after)
        is_whole = transcript.final or transcript.ended
        if tokens == draft.prompt and not is_whole and mask.mode != "output":
            return self._translation(transcript, _unchanged(draft), decoding.method, draft.hidden_tokens)
        stop, stops = None, stops_early(decoding, mask)
        if stops and tokens_per_source_token and not is_whole:
            stop = Stop(tokens_per_source_token * len(source), draft.shown_tokens, mask.k)
        decoded = self._decode(transcript, draft, prompt, source, decoding, stop)
        hidden = 0 if is_whole else self._hidden_tokens(decoded, draft if stops else Draft(), mask)
        if transcript.final:
            self.forget(segment)
        else:
            kept = decoded.tokens[: len(decoded.tokens) - hidden] if mask.mode == "output" else decoded.tokens
            hidden_of_kept = hidden - (len(decoded.tokens) - len(kept))
            self._drafts[segment] = Draft(kept, tokens, source, hidden_of_kept, decoded.doubted)
        translation = self._translation(transcript, decoded, decoding.method, hidden)
        seconds = self._model.clock.now() - started - decoded.stats.total_seconds
        return replace(translation, stats=replace(decoded.stats, other_seconds=seconds))

    def _hidden_tokens(self, decoded: Decoded, draft: Draft, mask: MaskSettings) -> int:
        """Return how many last tokens of a partial its caption hides: none that the draft shows and that still stands.

        They are those of the mask. After an early stop it is the token before which decoding stopped, and with a mark
        the word before that too, which the mark would change.
        """
        written = len(decoded.tokens)
        hidden = 0 if mask.mode == "none" else min(round(mask.k / unit_tokens(self._model)), written)
        if decoded.stats.stopped:
            hidden = 2 if self._ends_with_mark(decoded.tokens) else 1
        return min(hidden, written - common_prefix_length(decoded.tokens, draft.tokens[: draft.shown_tokens]))

    def _ends_with_mark(self, tokens: tuple[int, ...]) -> bool:
        """Return whether the last token is punctuation of the word before it: with it, a word that is shown changes."""
        before, text = self._text_of(tokens[:-1]), self._text_of(tokens)
        mark = text[len(before) :]
        is_mark = bool(mark) and not mark[0].isspace() and not any(map(str.isalnum, mark))
        return is_mark and not has_unspaced_script(before[-1:])

    def forget(self, segment_id: int) -> None:
        """Drop the draft of a segment whose final is not translated."""
        self._drafts.pop(segment_id, None)

    def _decode(
        self,
        update: Transcript,
        draft: Draft,
        prompt: Prompt,
        source: tuple[int, ...],
        settings: DecodingSettings,
        stop: Stop | None,
    ) -> Decoded:
        tokens = (*prompt.before, *source, *prompt.after)
        maximum_tokens = self._maximum_tokens(update, draft, len(source), len(tokens), settings)
        decoder = DECODERS[settings.method]
        careful = decoder.final if (update.final or update.ended) and settings.final == "careful" else None
        if update.final and settings.final == "fresh":
            settings = replace(settings, bias=0.0, margin=0.0, window=maximum_tokens)
        begin = partial(
            Decoding,
            self._model,
            tokens,
            maximum_tokens,
            source=source,
            draft_model=self._draft_model,
            sampler=self._sampler,
            stop=stop,
        )
        decoding = begin()
        if update.final and settings.final == "fresh":
            decoding.restart((*prompt.before, *prompt.after))
        decoded = (careful or decoder.decode)(decoding, draft, settings)
        if update.final and isinstance(self._model, WithNames) and decoder.name != "cd":  # Which takes nothing back.
            return self._with_missing_names(self._model, decoded, begin(), draft, settings.margin)
        return decoded

    def _with_missing_names(
        self, model: WithNames, decoded: Decoded, decoding: Decoding, draft: Draft, margin: float
    ) -> Decoded:
        """Return a final with a name that it lacks, decoded again from where the name costs least; else as it is.

        A place costs the regret of the name's token there, and the margin for each shown word that is retracted.
        """
        output = decoded.tokens
        missing = model.missing(decoding.prompt, output)
        if not missing or not output or decoded.stats.truncated:
            return decoded
        started = model.clock.now()
        evaluation = model.evaluate([*decoding.prompt, *output], len(output) + 1)
        decoding.count_pass(evaluation, output, started)
        regrets = evaluation.logits.max(axis=1, keepdims=True) - evaluation.logits[:, missing]
        taken_back, same = words_taken_back_from(draft, self._text_of), common_prefix_length(draft.tokens, output)
        costs = [regrets[at].min() + (margin * taken_back(at) if at < same else 0.0) for at in range(len(output))]
        at = int(np.argmin(costs))
        if costs[at] < LIMIT:
            decoding.force((*output[:at], missing[int(regrets[at].argmin())]))
            again = decoding.finish()
            if len(model.missing(decoding.prompt, again.tokens)) < len(missing) and not again.stats.truncated:
                same = min(at, same)
                spans = (replace(span, end=min(span.end, same)) for span in decoded.accepted if span.begin < same)
                stats = replace(decoded.stats, output_tokens=len(again.tokens))
                return Decoded(again.tokens, stats.with_cost_of(again.stats), tuple(spans))
        return replace(decoded, stats=decoded.stats.with_cost_of(decoding.decoded().stats))

    def _maximum_tokens(
        self, update: Transcript, draft: Draft, source_tokens: int, prompt_tokens: int, settings: DecodingSettings
    ) -> int:
        # A shorter source must not cut a draft that continuous decoding keeps.
        cap = max(len(draft.tokens), _OUTPUT_PER_SOURCE_TOKEN * source_tokens + _OUTPUT_AT_LEAST)
        room = self._model.context_tokens - prompt_tokens
        if room < 1:
            raise ContextError(
                f"a segment of {len(update.text.split())} words does not fit in the context of "
                f"{self._model.context_tokens} tokens; give a larger --context"
            )
        return min(settings.maximum_output_tokens, cap, self._model.maximum_rows - 1, room)

    def _translation(
        self, transcript: Transcript, decoded: Decoded, method: str, hidden_tokens: int = 0
    ) -> Translation:
        return Translation(
            transcript=transcript,
            text=self._text_of(decoded.tokens),
            tokens=decoded.tokens,
            stats=decoded.stats,
            method=method,
            accepted=decoded.accepted,
            hidden_tokens=hidden_tokens,
        )


def stops_early(decoding: DecodingSettings, mask: MaskSettings) -> bool:
    """Return whether partials are decoded only as far as they would be shown."""
    return (
        decoding.early_stop and "early_stop" in DECODERS[decoding.method].uses and mask.mode == "display" and mask.k > 0
    )


def check_method(decoding: DecodingSettings, has_draft_model: bool) -> None:
    """Raise UsageError if the method needs a draft model, cannot use the given one, or cannot draw tokens."""
    decoder = DECODERS[decoding.method]
    if decoder.draft_model == "must" and not has_draft_model:
        raise UsageError(f"{decoder.name} needs a draft model; name one with --draft-model, or choose another method")
    if decoder.draft_model == "none" and has_draft_model:
        raise UsageError(f"{decoder.name} uses no draft model; drop --draft-model, or choose spec")
    if decoding.sampling and not decoder.draws:
        drawing = ", ".join(row.name for row in DECODERS.values() if row.draws)
        raise UsageError(f"{decoder.name} decodes greedily; drop the options that sample, which are for {drawing}")


def _unchanged(draft: Draft) -> Decoded:
    """Return the draft as the output of an update whose prompt did not change."""
    count = len(draft.tokens)
    stats = DecodingStats(draft_tokens=count, accepted_tokens=count, output_tokens=count)
    return Decoded(draft.tokens, stats, (Span(0, count),))
