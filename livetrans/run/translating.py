"""The translating side of a run: a lane for each language of the captions, over the weights of one model."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from livetrans.base.errors import ContextError, UsageError
from livetrans.base.languages import AUTO, Language, parse_language, same_written_language
from livetrans.config import Settings
from livetrans.decoding import DECODERS, DraftModel
from livetrans.decoding.stopping import LengthRatio
from livetrans.events import Caption, Event, Notice, Transcript, Translation
from livetrans.lm.families import TEMPLATES
from livetrans.lm.prompts import Prompt, build_prompt, text_of_tokens
from livetrans.lm.server.model import ServerModel
from livetrans.lm.stand_ins import NameTokens, WithNames, stand_ins
from livetrans.names.wanted import kept, wanted_of
from livetrans.run.publisher import Publish, warning_once
from livetrans.run.speedup import ShownUpdate, SpeedupSampler
from livetrans.signature import Setting
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


@dataclass(frozen=True, slots=True)
class Lane:
    """Translates updates into one language: a translator with a context and prompts of its own, and a presenter.

    So the captions of a lane are those of a run into its language alone.
    """

    stages: tuple[Translator, Prompts, Presenter] | None
    """None if all speech is in the lane's language."""
    language: str | None = None
    """Code; None for a translator that knows one language only."""
    track: str | None = None
    """Name of the track whose updates it translates; None for all, in a run of one or of a recorded meeting."""
    lengths: defaultdict[str, LengthRatio] = field(default_factory=lambda: defaultdict(LengthRatio))
    """Of outputs, by spoken language."""

    def translate(self, transcript: Transcript, settings: Settings, publish: Publish) -> ShownUpdate | None:
        """Translate and present one update, or show it as it was heard; return what was translated.

        A final that does not fit in the model's context is shown as it was heard too.
        """
        if settings.between and not (transcript.language or transcript.final):
            return None  # Which language it is will be known soon.
        spoken = self._translated_from(transcript, settings)
        if spoken is None or self.stages is None:
            self._show_as_heard(transcript, publish)
            return None
        translator, prompts, presenter = self.stages
        prompt, expected = prompts.choose(transcript, settings.prompt.glossary), self.lengths[spoken].value
        try:
            translation = translator.translate(transcript, prompt, settings.decoding, settings.mask, expected)
        except ContextError as error:
            if transcript.final:
                publish(Notice("warning", f"Shown untranslated: {error}."))
                self._show_as_heard(transcript, publish)
            return None
        translation = replace(translation, language=self.language, terms=prompts.terms)
        is_repeated = False
        if transcript.final:
            first = translation.stats
            translation, is_repeated = self._with_terms(translation, settings)
            self.lengths[spoken].learn(prompt, first)
            if not translation.stats.truncated:
                prompts.remember(transcript.text, translation.text)
        publish(translation)
        caption = presenter.present(translation)
        publish(caption)
        if is_repeated:
            return None
        return ShownUpdate(transcript, prompt, settings.decoding, settings.mask, expected, caption, prompts.names)

    def _translated_from(self, transcript: Transcript, settings: Settings) -> str | None:
        """Return the code of the spoken language that an update is translated from; None if it is shown as heard.

        All languages but the lane's own are translated; of a conversation those of its two, and of a track of a
        recorded meeting the one that the run translates.
        """
        source = settings.source_language
        spoken = source if transcript.language in (None, _spoken(source).whisper_code) else transcript.language
        sources: Collection[str] = (spoken,)
        if settings.between:
            sources = settings.between.languages if transcript.language else ()
        elif transcript.track is not None and self.track is None and source != AUTO:
            sources = (source,)
        is_own = self.language is not None and same_written_language(spoken, self.language)
        return None if is_own or not any(same_written_language(spoken, one) for one in sources) else spoken

    def _with_terms(self, translation: Translation, settings: Settings) -> tuple[Translation, bool]:
        """Return a final with its count of terms, and whether it was decoded again because it lacked one.

        The second decoding has the missing terms alone beside the text. If it lacks them too, the first one stays.
        """
        assert self.stages
        translator, prompts, _ = self.stages
        transcript = translation.transcript
        due = prompts.glossary.due(transcript.text)
        missing = tuple((one.term, one.text) for one in due if not one.count(translation.text))
        has, beside = kept(due, translation.text), prompts.beside(missing) if missing else None
        if beside:
            with suppress(ContextError):
                again = translator.translate(
                    transcript, beside, replace(settings.decoding, final="fresh"), settings.mask
                )
                has_again, both = kept(due, again.text), (again, translation)
                best, other = both if has_again > has and not again.stats.truncated else both[::-1]
                translation = replace(best, stats=best.stats.with_cost_of(other.stats), language=self.language)
                has = has_again if best is again else has
        counted = replace(translation, terms=prompts.terms, wanted_terms=sum(due.values()), kept_terms=has)
        return counted, beside is not None

    def _show_as_heard(self, transcript: Transcript, publish: Publish) -> None:
        if transcript.final and self.stages:
            translator, _, presenter = self.stages
            translator.forget(transcript.segment_id)
            presenter.forget(transcript.segment_id)
        publish(Caption(transcript, transcript.text, untranslated=True, language=self.language))


