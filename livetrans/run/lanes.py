"""Opens the lanes of a run: a context, prompts, a translator and a presenter for each language of the captions.

All contexts are over the weights of one model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from livetrans.config import Settings, replaced
from livetrans.decoding import DraftModel
from livetrans.errors import ContextError, UsageError
from livetrans.events import Notice
from livetrans.languages import AUTO, Language, are_same, parse_language
from livetrans.lm.families import TEMPLATES
from livetrans.lm.prompts import Prompt, build_prompt, text_of_tokens
from livetrans.run.publisher import Publish
from livetrans.run.restarting import RestartingModel
from livetrans.run.translating import Lane
from livetrans.translation.presenter import Presenter
from livetrans.translation.prompting import Prompts
from livetrans.translation.translator import Translator

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.port import LanguageModel

_LONGEST_SOURCE_TOKENS = 160
"""Room for a segment at its length cap of 40 words, at four tokens a word."""

UNKNOWN_LANGUAGE = Language(AUTO, "spoken", True, None)
"""Stands in prompts for a source language that the recogniser has to detect: "Translate the spoken source text"."""


def languages(settings: Settings) -> tuple[Language, Language]:
    """Return the source and the target language of a run."""
    return _spoken(settings.source_language), parse_language(settings.target_language)


def _spoken(code: str) -> Language:
    return UNKNOWN_LANGUAGE if code == AUTO else parse_language(code)


def open_lanes(
    settings: Settings,
    model: RestartingModel[LlamaModel],
    prompt: Prompt,
    draft_model: DraftModel | None,
    publish: Publish,
) -> list[Lane]:
    """Open a lane for each language of the captions, the first one in the contexts that have evaluated `prompt`.

    In a run of two tracks these are of what the computer plays, and one more is of the microphone.

    Raises:
        UsageError: the translator does not know a language.
        ContextError: the context is too small for its prompt.
        ModelError: a context does not fit in memory.
    """
    pair, notify = languages(settings), _once(publish)
    lanes = [_open_lane(settings, model, prompt, pair, draft_model, notify)]
    has_terms = bool(settings.prompt.glossary) and TEMPLATES[prompt.name].terms
    others = [(settings, _translated(settings, target), target) for target in map(parse_language, settings.targets[1:])]
    if settings.meeting:
        others.append((settings.of_me, *languages(settings.of_me)))
    for of_lane, source, target in others:
        if are_same(source.code, target.code):
            lanes.append(Lane(None, _presenter(model, of_lane, target), target.code))
            continue
        context = model.another_context()
        try:
            prepared = prepare_prompt(context, of_lane, (source, target))
        except UsageError:
            if source is not UNKNOWN_LANGUAGE:
                raise
            lanes.append(Lane(None, _presenter(context, of_lane, target), target.code))
            continue
        draft_context = draft_model.another_context() if draft_model else None
        if draft_context:
            draft_context.model.evaluate(prepared.tokens(context, "."))
        if has_terms:
            text = f"The glossary is into {pair[1].name}; captions in {target.name} are made without it."
            notify(Notice("warning", text))
        without_terms = replaced(of_lane, "prompt.glossary", ())
        lanes.append(_open_lane(without_terms, context, prepared, (source, target), draft_context, notify))
    if not settings.meeting:
        return lanes
    mine, theirs = settings.meeting.names
    return [*(replace(lane, track=theirs) for lane in lanes[:-1]), replace(lanes[-1], track=mine)]


def _translated(settings: Settings, target: Language) -> Language:
    """Return the first spoken language that captions in `target` are translated from."""
    others = (code for code in settings.sources if not are_same(code, target.code))
    return _spoken(next(others, AUTO))


def _open_lane(
    settings: Settings,
    model: LanguageModel,
    prompt: Prompt,
    pair: tuple[Language, Language],
    draft_model: DraftModel | None,
    notify: Callable[[Notice], None],
) -> Lane:
    prompts = Prompts(
        model,
        prompt,
        pair,
        room=_LONGEST_SOURCE_TOKENS + settings.decoding.maximum_output_tokens,
        history=settings.prompt.history,
        glossary=settings.prompt.glossary,
        notify=notify,
    )
    translator = Translator(model, prompts, settings.decoding, settings.mask, draft_model)
    return Lane(translator, _presenter(model, settings, pair[1]), pair[1].code)


def _presenter(model: LanguageModel, settings: Settings, target: Language) -> Presenter:
    return Presenter(text_of_tokens(model), settings.mask, spaced=target.spaced)


def _once(publish: Publish) -> Callable[[Notice], None]:
    """Return what publishes a warning once, which every lane may give."""
    published: set[str] = set()

    def notify(notice: Notice) -> None:
        if notice.level != "warning" or notice.text not in published:
            published.add(notice.text)
            publish(notice)

    return notify


def open_draft_model(settings: Settings, target: LlamaModel, prompt: Prompt, publish: Publish) -> DraftModel | None:
    """Load the draft model, if the run has one, and evaluate its prompt: a second context, owned by the same thread.

    Raises:
        UsageError: it is the translator itself.
        ModelError: it cannot be used, has another vocabulary, or does not fit in memory.
    """
    from livetrans.lm.llama.checks import load_draft_model, shared_vocabulary

    draft = settings.draft_model
    if draft is None:
        return None
    publish(Notice("info", f"loading the draft model {draft.model.name} …"))
    load = partial(load_draft_model, draft.model, settings.language_model, target.clock)
    model = RestartingModel(load, target.clock, publish, "draft model")
    try:
        vocabulary_size = shared_vocabulary(target, model.loaded)
        model.evaluate(prompt.tokens(target, "."))
    except BaseException:
        model.close()
        raise
    return DraftModel(model, draft.gamma, vocabulary_size)


def prepare_prompt(model: LanguageModel, settings: Settings, pair: tuple[Language, Language]) -> Prompt:
    """Return the prompt for two languages, evaluated once so that the first caption need not wait for it.

    Raises:
        ContextError: prompt, longest segment and longest output do not fit in the context together.
    """
    prompt = build_prompt(model, settings.language_model.prompt, *pair)
    fixed = len(prompt.before) + len(prompt.after)
    needed = fixed + _LONGEST_SOURCE_TOKENS + settings.decoding.maximum_output_tokens
    if needed > model.context_tokens:
        raise ContextError(
            f"a context of {model.context_tokens} tokens is too small for {model.name}; "
            f"give --context at least {needed}"
        )
    model.evaluate(prompt.tokens(model, "."))
    return prompt
