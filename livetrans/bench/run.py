"""A run: every method on every segment, interleaved, each with a context of its own over shared weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livetrans.bench.corpora import Corpus, CorpusSegment
from livetrans.bench.methods import Method, settings_of
from livetrans.bench.runfile import Header, RunWriter, Unit, Update
from livetrans.clock import Clock
from livetrans.config import SamplingSettings
from livetrans.decoding import DECODERS, DraftModel
from livetrans.decoding.verification import Sampler
from livetrans.errors import ContextError, UsageError
from livetrans.events import Transcript
from livetrans.lm.port import LanguageModel
from livetrans.lm.prompts import Prompt, TextOf, text_of_tokens
from livetrans.sequences import common_prefix_length
from livetrans.translation.translator import Translator, check_method

if TYPE_CHECKING:
    from livetrans.lm.llama.model import LlamaModel

OnUnit = Callable[[], None]

_REMEMBERED_OUTPUTS = 1000


@dataclass(frozen=True, slots=True)
class Task:
    """A unit that is to be done."""

    repeat: int
    segment: CorpusSegment
    method: Method

    @property
    def unit(self) -> Unit:
        return self.repeat, self.segment.segment.segment_id, self.method.label


def tasks(corpus: Corpus, header: Header) -> Iterator[Task]:
    """Yield every unit of a run: methods take turns segment by segment, another one first each time.

    So a machine that drifts, or a segment that finds warm caches, favours no method.
    """
    methods = header.methods
    for repeat in range(header.repeats):
        for number, segment in enumerate(corpus.segments):
            turn = (number + repeat) % len(methods)
            for method in (*methods[turn:], *methods[:turn]):
                yield Task(repeat, segment, method)


@dataclass(frozen=True, slots=True)
class MethodModels:
    """What a method translates with: a context of its own, maybe over shared weights."""

    model: LanguageModel
    prompt: Prompt
    draft_model: DraftModel | None = None


class Bench:
    """A bench that runs units; `models` by method label."""

    def __init__(self, models: Mapping[str, MethodModels], header: Header, clock: Clock) -> None:
        self._models = models
        self._header = header
        self._clock = clock
        self._ends: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._texts_of = {label: text_of_tokens(models.model) for label, models in models.items()}

    def run(self, corpus: Corpus, writer: RunWriter, on_unit: OnUnit = lambda: None) -> None:
        """Run what the writer's file lacks; `on_unit` is called for each unit that was written.

        Raises:
            ContextError: a sentence is too long for the model's context.
            SessionError: the file cannot be written.
        """
        for task in tasks(corpus, self._header):
            if task.unit not in writer.done:
                writer.write_unit(self.translate(task))
                on_unit()

    def run_in_memory(self, corpus: Corpus, on_unit: OnUnit = lambda: None) -> dict[Unit, Sequence[Update]]:
        """Run all of it; a segment that is too long for the model's context is left out for all methods."""
        done: dict[Unit, Sequence[Update]] = {}
        left_out: set[int] = set()
        for task in tasks(corpus, self._header):
            _, segment_id, _ = task.unit
            try:
                if segment_id not in left_out:
                    done[task.unit] = self.translate(task)
            except ContextError:
                left_out.add(segment_id)
            on_unit()
        return {unit: updates for unit, updates in done.items() if unit[1] not in left_out}

    def translate(self, task: Task) -> list[Update]:
        """Translate one segment by one method."""
        label = task.method.label
        models = self._models[label]
        settings = settings_of(task.method, self._header.maximum_output_tokens, self._header.sampling)
        sampler = Sampler(settings[0].sampling) if settings[0].sampling else None
        translator = Translator(models.model, models.draft_model, sampler)
        # Caches start from the template alone, whichever unit came before: a resumed run equals a whole one.
        for model in (models.model, *([models.draft_model.model] if models.draft_model else [])):
            model.evaluate((*models.prompt.before, *models.prompt.after))
        identity = task.segment.segment.segment_id
        updates = []
        for number, source in enumerate(task.segment.updates):
            end, ended = source.end or 0.0, source.ended
            transcript = Transcript(identity, number, source.source, "", source.final, 0.0, end, ended=ended)
            started = self._clock.now()
            translation = translator.translate(transcript, models.prompt, *settings)
            seconds = self._clock.now() - started
            updates.append(
                Update(
                    repeat=task.repeat,
                    segment_id=identity,
                    method=label,
                    update=number,
                    order=source.order,
                    final=source.final,
                    source=source.source,
                    tokens=translation.tokens,
                    text=translation.text,
                    ends=self._ends_of(translation.tokens, translation.text, self._texts_of[label]),
                    stats=translation.stats,
                    update_seconds=seconds,
                    end=source.end,
                    captured=source.captured,
                    due=source.due,
                    accepted=translation.accepted,
                    ended=source.ended,
                )
            )
        return updates

    def _ends_of(self, tokens: tuple[int, ...], text: str, text_of: TextOf) -> tuple[int, ...]:
        """Return how many characters of `text` are there after each token; methods often write the same."""
        if tokens not in self._ends:
            if len(self._ends) >= _REMEMBERED_OUTPUTS:
                self._ends.clear()
            prefixes = (text_of(tokens[:count]) for count in range(1, len(tokens) + 1))
            self._ends[tokens] = tuple(common_prefix_length(prefix, text) for prefix in prefixes)
        return self._ends[tokens]


def method_models(
    methods: Sequence[Method],
    translator: tuple[LlamaModel, Prompt],
    opened: ExitStack,
    small: LlamaModel | None = None,
    double: tuple[LlamaModel, Prompt] | None = None,
) -> dict[str, MethodModels]:
    """Return a context for each method, over the same weights, and one of the draft model where it has one.

    The first method of a model has the model's own context. `small` is the draft model, `double` the model of the
    methods that need another one than the translator. The contexts are closed with `opened`.

    Raises:
        ModelError: the translator and the draft model have different vocabularies.
        UsageError: a model is not of the kind that a method needs.
    """
    from livetrans.lm.llama.checks import shared_vocabulary

    vocabulary_size = shared_vocabulary(translator[0], small) if small else None
    models: dict[str, MethodModels] = {}
    taken: list[LlamaModel] = []
    for method in methods:
        model, prompt = double if double and DECODERS[method.decoder].has_own_model else translator
        context = model.another_context() if model in taken else model
        taken.append(model)
        opened.callback(context.close)
        draft_model = None
        if method.drafted and small:
            draft_model = DraftModel(small.another_context(), method.gamma or None, vocabulary_size)
            opened.callback(draft_model.model.close)
        models[method.label] = MethodModels(context, prompt, draft_model)
    return models


def check_models(
    methods: Sequence[Method],
    has_draft_model: bool,
    has_double_model: bool,
    sampling: SamplingSettings | None = None,
) -> None:
    """Raise UsageError where a method lacks a model or cannot draw tokens, or none uses a model that was given."""
    for method in methods:
        check_method(settings_of(method, 1, sampling)[0], method.drafted)
    drafted = [method.label for method in methods if method.drafted]
    double = [method.label for method in methods if DECODERS[method.decoder].has_own_model]
    for option, kind, given, users, example in (
        ("--draft-model", "a draft model", has_draft_model, drafted, "spec@4 or ssbd@0.2+draft"),
        ("--double-model", "a model of its own beside the translator", has_double_model, double, "double@0"),
    ):
        if users and not given:
            raise UsageError(f"{users[0]} needs {kind}; name it with `bench run {option}`, or leave the method out")
        if given and not users:
            raise UsageError(f"no method uses {option}; add for example {example}, or drop it")