class _Begun:
    """An update that a lane translates in a thread of its own, which the end of the program does not wait for."""

    def __init__(self, lane: Lane, transcript: Transcript, settings: Settings) -> None:
        self._call = partial(lane.translate, transcript, settings)
        self._events: list[Event] = []
        self._update: ShownUpdate | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="lane", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._update = self._call(self._events.append)
        except Exception as error:
            self._error = error

    def has_failed(self) -> bool:
        self._thread.join()
        return self._error is not None

    def __call__(self, publish: Publish) -> ShownUpdate | None:
        """Wait for the lane; publish what it made, and return what was translated, or raise what it raised."""
        if self.has_failed():
            assert self._error
            raise self._error
        for event in self._events:
            publish(event)
        return self._update


@dataclass(frozen=True, slots=True)
class RecordedLane(Lane):
    """Shows what a recorded run showed, in all of its languages; nothing is translated."""

    captions_of: Callable[[Transcript], Sequence[Caption]] = lambda transcript: ()

    def translate(self, transcript: Transcript, settings: Settings, publish: Publish) -> None:
        for caption in self.captions_of(transcript):
            publish(caption)


@dataclass(frozen=True, slots=True)
class Translating:
    """The translating side, ready to run."""

    lanes: Sequence[Lane]
    signature: dict[str, Setting]
    close: Callable[[], None]
    sampler: SpeedupSampler | None = None
    """Measures the speedup of a live run; None if it is not measured."""
    reload: Callable[[Exception], None] | None = None
    """Loads a translator that failed again, or waits for it, or raises the failure; the update is then translated
    again.
    """
    ending: threading.Event = field(default_factory=threading.Event)
    """To be set where the run ends and nothing else ends that wait."""
    is_parallel: bool = False
    """Whether the lanes ask a server that answers several requests at once."""

    def translate(
        self,
        transcript: Transcript,
        settings: Settings,
        publish: Publish,
        *,
        read: Collection[str] = (),
        has_time: Callable[[], bool] = lambda: True,
    ) -> None:
        """Translate and present one update in every lane of its track: first into the language shown, then into those
        that are `read`. A partial comes into the others only if `has_time` says so before each, or before all of them
        where lanes translate at once.
        """
        is_microphone = settings.is_microphone(transcript.track)
        settings = settings.for_microphone() if is_microphone else settings
        shown = settings.target_language
        wanted = {None, shown, *read}
        lanes = (lane for lane in self.lanes if lane.track in (None, transcript.track))
        due: Iterable[Lane] = takewhile(
            lambda lane: transcript.final or is_microphone or lane.language in wanted or settings.between or has_time(),
            sorted(lanes, key=lambda lane: (lane.language != shown, lane.language not in wanted)),
        )
        begun: dict[str | None, _Begun] = {}
        if self.is_parallel and len(due := [*due]) > 1:
            begun = {lane.language: _Begun(lane, transcript, settings) for lane in due}
        for lane in due:
            while True:
                try:
                    begin = begun.pop(lane.language, None) or partial(lane.translate, transcript, settings)
                    update = begin(publish)
                    break
                except UsageError:
                    raise
                except Exception as error:
                    if self.reload is None:
                        raise
                    begun = {language: one for language, one in begun.items() if not one.has_failed()}
                    self.reload(error)
            if self.sampler and update and not is_microphone:
                self.sampler.add(update, is_shown=bool(settings.between) or lane.language in (None, shown))
            elif self.sampler and transcript.final:
                self.sampler.forget(lane.language, transcript.segment_id)


def languages(settings: Settings) -> tuple[Language, Language]:
    """Return the source and the target language of a run, of a conversation those of its first direction."""
    way = settings.directions[0]
    return _spoken(way.source_language), parse_language(way.target_language)


def _spoken(code: str) -> Language:
    return UNKNOWN_LANGUAGE if code == AUTO else parse_language(code)


