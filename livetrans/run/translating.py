"""The translating side of a run: the loaded translator, its prompt and its presenter."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from livetrans.clock import Clock
from livetrans.config import LanguageModelSettings, Settings
from livetrans.decoding import DECODERS, DraftModel
from livetrans.errors import ContextError
from livetrans.events import Caption, Notice, Transcript
from livetrans.languages import AUTO, Language, are_same, parse_language
from livetrans.lm.prompts import Prompt, build_prompt, text_of_tokens
from livetrans.run.publisher import Publish
from livetrans.run.restarting import RestartingModel
from livetrans.signature import Setting, sign
from livetrans.translation.presenter import Presenter
from livetrans.translation.prompting import Prompts
from livetrans.translation.translator import Translator, check_method

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.port import LanguageModel

_LONGEST_SOURCE_TOKENS = 160
"""Room for a segment at its length cap of 40 words, at four tokens a word."""

_LARGE_MODEL_BYTES = 200_000_000
"""From this size on loading takes long enough to show how far it is. By size and not by time, because the events of a
run at full speed may not depend on the machine."""

UNKNOWN_LANGUAGE = Language(AUTO, "spoken", True, None)
"""Stands in prompts for a source language that the recogniser has to detect: "Translate the spoken source text"."""


@dataclass(frozen=True, slots=True)
class Translating:
    """The translating side, ready to run."""

    translator: Translator
    presenter: Presenter
    signature: dict[str, Setting]
    close: Callable[[], None]

    def follow(self, settings: Settings) -> None:
        """Take the settings that hold now: decoding and mask at once, the language from the next segment on."""
        self.translator.settings = settings.decoding
        self.translator.mask = self.presenter.mask = settings.mask
        self.translator.aim_at(parse_language(settings.target_language))

    def translate(self, transcript: Transcript, settings: Settings, publish: Publish) -> None:
        """Translate and present one update, or show it as it was heard.

        That is so where the captions' language is spoken, and for a final that does not fit in the model's context.
        What a split left to a new segment is shown until the model has translated it there.
        """
        self.follow(settings)
        carried = self.translator.carried(transcript)
        spoken, shown = transcript.language or settings.source_language, self.translator.language
        if shown and are_same(spoken, shown):
            publish(Caption(transcript, transcript.text, untranslated=True, language=shown))
            return
        if carried:
            publish(self.presenter.present(carried))
        try:
            translation = self.translator.translate(transcript)
        except ContextError as error:
            if transcript.final:
                publish(Notice("warning", f"Shown untranslated: {error}."))
                publish(Caption(transcript, transcript.text, untranslated=True))
            return
        publish(translation)
        publish(self.presenter.present(translation))


def open_translating(settings: Settings, clock: Clock, publish: Publish) -> Translating:
    """Load the translator and evaluate its prompt.

    Raises:
        ModelError: the translator cannot be used, or its context is too small.
        UsageError: it does not know the languages.
    """
    check_method(settings.decoding, settings.draft_model is not None)
    with ExitStack() as opened:
        model = RestartingModel(partial(open_model, settings, clock, publish), clock, publish)
        opened.callback(model.close)
        prompt = prepare_prompt(model, settings)
        draft_model = open_draft_model(settings, model.loaded, prompt, publish)
        if draft_model:
            opened.callback(draft_model.model.close)
        source, target = languages(settings)
        prompts = Prompts(
            model,
            prompt,
            (source, target),
            room=_LONGEST_SOURCE_TOKENS + settings.decoding.maximum_output_tokens,
            history=settings.prompt.history,
            glossary=settings.prompt.glossary,
            notify=publish,
        )
        for code in settings.targets[1:]:
            if not are_same(source.code, code):
                build_prompt(model, prompt.name, source, parse_language(code))
        translator = Translator(model, prompts, settings.decoding, settings.mask, draft_model)
        presenter = Presenter(text_of_tokens(model), settings.mask, spaced=target.spaced)
        packages = ["faster-whisper"] if settings.recogniser else []
        signature = sign(model.loaded, settings.language_model.model, prompt, model.loaded.threads, *packages)
        return Translating(translator, presenter, signature.flat(), opened.pop_all().close)


def open_model(settings: Settings, clock: Clock, publish: Publish) -> LlamaModel:
    """Load the translator's model, publishing how far it is where that takes long."""
    from livetrans.lm.llama.probe import check_model

    path = settings.language_model.model
    publish(Notice("info", f"loading the translator {path.name} …"))
    is_large = path.is_file() and path.stat().st_size >= _LARGE_MODEL_BYTES
    published = 0

    def on_progress(fraction: float) -> None:
        nonlocal published
        quarter = int(fraction * 4)
        if is_large and published < quarter < 4:
            published = quarter
            publish(Notice("info", f"loading the translator {path.name} … {quarter * 25} %"))

    check_model(path)
    rows = settings.decoding.maximum_output_tokens + 1
    model_class = DECODERS[settings.decoding.method].model_class()
    model = model_class(settings.language_model, maximum_rows=rows, clock=clock, on_progress=on_progress)
    wished = settings.language_model.context_tokens
    if model.context_tokens < wished != LanguageModelSettings(path).context_tokens:
        text = f"The translator reads no more than {model.context_tokens} tokens: --context {wished} is cut to that."
        publish(Notice("warning", text))
    return model


def open_draft_model(settings: Settings, target: LlamaModel, prompt: Prompt, publish: Publish) -> DraftModel | None:
    """Load the draft model, if the run has one, and evaluate its prompt: a second context, owned by the same thread.

    Raises:
        UsageError: it is the translator itself.
        ModelError: it cannot be used, has another vocabulary, or does not fit in memory.
    """
    from livetrans.lm.llama.pairing import load_draft_model, shared_vocabulary

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


def languages(settings: Settings) -> tuple[Language, Language]:
    """The source and the target language of a run."""
    source = settings.source_language
    return (UNKNOWN_LANGUAGE if source == AUTO else parse_language(source)), parse_language(settings.target_language)


def prepare_prompt(model: LanguageModel, settings: Settings) -> Prompt:
    """The prompt for the run's languages, evaluated once, so that the first caption need not wait for it.

    Raises:
        ContextError: prompt, longest segment and longest output do not fit in the context together.
    """
    prompt = build_prompt(model, settings.language_model.prompt, *languages(settings))
    fixed = len(prompt.before) + len(prompt.after)
    needed = fixed + _LONGEST_SOURCE_TOKENS + settings.decoding.maximum_output_tokens
    if needed > model.context_tokens:
        raise ContextError(
            f"a context of {model.context_tokens} tokens is too small for {model.name}; "
            f"give --context at least {needed}"
        )
    model.evaluate(prompt.tokens(model, "."))
    return prompt