def open_lanes(
    settings: Settings,
    model: LlamaModel | ServerModel,
    prompt: Prompt,
    draft_model: DraftModel | None,
    publish: Publish,
    back: LlamaModel | ServerModel | None = None,
) -> list[Lane]:
    """Open a lane for each language of the captions, the first one in the contexts that have evaluated `prompt`.

    In a run of two tracks these are of what the computer plays, and one more is of the microphone. `back`: the model of
    a conversation's second direction, if that is another.

    Raises:
        UsageError: the translator does not know a language.
        ContextError: the context is too small for its prompt.
        ModelError: a context does not fit in memory.
    """
    pair, notify = languages(settings), warning_once(publish)
    lanes = [_open_lane(settings, model, prompt, pair, draft_model, notify)]
    glossary = settings.prompt.glossary
    others = [(settings, _translated(settings, target), target) for target in map(parse_language, settings.targets[1:])]
    if settings.between:
        others = [(way, *languages(way)) for way in settings.directions[1:]]
    if settings.meeting:
        others.append((settings.for_microphone(), *languages(settings.for_microphone())))
    for of_lane, source, target in others:
        if same_written_language(source.code, target.code):
            lanes.append(Lane(None, target.code))
            continue
        context = back or model.another_context()
        try:
            prepared = prepare_prompt(context, of_lane, (source, target))
        except UsageError:
            if source is not UNKNOWN_LANGUAGE:
                raise
            lanes.append(Lane(None, target.code))
            continue
        draft_context = draft_model.another_context() if draft_model else None
        if draft_context:
            draft_context.model.evaluate(prepared.tokens(context, "."))
        if len(wanted_of(glossary, source, target, pair)) < len(wanted_of(glossary, *pair, pair)):
            text = f"The glossary has no {target.name} for some terms; captions in {target.name} are made without them."
            notify(Notice("warning", text))
        lanes.append(_open_lane(of_lane, context, prepared, (source, target), draft_context, notify, first=pair))
    if not settings.meeting:
        return lanes
    mine, theirs = settings.meeting.names
    return [*(replace(lane, track=theirs) for lane in lanes[:-1]), replace(lanes[-1], track=mine)]


def _translated(settings: Settings, target: Language) -> Language:
    """Return the first spoken language that captions in `target` are translated from."""
    others = (code for code in settings.sources if not same_written_language(code, target.code))
    return _spoken(next(others, AUTO))


def _open_lane(
    settings: Settings,
    model: LanguageModel,
    prompt: Prompt,
    pair: tuple[Language, Language],
    draft_model: DraftModel | None,
    notify: Callable[[Notice], None],
    *,
    first: tuple[Language, Language] | None = None,
) -> Lane:
    """Open a lane; `first` is the run's first direction, which the glossary's translations are for.

    Its models have the tokens of names, if names need them and its languages have stand-ins.
    """
    known = stand_ins(*pair) if TEMPLATES[prompt.name].breaks_names else ()
    size = getattr(model, "vocabulary_size", 0)
    if known and size and not DECODERS[settings.decoding.method].has_own_model:
        tokens = NameTokens(model, size, known)
        if draft_model:
            named = WithNames(draft_model.model, tokens, draft_model.vocabulary_size)
            draft_model = replace(draft_model, model=named, vocabulary_size=None)
        model = WithNames(model, tokens)
    prompts = Prompts(
        model,
        prompt,
        pair,
        room=_LONGEST_SOURCE_TOKENS + settings.decoding.maximum_output_tokens,
        history=settings.prompt.history,
        terms=settings.prompt.glossary,
        first=first,
        notify=notify,
    )
    return Lane((Translator(model, draft_model), prompts, Presenter(text_of_tokens(model))), pair[1].code)


def open_draft_model(
    settings: Settings, target: LlamaModel | ServerModel, prompt: Prompt, publish: Publish
) -> DraftModel | None:
    """Load the draft model, if the run has one, and evaluate its prompt: a second context, owned by the same thread.

    Raises:
        UsageError: it is the translator itself.
        ModelError: it cannot be used, has another vocabulary, or does not fit in memory.
    """
    from livetrans.lm.llama.checks import load_draft_model, shared_vocabulary

    draft = settings.draft_model
    if draft is None or isinstance(target, ServerModel):
        return None
    publish(Notice("info", f"loading the draft model {draft.model.name} …"))
    model = load_draft_model(draft.model, settings.language_model, target.clock)
    try:
        vocabulary_size = shared_vocabulary(target, model)
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
